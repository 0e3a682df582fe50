/* test_numbers.c - losses and inputs that are not finite: one warning, or a stop with the
 * weights of the step before; and the check of inputs that CLMIRROR_CHECK=nan asks for. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <clmirror/log.h>
#include "base/knob.h"
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

static float x[20 * RIG_FEATURES];

static const char *some_devices(int i)
{
    return i == 0 ? RIG_ONE : i == 1 ? RIG_ALL : rig_parts(4);
}

static struct {
    int warnings;
    char line[512];
} heard;

static void hear(void *user, cm_log_level level, const char *line)
{
    (void)user;
    if (level != CM_LOG_WARNING) return;
    heard.warnings++;
    snprintf(heard.line, sizeof heard.line, "%s", line);
}

/* Row 9 is infinite: with batches of 4 the third step is the first bad one. */
static cm_data infinite(void)
{
    cm_data data = RIG_DATA(20);

    memcpy(x, data.x.data, sizeof x);
    x[9 * RIG_FEATURES] = INFINITY;
    data.x.data = x;
    return data;
}

/* One warning that says epoch and step, and training goes on. */
START_TEST(nan_gives_one_warning)
{
    cm_data data = infinite();
    cm_history *history = NULL;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    memset(&heard, 0, sizeof heard);
    cm_log_set_sink(hear, NULL);
    cm_status status = cm_model_fit(
        r.model, &data,
        &(cm_fit_options){.epochs = 3, .initial_epoch = 1, .batch_size = 4, .no_shuffle = true},
        &history);
    cm_log_set_sink(NULL, NULL);
    ck_assert_cm_ok(status);
    ck_assert_int_eq(cm_history_epochs(history), 2);
    ck_assert(!isfinite(cm_history_last(history, "loss")));
    cm_history_destroy(history);
    ck_assert_msg(heard.warnings == 1, "%d warnings, the last: %s", heard.warnings, heard.line);
    ck_assert_msg(cm_test_contains(heard.line, "epoch 2, step 3") &&
                      cm_test_contains(heard.line, "stop_on_nan"),
                  "%s", heard.line);
    rig_close(&r);
}
END_TEST

/* stop_on_nan: the weights are those of the step before, on every replica, and the model can go
 * on. */
START_TEST(nan_stops_fit)
{
    static float want[RIG_WEIGHTS];
    cm_data data = infinite(), before = cm_data_slice(&data, 0, 8), fine = RIG_DATA(20);
    cm_history *history = NULL;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)}),
        clean = rig_open(&(rig_spec){.devices = some_devices(_i)});
    cm_fit_options options = {.batch_size = 4, .no_shuffle = true, .stop_on_nan = true};

    ck_assert_cm_ok(cm_model_fit(clean.model, &before, &options, NULL));
    (void)rig_weights(clean.model, 0, want);
    ck_assert_cm_status(cm_model_fit(r.model, &data, &options, &history), CM_E_NUMERIC);
    ck_assert_message_has("fit: ");
    ck_assert_message_has("epoch 1, step 3");
    ck_assert_message_has("the step before");
    ck_assert_int_eq(cm_history_epochs(history), 0);
    cm_history_destroy(history);
    rig_assert_bits(r.model, want, "after the stop");
    rig_assert_replicas_agree(&r);
    ck_assert_cm_ok(cm_model_fit(r.model, &fine, &options, NULL));
    ck_assert_cm_ok(cm_model_fit(clean.model, &fine, &options, NULL));
    (void)rig_weights(clean.model, 0, want);
    rig_assert_bits(r.model, want, "after the next fit");
    rig_close(&r);
    rig_close(&clean);
}
END_TEST

/* CLMIRROR_CHECK=nan looks at the input before the first step. */
START_TEST(nan_in_the_input)
{
    cm_data data = infinite();
    float out[20 * RIG_CLASSES];
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    x[9 * RIG_FEATURES] = NAN;
    cmi_knob_override(CMI_KNOB_CHECK, "nan");
    cm_status fitted = cm_model_fit(r.model, &data, NULL, NULL);
    char message[CM_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", cm_last_message());
    cm_status predicted = cm_model_predict(r.model, &data, NULL, out, 20 * RIG_CLASSES);
    cmi_knob_override(CMI_KNOB_CHECK, NULL);
    ck_assert_int_eq(fitted, CM_E_NUMERIC);
    ck_assert_msg(cm_test_contains(message, "row 9, element 0"), "%s", message);
    ck_assert_int_eq(predicted, CM_E_NUMERIC);
    ck_assert_int_eq(cm_model_replica_rows(r.model, 0), 0);
    rig_close(&r);
}
END_TEST

Suite *suite_numbers(void)
{
    Suite *suite = suite_create("numbers");
    TCase *tests = tcase_create("numbers");

    tcase_add_loop_test(tests, nan_gives_one_warning, 0, 3);
    tcase_add_loop_test(tests, nan_stops_fit, 0, 3);
    tcase_add_loop_test(tests, nan_in_the_input, 0, 3);
    suite_add_tcase(suite, tests);
    return suite;
}
