/* suites.h - the suites of tests/fault, one per file. */
#ifndef TESTS_FAULT_SUITES_H
#define TESTS_FAULT_SUITES_H

#include <check.h>

Suite *suite_layer(void);
Suite *suite_sweep(void);
Suite *suite_device(void);
Suite *suite_same(void);
Suite *suite_exit(void);
/* What this program does as a child of suite_exit. */
int exit_child(const char *mode);

#endif
