/* suites.h - the suites of tests/fault, one per file. */
#ifndef TESTS_FAULT_SUITES_H
#define TESTS_FAULT_SUITES_H

#include <check.h>

Suite *suite_layer(void);

#endif
