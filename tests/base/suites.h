/* suites.h - the suites of tests/base, one per file of src/base. */
#ifndef TEST_BASE_SUITES_H
#define TEST_BASE_SUITES_H

#include <check.h>

Suite *suite_cachefile(void);
Suite *suite_clock(void);
Suite *suite_config(void);
Suite *suite_hash(void);
Suite *suite_knob(void);
Suite *suite_log(void);
Suite *suite_mem(void);
Suite *suite_registry(void);
Suite *suite_rng(void);
Suite *suite_shape(void);
Suite *suite_spec(void);
Suite *suite_status(void);
Suite *suite_thread(void);

#endif
