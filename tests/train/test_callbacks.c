/* test_callbacks.c - callbacks of fit: their order, what they hear and may do, and how a stop
 * ends a run. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "support/cm_test.h"
#include "support/ranks.h"
#include "support/train_models.h"
#include "train/suites.h"

/* ---- callbacks ------------------------------------------------------------------------------- */

/* Writes down who was called, in short words. */
typedef struct diary {
    char text[2048];
    cm_model *model;     /* stopped at `stop_at` */
    const char *stop_at; /* a word of the diary */
    double loss[64];
    int losses;
    cm_status nested; /* not CM_OK: a call inside did not answer as it should */
    char name;
} diary;

static void write_down(diary *d, const char *word, int64_t number)
{
    char entry[32];

    snprintf(entry, sizeof entry, "%c%s%d ", d->name, word, (int)number);
    strncat(d->text, entry, sizeof d->text - strlen(d->text) - 1);
    entry[strlen(entry) - 1] = '\0';
    if (d->stop_at && !strcmp(entry + 1, d->stop_at)) cm_model_stop(d->model);
}

static void on_train_begin(void *user)
{
    write_down(user, "B", 0);
}

static void on_train_end(void *user, const cm_logs *logs)
{
    write_down(user, "E", logs->count);
}

static void on_epoch_begin(void *user, int epoch)
{
    write_down(user, "eb", epoch);
}

static void on_epoch_end(void *user, int epoch, const cm_logs *logs)
{
    diary *d = user;

    d->loss[d->losses++ % 64] = cm_logs_get(logs, "loss");
    write_down(d, "ee", epoch);
}

static void on_batch_begin(void *user, int64_t batch)
{
    write_down(user, "b", batch);
}

static void on_batch_end(void *user, int64_t batch, const cm_logs *logs)
{
    diary *d = user;

    d->loss[d->losses++ % 64] = cm_logs_get(logs, "loss");
    write_down(d, "x", batch);
}

static cm_callbacks epochs_of(diary *d)
{
    return (cm_callbacks){d,   on_train_begin, on_train_end, on_epoch_begin, on_epoch_end, NULL,
                          NULL};
}

static cm_callbacks all_of(diary *d)
{
    cm_callbacks callbacks = epochs_of(d);

    callbacks.batch_begin = on_batch_begin;
    callbacks.batch_end = on_batch_end;
    return callbacks;
}

static const char *some_devices(int i)
{
    return i == 0 ? RIG_ONE : i == 1 ? RIG_ALL : rig_parts(4);
}

START_TEST(callbacks_are_called_in_order)
{
    diary a = {.name = 'a'}, b = {.name = 'b'};
    cm_callbacks both[] = {all_of(&a), epochs_of(&b)};
    cm_data data = RIG_DATA(20);
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    ck_assert_cm_ok(cm_model_fit(
        r.model, &data,
        &(cm_fit_options){.epochs = 2, .batch_size = 16, .callbacks = both, .callbacks_count = 2},
        NULL));
    ck_assert_str_eq(a.text, "aB0 aeb0 ab0 ax0 ab1 ax1 aee0 aeb1 ab0 ax0 ab1 ax1 aee1 aE2 ");
    ck_assert_str_eq(b.text, "bB0 beb0 bee0 beb1 bee1 bE2 ");
    /* The last batch of an epoch hears the epoch's loss. */
    ck_assert_close(a.loss[1], a.loss[2], 0);
    ck_assert_close(a.loss[2], b.loss[0], 0);
    ck_assert(a.loss[0] != a.loss[1]);
    rig_close(&r);
}
END_TEST

/* One job per step instead of one per epoch: the same bits. */
START_TEST(batch_callbacks_change_nothing)
{
    static float want[RIG_WEIGHTS];
    cm_data data = RIG_DATA(70);

    for (int run = 0; run < 2; run++) {
        diary d = {.name = 'a'};
        cm_callbacks callbacks = all_of(&d);
        rig r = rig_open(
            &(rig_spec){.devices = some_devices(_i), .layers = M1_DROPOUT, .optimizer = "adam"});
        ck_assert_cm_ok(cm_model_fit(
            r.model, &data,
            &(cm_fit_options){
                .epochs = 3, .batch_size = 16, .callbacks = &callbacks, .callbacks_count = run},
            NULL));
        if (run)
            rig_assert_bits(r.model, want, "with batch callbacks");
        else
            (void)rig_weights(r.model, 0, want);
        rig_close(&r);
    }
}
END_TEST

