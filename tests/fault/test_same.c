/* test_same.c - what a driver may do must not change the result: maps that are copies, new memory
 * full of rubbish, small work-groups, devices of two kinds (cases B04, B05, B08). */
#include <stdio.h>
#include <string.h>
#include "base/knob.h"
#include "fault/trial.h"
#include "fault/suites.h"
#include "nn/optim.h"
#include "train/train.h"

/* Two epochs of a new model; all replicas must end with the same bits. */
static void train(float *weights, cm_strategy *strategy, const char *optimizer)
{
    trial r = {.strategy = strategy, .optimizer = optimizer};
    float other[TRIAL_WEIGHTS];

    ck_assert_cm_ok(trial_open(&r, NULL, NULL));
    ck_assert_cm_ok(trial_fit(&r));
    ck_assert_cm_ok(trial_look(&r));
    ck_assert_cm_ok(trial_weights(&r, -1, weights));
    for (int q = 0; q < cm_strategy_replicas(r.strategy); q++) {
        ck_assert_cm_ok(trial_weights(&r, q, other));
        ck_assert_floats_bits(other, weights, TRIAL_WEIGHTS);
    }
    if (strategy) r.strategy = NULL;
    trial_close(&r);
}

/* Every collective, staging and read-back path under `shadow`. */
START_TEST(maps_are_copies)
{
    static const char *const devices[] = {NULL, "0.0*3", NULL, NULL};
    static const char *const options[] = {"collective=ring", "collective=naive",
                                          "collective=ring(segment=64)",
                                          "collective=ring bucket_bytes=256"};
    float plain[TRIAL_WEIGHTS], shadow[TRIAL_WEIGHTS];
    cm_strategy *strategy = NULL;

    trial_quiet();
    trial_rules("%s", "");
    ck_assert_cm_ok(cm_mirrored_strategy_create(devices[_i], options[_i], &strategy));
    train(plain, strategy, NULL);
    trial_rules("clEnqueueMapBuffer -> shadow");
    cmi_knob_override(CMI_KNOB_CHECK, "replicas");
    long fired = trial_fired();
    train(shadow, strategy, NULL);
    ck_assert_int_gt(trial_fired(), fired);
    cmi_knob_override(CMI_KNOB_CHECK, NULL);
    trial_rules("%s", "");
    ck_assert_floats_bits(shadow, plain, TRIAL_WEIGHTS);
    cm_strategy_destroy(strategy);
}
END_TEST

/* Two kinds of devices: parameters travel from replica 0 after each update, by maps too. */
START_TEST(two_kinds_of_devices)
{
    float plain[TRIAL_WEIGHTS], other[TRIAL_WEIGHTS];
    cm_strategy *strategy = NULL;

    trial_quiet();
    trial_rules("%s", "");
    train(plain, NULL, NULL);
    trial_rules("clGetDeviceInfo.CL_DRIVER_VERSION@1 -> say another; clEnqueueMapBuffer -> shadow");
    ck_assert_cm_ok(cm_mirrored_strategy_create(NULL, NULL, &strategy));
    ck_assert(strategy->unlike);
    train(other, strategy, NULL);
    trial_rules("%s", "");
    ck_assert_floats_bits(other, plain, TRIAL_WEIGHTS);
    cm_strategy_destroy(strategy);
}
END_TEST

/* B08, with every optimizer; four replicas, some of which have no rows in short steps. */
START_TEST(new_memory_is_rubbish)
{
    float plain[TRIAL_WEIGHTS], poisoned[TRIAL_WEIGHTS];
    cm_strategy *strategy = NULL;

    trial_quiet();
    for (int devices = 0; devices < 2; devices++) {
        trial_rules("%s", "");
        ck_assert_cm_ok(cm_mirrored_strategy_create(devices ? "0.0*9" : NULL, NULL, &strategy));
        for (size_t o = 0; o < (devices ? 1 : cmi_optim_registry.count); o++) {
            trial_rules("%s", "");
            train(plain, strategy, cmi_optim_registry.entries[o]->name);
            trial_rules("clCreateBuffer -> poison");
            long fired = trial_fired();
            train(poisoned, strategy, cmi_optim_registry.entries[o]->name);
            ck_assert_int_gt(trial_fired(), fired);
            ck_assert_floats_bits(poisoned, plain, TRIAL_WEIGHTS);
        }
        trial_rules("%s", "");
        cm_strategy_destroy(strategy);
    }
}
END_TEST

/* B05: a kernel's limit may be far below the device's.  B04 is this test without rules, under
 * POCL_MAX_WORK_GROUP_SIZE. */
START_TEST(small_work_groups)
{
    static const int limits[] = {0, 32, 8, 3, 1};
    static float plain[TRIAL_WEIGHTS];
    float limited[TRIAL_WEIGHTS];

    trial_quiet();
    trial_rules("%s", "");
    if (!_i) train(plain, NULL, NULL);
    cmi_knob_override(CMI_KNOB_KERNEL_SHAPE, "gpu");
    if (limits[_i])
        trial_rules("clGetKernelWorkGroupInfo.CL_KERNEL_WORK_GROUP_SIZE -> say %d; "
                    "clEnqueueNDRangeKernel -> say %d",
                    limits[_i], limits[_i]);
    long fired = trial_fired();
    train(limited, NULL, NULL);
    ck_assert(!limits[_i] || trial_fired() > fired);
    trial_rules("%s", "");
    cmi_knob_override(CMI_KNOB_KERNEL_SHAPE, NULL);
    ck_assert_floats_close(limited, plain, TRIAL_WEIGHTS, 1e-7, 2e-5);
}
END_TEST

Suite *suite_same(void)
{
    Suite *suite = suite_create("same");
    TCase *same = tcase_create("same"), *groups = tcase_create("groups");

    tcase_add_loop_test(same, maps_are_copies, 0, 4);
    tcase_add_test(same, two_kinds_of_devices);
    tcase_add_test(same, new_memory_is_rubbish);
    suite_add_tcase(suite, same);
    tcase_add_loop_test(groups, small_work_groups, 0, 5);
    suite_add_tcase(suite, groups);
    return suite;
}
