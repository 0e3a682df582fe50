/* test_device.c - a device fails, or stops answering, in the middle of a training (cases D02, D03,
 * D04, D09, D12, D14).
 *
 * The rules are set from a callback before a chosen step, so that "from step 3 on" means that.
 * After a failure of a call the strategy is usable; after silence it is lost, and only weights can
 * be read. */
#include <stdio.h>
#include <string.h>
#include "base/knob.h"
#include "fault/trial.h"
#include "fault/suites.h"

/* In time: the time-out and 3 s. */
#define TIMEOUT_MS 600
static const char options[] = "timeout_ms=600";
static const double limit = TIMEOUT_MS / 1000.0 + 3;

static trial_path pair, four;

static void record(void)
{
    static bool recorded;

    trial_quiet();
    trial_rules("%s", "");
    if (recorded) return;
    trial_record(NULL, NULL, &pair);
    trial_record("0.0*4", NULL, &four);
    recorded = true;
}

static void assert_names(const char *what)
{
    ck_assert_msg(cm_test_contains(cm_last_message(), what), "the message lacks \"%s\": %s", what,
                  cm_last_message());
}

/* Opens, and makes and runs everything once, so that what follows meets a warm device. */
static void open_warm(trial *r, const char *devices, const char *text)
{
    trial first = {0};

    trial_rules("%s", "");
    ck_assert_cm_ok(trial_open(&first, devices, text));
    ck_assert_cm_ok(trial_fit(&first));
    ck_assert_cm_ok(trial_look(&first));
    cm_model_destroy(first.model);
    r->strategy = first.strategy;
    ck_assert_cm_ok(trial_open(r, devices, text));
}

/* D02: memory that was promised is not there at the first use. */
START_TEST(memory_runs_out_late)
{
    static const struct {
        const char *rule, *call;
    } cases[] = {{"clEnqueueNDRangeKernel@1#1 -> -4", "clEnqueueNDRangeKernel"},
                 {"clEnqueueNDRangeKernel@1#40 -> -4", "clEnqueueNDRangeKernel"},
                 {"clEnqueueNDRangeKernel@1#40 -> -5", "clEnqueueNDRangeKernel"},
                 {"clEnqueueNDRangeKernel@1#40 -> -6", "clEnqueueNDRangeKernel"},
                 {"clEnqueueNDRangeKernel@1#40 -> -61", "clEnqueueNDRangeKernel"},
                 {"clFinish@1 -> -4", "clFinish"}};
    trial r = {0};

    record();
    trial_level before = trial_now();
    ck_assert_cm_ok(trial_open(&r, NULL, NULL));
    trial_rules("%s", cases[_i].rule);
    ck_assert_cm_status(trial_fit(&r), CM_E_MEMORY);
    assert_names(cases[_i].call);
    assert_names("device 1 (");
    assert_names("bytes in buffers");
    assert_names("step ");
    trial_rules("%s", "");
    ck_assert_int_ge(trial_same_step(&r, &pair), 0);
    ck_assert_cm_ok(trial_fit(&r));
    trial_close(&r);
    trial_released(before, cases[_i].rule);
}
END_TEST

/* D03: from a step on one call of one device fails, again and again. */
START_TEST(a_device_is_lost)
{
    static const char *const calls[] = {"clGetEventInfo", "clEnqueueNDRangeKernel",
                                        "clEnqueueMapBuffer", "clEnqueueUnmapMemObject", "clFlush"};
    static const int steps[] = {0, 2, TRIAL_STEPS - 1}, codes[] = {-5, -14};
    float weights[TRIAL_WEIGHTS];
    char rule[96], name[16];
    trial first = {0};

    record();
    open_warm(&first, NULL, NULL);
    for (int at = 0; at < 3; at++)
        for (int device = 0; device < 2; device++) {
            trial r = {.strategy = first.strategy, .break_at = steps[at], .rules = rule};
            trial_level before = trial_now();
            snprintf(rule, sizeof rule, "%s@%d -> %d", calls[_i], device, codes[at % 2]);
            snprintf(name, sizeof name, "device %d (", device);
            ck_assert_cm_ok(trial_open(&r, NULL, NULL));
            double start = trial_seconds();
            ck_assert(trial_fit(&r) != CM_OK);
            ck_assert_double_lt(trial_seconds() - start, limit);
            assert_names(name);
            assert_names("cl");
            /* The other device can still be read while this one fails. */
            ck_assert_cm_ok(trial_weights(&r, -1, weights));
            int done = trial_find(&pair, weights);
            /* A flush may be needed only behind the update, and then the step was completed. */
            ck_assert_int_ge(done, steps[at]);
            ck_assert_int_le(done, steps[at] + !strcmp(calls[_i], "clFlush"));
            trial_rules("%s", "");
            ck_assert_int_eq(trial_same_step(&r, &pair), done);
            for (int step = done; step < TRIAL_STEPS; step++)
                ck_assert_cm_ok(trial_step(&r, step));
            ck_assert_int_eq(trial_same_step(&r, &pair), TRIAL_STEPS);
            r.strategy = NULL;
            trial_close(&r);
            trial_released(before, rule);
        }
    trial_close(&first);
}
END_TEST