/* With a learning rate of 0 the loss of a batch tells which rows are in it: each epoch has an
 * order of its own, the same on any number of devices; without shuffling all epochs are alike. */
START_TEST(every_epoch_has_its_order)
{
    cm_data data = RIG_DATA(48);
    double first[6];

    for (int run = 0; run < 3; run++) {
        diary d = {.name = 'a'};
        cm_callbacks callbacks = {.user = &d, .batch_end = on_batch_end};
        rig r = rig_open(&(rig_spec){.devices = run == 1 ? some_devices(_i) : RIG_ONE,
                                     .optimizer = "sgd learning_rate=0"});
        ck_assert_cm_ok(cm_model_fit(r.model, &data,
                                     &(cm_fit_options){.epochs = 2,
                                                       .batch_size = 16,
                                                       .no_shuffle = run == 2,
                                                       .callbacks = &callbacks,
                                                       .callbacks_count = 1},
                                     NULL));
        ck_assert_int_eq(d.losses, 6);
        ck_assert_close(d.loss[2], d.loss[5], 1e-6);
        if (run == 0) memcpy(first, d.loss, sizeof first);
        if (run < 2)
            ck_assert(fabs(d.loss[0] - d.loss[3]) > 1e-4 || fabs(d.loss[1] - d.loss[4]) > 1e-4);
        for (int b = 0; b < 6 && run == 1; b++)
            ck_assert_close(d.loss[b], first[b], 1e-6);
        for (int b = 0; b < 3 && run == 2; b++)
            ck_assert_close(d.loss[b], d.loss[b + 3], 1e-6);
        rig_close(&r);
    }
}
END_TEST

static const struct {
    const char *at, *diary;
    int epochs;
} stops[] = {{"B0", "aB0 aeb0 aE0 ", 0},
             {"eb1", "aB0 aeb0 ab0 ax0 ab1 ax1 aee0 aeb1 aE2 ", 1},
             {"b0", "aB0 aeb0 ab0 aE0 ", 0},
             {"x0", "aB0 aeb0 ab0 ax0 aE2 ", 0},
             {"x1", "aB0 aeb0 ab0 ax0 ab1 ax1 aee0 aE2 ", 1},
             {"ee0", "aB0 aeb0 ab0 ax0 ab1 ax1 aee0 aE2 ", 1}};

START_TEST(stop_from_a_callback)
{
    diary d = {.name = 'a', .stop_at = stops[_i / 3].at};
    cm_callbacks callbacks = all_of(&d);
    cm_data data = RIG_DATA(20);
    cm_history *history = NULL;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i % 3)});

    d.model = r.model;
    ck_assert_cm_ok(cm_model_fit(
        r.model, &data,
        &(cm_fit_options){
            .epochs = 5, .batch_size = 16, .callbacks = &callbacks, .callbacks_count = 1},
        &history));
    ck_assert_str_eq(d.text, stops[_i / 3].diary);
    ck_assert_int_eq(cm_history_epochs(history), stops[_i / 3].epochs);
    rig_assert_replicas_agree(&r);
    cm_history_destroy(history);
    /* The stop is over: the next fit runs. */
    ck_assert_cm_ok(cm_model_fit(r.model, &data, &(cm_fit_options){.epochs = 2}, &history));
    ck_assert_int_eq(cm_history_epochs(history), 2);
    cm_history_destroy(history);
    rig_close(&r);
}
END_TEST

/* A callback may read weights; fit, evaluate and set are refused, and training goes on. */
static void look_inside(void *user, int epoch, const cm_logs *logs)
{
    diary *d = user;
    static float values[8 * 16];
    cm_data data = RIG_DATA(8);
    cm_logs inner;

    (void)epoch;
    (void)logs;
    if (cm_model_get_weight(d->model, 0, values, 8 * 16)) d->nested = CM_E_INVALID;
    if (cm_model_fit(d->model, &data, NULL, NULL) != CM_E_STATE) d->nested = CM_E_INVALID;
    if (!cm_test_contains(cm_last_message(), "another call is running")) d->nested = CM_E_INVALID;
    if (cm_model_evaluate(d->model, &data, NULL, &inner) != CM_E_STATE) d->nested = CM_E_INVALID;
    if (cm_model_set_weight(d->model, 0, values, 8 * 16) != CM_E_STATE) d->nested = CM_E_INVALID;
    if (cm_model_compile(d->model, NULL) != CM_E_STATE) d->nested = CM_E_INVALID;
    d->losses++;
}

