/* suites.h - the suites of tests/model, one per file of src/model. */
#ifndef TEST_MODEL_SUITES_H
#define TEST_MODEL_SUITES_H

#include <check.h>

Suite *suite_summary(void);

#endif
