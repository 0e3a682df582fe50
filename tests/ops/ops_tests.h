/* ops_tests.h - the suites of test_ops and what they share: one device for the whole program, and
 * inputs. */
#ifndef OPS_TESTS_H
#define OPS_TESTS_H

#include "ops/ops.h"
#include "oracle/oracle.h"
#include "support/cm_test.h"
#include "support/device_pick.h"

Suite *gemm_suite(void);
Suite *rows_suite(void);
Suite *loss_suite(void);
Suite *update_suite(void);

/* The device, opened at the first call of the process; its arrays are cleared. */
pick *fresh(void);
/* Whole numbers from -low to low, and numbers from -1 to 1; the same for the same seed. */
void fill_whole(float *values, size_t count, int low, uint32_t seed);
void fill_real(float *values, size_t count, uint32_t seed);

#endif
