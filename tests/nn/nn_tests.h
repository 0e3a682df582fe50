/* nn_tests.h - the suites of test_nn and what they share: one device for the whole program, and
 * random inputs. */
#ifndef NN_TESTS_H
#define NN_TESTS_H

#include "support/cm_test.h"
#include "support/device_pick.h"

Suite *registry_suite(void);
Suite *layer_suite(void);
Suite *layer_gradient_suite(void);
Suite *loss_suite(void);
Suite *metric_suite(void);
Suite *optim_suite(void);
Suite *init_suite(void);

/* The device, opened at the first call of the process; its arrays are cleared. */
pick *fresh(void);
/* Numbers from low to high, the same for the same seed. */
void fill_range(float *values, size_t count, double low, double high, uint32_t seed);

#endif
