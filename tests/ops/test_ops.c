/* test_ops.c - the program that tests the kernels of src/ops against plain C (tests/oracle).
 *
 * Every array stands between guard bands and outputs begin as not-a-number (support/device_pick.h).
 * Runs without fork: an OpenCL runtime does not survive it. */
#include "base/rng.h"
#include "ops/ops_tests.h"

static pick device;
static int opened;

pick *fresh(void)
{
    if (!opened) ck_assert_cm_ok(pick_open(&device));
    opened = 1;
    pick_clear(&device);
    return &device;
}

void fill_whole(float *values, size_t count, int low, uint32_t seed)
{
    cmi_rng rng;

    cmi_rng_init(&rng, seed, CMI_RNG_DATA, 1);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((int)cmi_rng_below(&rng, (uint64_t)(2 * low + 1)) - low);
}

void fill_real(float *values, size_t count, uint32_t seed)
{
    cmi_rng rng;

    cmi_rng_init(&rng, seed, CMI_RNG_DATA, 2);
    for (size_t i = 0; i < count; i++)
        values[i] = 2 * cmi_rng_float(&rng) - 1;
}

int main(int argc, char **argv)
{
    Suite *suites[] = {gemm_suite(), rows_suite(), loss_suite(), update_suite()};
    int status = cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));

    if (opened) pick_close(&device);
    return status;
}