/* What is true of a strategy that lost the device of a replica before step `step`. */
static void assert_lost(trial *r, int replica, const trial_path *path, int step)
{
    float weights[TRIAL_WEIGHTS];

    ck_assert_cm_status(trial_fit(r), CM_E_STATE);
    assert_names("make a new strategy");
    ck_assert_cm_status(trial_look(r), CM_E_STATE);
    ck_assert_cm_status(trial_weights(r, replica, weights), CM_E_STATE);
    for (int q = -1; q < cm_strategy_replicas(r->strategy); q++) {
        if (q == replica) continue;
        ck_assert_cm_ok(trial_weights(r, q, weights));
        ck_assert_int_eq(trial_find(path, weights), step);
    }
    double start = trial_seconds();
    trial_close(r);
    ck_assert_double_lt(trial_seconds() - start, 1);
    trial_rules("%s", "");
}

/* D04: the commands of a device never complete. */
START_TEST(a_device_never_finishes)
{
    char rule[64], name[16];
    int device = _i % 2;

    record();
    trial r = {.break_at = 2, .rules = rule};
    snprintf(rule, sizeof rule, "clGetEventInfo@%d -> hang", device);
    snprintf(name, sizeof name, "device %d (", device);
    open_warm(&r, NULL, options);
    double start = trial_seconds();
    ck_assert_cm_status(trial_fit(&r), CM_E_TIMEOUT);
    ck_assert_double_lt(trial_seconds() - start, limit);
    assert_names(name);
    assert_names("does not answer, waited 0.6 s");
    assert_names("step 3");
    assert_lost(&r, device, &pair, 2);
}
END_TEST

/* The same of one of four replicas on one device. */
START_TEST(a_replica_never_finishes)
{
    char rule[64];

    record();
    trial r = {.break_at = 3, .rules = rule};
    snprintf(rule, sizeof rule, "clGetEventInfo@q%ld -> hang", fault_layer_count("made:queue") + 2);
    open_warm(&r, "0.0*4", options);
    double start = trial_seconds();
    ck_assert_cm_status(trial_fit(&r), CM_E_TIMEOUT);
    ck_assert_double_lt(trial_seconds() - start, limit);
    assert_names("device 2 (");
    assert_lost(&r, 2, &four, 3);
}
END_TEST

/* A call into the driver does not return: in training, where the others wait, and in prediction,
 * where they do not. */
START_TEST(a_driver_hangs)
{
    trial r = {.break_at = 2, .rules = "clEnqueueNDRangeKernel@1 -> hang"};

    record();
    open_warm(&r, NULL, options);
    double start = trial_seconds();
    ck_assert_cm_status(trial_fit(&r), CM_E_TIMEOUT);
    ck_assert_double_lt(trial_seconds() - start, limit);
    assert_names("device 1 (");
    assert_names("in phase \"forward\"");
    assert_lost(&r, 1, &pair, 2);

    r = (trial){0};
    open_warm(&r, NULL, options);
    trial_rules("clEnqueueReadBuffer@0 -> hang");
    start = trial_seconds();
    ck_assert_cm_status(trial_look(&r), CM_E_TIMEOUT);
    ck_assert_double_lt(trial_seconds() - start, limit);
    assert_names("device 0 (");
    trial_rules("%s", "");
    assert_lost(&r, 0, &pair, 0);
}
END_TEST