START_TEST(calls_inside_a_callback)
{
    diary d = {.name = 'a'};
    cm_callbacks callbacks = {.user = &d, .epoch_end = look_inside};
    cm_data data = RIG_DATA(20);
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    d.model = r.model;
    ck_assert_cm_ok(cm_model_fit(
        r.model, &data,
        &(cm_fit_options){.epochs = 2, .callbacks = &callbacks, .callbacks_count = 1}, NULL));
    /* What failed inside the callback is no failure of fit. */
    ck_assert_int_eq(cm_last_status(), CM_OK);
    ck_assert_int_eq(d.losses, 2);
    ck_assert_int_eq(d.nested, CM_OK);
    rig_close(&r);
}
END_TEST

/* ---- stop from another thread ---------------------------------------------------------------- */

typedef struct stopper {
    cm_model *model;
    _Atomic bool done;
} stopper;

/* Fit clears a stop that came before it, so one signal might be too early. */
static cm_status keep_stopping(int rank, void *argument)
{
    stopper *s = argument;

    (void)rank;
    while (!atomic_load(&s->done)) {
        cmi_sleep_ns(2000000);
        cm_model_stop(s->model);
    }
    return CM_OK;
}

/* A long fit ends after the present step, on all devices after the same one, with the epochs so
 * far. */
START_TEST(stop_from_another_thread)
{
    cm_data data = RIG_DATA(1000);
    cm_history *history = NULL;
    rank_group thread;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});
    stopper s = {.model = r.model};

    ranks_start(&thread, 1, keep_stopping, &s);
    cm_status status = cm_model_fit(
        r.model, &data, &(cm_fit_options){.epochs = 1000000, .batch_size = 2}, &history);
    atomic_store(&s.done, true);
    ranks_join(&thread);
    ck_assert_cm_ok(status);
    ck_assert_int_lt(cm_history_epochs(history), 1000000);
    rig_assert_replicas_agree(&r);
    cm_history_destroy(history);
    rig_close(&r);
}
END_TEST

/* An evaluation that is cut has no result. */
START_TEST(stop_an_evaluation)
{
    static float out[1000 * RIG_CLASSES];
    cm_data data = RIG_DATA(1000);
    cm_evaluate_options options = {.batch_size = 1};
    cm_logs logs;
    rank_group thread;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});
    stopper s = {.model = r.model};
    cm_status evaluated = CM_OK, predicted = CM_OK;

    ranks_start(&thread, 1, keep_stopping, &s);
    for (int i = 0; i < 500 && !evaluated; i++)
        evaluated = cm_model_evaluate(r.model, &data, &options, &logs);
    for (int i = 0; i < 500 && !predicted; i++)
        predicted = cm_model_predict(r.model, &data, &options, out, 1000 * RIG_CLASSES);
    atomic_store(&s.done, true);
    ranks_join(&thread);
    ck_assert_cm_status(predicted, CM_E_ABORTED);
    ck_assert_message_has("of 1000");
    ck_assert_int_eq(evaluated, CM_E_ABORTED);
    ck_assert_int_eq(logs.count, 0);
    ck_assert_cm_ok(cm_model_evaluate(r.model, &data, NULL, &logs));
    ck_assert_int_eq(logs.count, 2);
    rig_close(&r);
}
END_TEST

Suite *suite_callbacks(void)
{
    Suite *suite = suite_create("callbacks");
    TCase *tests = tcase_create("callbacks");

    tcase_add_loop_test(tests, callbacks_are_called_in_order, 0, 3);
    tcase_add_loop_test(tests, batch_callbacks_change_nothing, 0, 3);
    tcase_add_loop_test(tests, every_epoch_has_its_order, 0, 3);
    tcase_add_loop_test(tests, stop_from_a_callback, 0, 3 * CM_TEST_COUNT(stops));
    tcase_add_loop_test(tests, calls_inside_a_callback, 0, 3);
    tcase_add_loop_test(tests, stop_from_another_thread, 0, 3);
    tcase_add_loop_test(tests, stop_an_evaluation, 0, 3);
    suite_add_tcase(suite, tests);
    return suite;
}
