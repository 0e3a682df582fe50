/* test_nn.c - the program that tests src/nn: descriptors, their configuration, and gradients of all
 * that is registered.  Layers and losses are taken from the registries, so a new one is tested
 * without a line here.  Runs without fork: an OpenCL runtime does not survive it. */
#include "base/rng.h"
#include "nn/nn_tests.h"

static pick device;
static int opened;

pick *fresh(void)
{
    if (!opened) ck_assert_cm_ok(pick_open(&device));
    opened = 1;
    pick_clear(&device);
    return &device;
}

void fill_range(float *values, size_t count, double low, double high, uint32_t seed)
{
    cmi_rng rng;

    cmi_rng_init(&rng, seed, CMI_RNG_DATA, 3);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(low + (high - low) * (double)cmi_rng_float(&rng));
}

int main(int argc, char **argv)
{
    Suite *suites[] = {registry_suite(), layer_suite(),  layer_gradient_suite(),
                       loss_suite(),     metric_suite(), optim_suite(),
                       init_suite()};
    int status = cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));

    if (opened) pick_close(&device);
    return status;
}