/* A call that comes back after everything was given up and destroyed must touch nothing. */
START_TEST(a_driver_comes_back_too_late)
{
    trial r = {.break_at = 1, .rules = "clEnqueueNDRangeKernel@1#3 -> delay 3000 ms"};

    record();
    open_warm(&r, NULL, "timeout_ms=200");
    double start = trial_seconds();
    ck_assert_cm_status(trial_fit(&r), CM_E_TIMEOUT);
    assert_names("device 1 (");
    ck_assert_double_lt(trial_seconds() - start, 2.5);
    assert_lost(&r, 1, &pair, 1);
    while (trial_seconds() - start < 3.5) {
        trial other = {0};
        ck_assert_cm_ok(trial_open(&other, NULL, NULL));
        ck_assert_cm_ok(trial_fit(&other));
        trial_close(&other);
    }
}
END_TEST

/* Slow is not dead: each kernel takes its time, and a step takes longer than the time-out. */
START_TEST(a_device_is_slow)
{
    trial r = {0};

    record();
    open_warm(&r, NULL, "timeout_ms=200");
    trial_rules("clEnqueueNDRangeKernel@1 -> delay 250 ms");
    double start = trial_seconds();
    ck_assert_cm_ok(trial_step(&r, 0));
    ck_assert_double_gt(trial_seconds() - start, 1.0);
    trial_rules("%s", "");
    ck_assert_int_eq(trial_same_step(&r, &pair), 1);
    trial_close(&r);
}
END_TEST

START_TEST(a_compiler_is_slow)
{
    trial r = {0};

    record();
    ck_assert_cm_ok(trial_open(&r, NULL, "timeout_ms=500"));
    trial_rules("clBuildProgram@1#2 -> delay 3000 ms");
    long fired = trial_fired();
    ck_assert_cm_ok(trial_fit(&r));
    ck_assert_int_gt(trial_fired(), fired);
    trial_rules("%s", "");
    ck_assert_int_eq(trial_same_step(&r, &pair), TRIAL_STEPS);
    trial_close(&r);
}
END_TEST

/* D09 */
START_TEST(no_kernel_compiles)
{
    static const char *const rules[] = {"clBuildProgram -> -11", "clBuildProgram@1 -> -11",
                                        "clBuildProgram@1#3 -> -11"};
    trial r = {0};

    record();
    trial_level before = trial_now();
    ck_assert_cm_ok(trial_open(&r, NULL, NULL));
    trial_rules("%s", rules[_i]);
    ck_assert_cm_status(trial_fit(&r), CM_E_BUILD);
    assert_names(_i ? "device 1 (" : "device ");
    assert_names(".cl with \"-cl-std");
    assert_names("layer says no");
    ck_assert_msg(!strstr(strstr(cm_last_message(), "layer says no") + 1, "layer says no"),
                  "twice: %s", cm_last_message());
    trial_rules("%s", "");
    ck_assert_int_eq(trial_same_step(&r, &pair), 0);
    ck_assert_cm_ok(trial_fit(&r));
    ck_assert_int_eq(trial_same_step(&r, &pair), TRIAL_STEPS);
    trial_close(&r);
    trial_released(before, rules[_i]);
}
END_TEST

/* D12: of two failures the first counts.  Step 5 is the second of epoch 2; its feed is mapped
 * first. */
START_TEST(the_first_error_wins)
{
    char rule[160];
    long queue = 0;

    record();
    for (int round = 0; round < 3; round++) {
        trial r = {.break_at = 4, .rules = rule};
        trial_level before = trial_now();
        queue = fault_layer_count("made:queue");
        snprintf(rule, sizeof rule,
                 "clEnqueueMapBuffer@q%ld -> -4; clEnqueueMapBuffer@q%ld -> delay 20 ms; "
                 "clEnqueueMapBuffer@q%ld -> -5",
                 queue + 1, queue + 3, queue + 3);
        open_warm(&r, "0.0*4", NULL);
        ck_assert_cm_status(trial_fit(&r), CM_E_MEMORY);
        assert_names("device 1 (");
        assert_names("(-4)");
        assert_names("epoch 2, step 2");
        trial_rules("%s", "");
        ck_assert_int_eq(trial_same_step(&r, &four), 4);
        ck_assert_cm_ok(trial_step(&r, 4));
        ck_assert_cm_ok(trial_step(&r, 5));
        ck_assert_int_eq(trial_same_step(&r, &four), 6);
        trial_close(&r);
        trial_released(before, rule);
    }
}
END_TEST

