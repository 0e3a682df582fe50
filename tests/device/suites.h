/* suites.h - the suites of tests/device. */
#ifndef TESTS_DEVICE_SUITES_H
#define TESTS_DEVICE_SUITES_H

#include <check.h>

Suite *suite_platform(void);
Suite *suite_selection(void);
Suite *suite_stream(void);
Suite *suite_gemm_sizes(void);
Suite *suite_cache(void);
Suite *suite_choice(void);

#endif