/* D10: a device that alters what is read, mapped or written is found when the model is built. */
START_TEST(wrong_numbers_from_a_device)
{
    static const char *const calls[] = {"clEnqueueReadBuffer", "clEnqueueMapBuffer",
                                        "clEnqueueWriteBuffer"};
    trial r = {0};

    trial_rules("%s@%d -> flip", calls[_i / 2], _i % 2);
    cm_status status = trial_open(&r, NULL, NULL);
    trial_rules("%s", "");
    ck_assert_cm_status(status, CM_E_NUMERIC);
    assert_names("wrong numbers");
    assert_names("initial weights");
    assert_names("element ");
    assert_names(_i % 2 ? "device 1 (" : "device 0 (");
    trial_close(&r);
}
END_TEST

/* D14: one bit of one replica's weights is wrong. */
START_TEST(replicas_drift_apart)
{
    float kernel[16 * 4] = {0};
    trial r = {0};

    record();
    cmi_knob_override(CMI_KNOB_CHECK, "replicas");
    ck_assert_cm_ok(trial_open(&r, NULL, NULL));
    ck_assert_cm_ok(trial_fit(&r)); /* nothing to complain about */
    ck_assert_cm_ok(trial_look(&r));
    for (int step = 0; step < _i; step++)
        ck_assert_cm_ok(trial_step(&r, step));
    for (int i = 0; i < 16 * 4; i++)
        kernel[i] = (float)(i % 5) / 8;
    trial_rules("clEnqueueWriteBuffer@1#1 -> flip");
    ck_assert_cm_ok(cm_model_set_weight(r.model, 2, kernel, 16 * 4));
    trial_rules("%s", "");
    ck_assert_cm_status(trial_fit(&r), CM_E_REPLICAS);
    assert_names("step 1");
    assert_names("\"kernel\" of layer \"dense_1\", element ");
    assert_names(" on device 1 (");
    trial_close(&r);
    cmi_knob_override(CMI_KNOB_CHECK, NULL);
}
END_TEST

/* Weights that reached one replica only are an error, and never two models. */
START_TEST(half_set_weights)
{
    float bias[16], got[2][TRIAL_WEIGHTS];
    trial r = {0};

    record();
    ck_assert_cm_ok(trial_open(&r, NULL, NULL));
    for (int i = 0; i < 16; i++)
        bias[i] = (float)i;
    trial_rules("clEnqueueWriteBuffer@%d -> -5", _i);
    ck_assert(cm_model_set_weight(r.model, 1, bias, 16) != CM_OK);
    trial_rules("%s", "");
    ck_assert_cm_ok(trial_step(&r, 0));
    for (int q = 0; q < 2; q++)
        ck_assert_cm_ok(trial_weights(&r, q, got[q]));
    ck_assert_floats_bits(got[0], got[1], TRIAL_WEIGHTS);
    trial_close(&r);
}
END_TEST

Suite *suite_device(void)
{
    Suite *suite = suite_create("device");
    TCase *failing = tcase_create("failing"), *silent = tcase_create("silent"),
          *slow = tcase_create("slow");

    tcase_add_loop_test(failing, memory_runs_out_late, 0, 6);
    tcase_add_loop_test(failing, a_device_is_lost, 0, 5);
    tcase_add_loop_test(failing, no_kernel_compiles, 0, 3);
    tcase_add_test(failing, the_first_error_wins);
    tcase_add_loop_test(failing, wrong_numbers_from_a_device, 0, 6);
    tcase_add_loop_test(failing, replicas_drift_apart, 0, 5);
    tcase_add_loop_test(failing, half_set_weights, 0, 2);
    suite_add_tcase(suite, failing);
    tcase_add_test(slow, a_device_is_slow);
    tcase_add_test(slow, a_compiler_is_slow);
    suite_add_tcase(suite, slow);
    tcase_add_loop_test(silent, a_device_never_finishes, 0, 2);
    tcase_add_test(silent, a_replica_never_finishes);
    tcase_add_test(silent, a_driver_hangs);
    tcase_add_test(silent, a_driver_comes_back_too_late);
    suite_add_tcase(suite, silent);
    return suite;
}
