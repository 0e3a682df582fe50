/* test_cases_rest.c - re-enacted reports of group A that need more than a row of numbers: order,
 * shares, frozen layers, metrics, weights of zero, masks. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "nn/loss.h"
#include "nn/metric.h"
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

enum { DEVICES = 5 };

static const char *device_text(int i)
{
    static const int parts[DEVICES] = {0, 0, 2, 4, 8};

    return i == 0 ? RIG_ONE : i == 1 ? RIG_ALL : rig_parts(parts[i]);
}

/* A08: the same 1000 samples as validation data; a training of one row on zero weights before it
 * changes nothing. */
START_TEST(a08_validation_counts_every_sample)
{
    cm_data train = RIG_DATA(1), all = RIG_DATA(1000);
    const float zero = 0;
    cm_history *history = NULL;
    rig r = rig_open(&(rig_spec){.devices = device_text(_i)});

    train.sample_weight = CM_FLOAT32(&zero, 1);
    ck_assert_cm_ok(cm_model_fit(
        r.model, &train, &(cm_fit_options){.validation_data = &all, .validation_batch_size = 32},
        &history));
    ck_assert_close(cm_history_last(history, "val_loss"), 1.385654, 2e-6);
    ck_assert_close(cm_history_last(history, "val_accuracy"), 0.333, 1e-12);
    cm_history_destroy(history);
    rig_close(&r);
}
END_TEST

/* A10: rows come out in the order of the input, each as if it were alone. */
START_TEST(a10_predict_keeps_order)
{
    cm_data data = RIG_DATA(10);
    float all[10 * RIG_CLASSES], one[RIG_CLASSES];
    rig r = rig_open(&(rig_spec){.devices = device_text(_i)});

    for (int64_t batch = 1; batch <= 10; batch += 3) {
        ck_assert_cm_ok(cm_model_predict(
            r.model, &data, &(cm_evaluate_options){.batch_size = batch}, all, 10 * RIG_CLASSES));
        for (int64_t i = 0; i < 10; i++) {
            cm_data row = cm_data_slice(&data, i, i + 1);
            ck_assert_cm_ok(cm_model_predict(r.model, &row, NULL, one, RIG_CLASSES));
            ck_assert_floats_close(all + i * RIG_CLASSES, one, RIG_CLASSES, 1e-6, 1e-6);
            /* And no two rows are alike, so that a wrong order would show. */
            if (i)
                ck_assert(fabs((double)(all[i * RIG_CLASSES] - all[(i - 1) * RIG_CLASSES])) > 1e-4);
        }
    }
    rig_close(&r);
}
END_TEST

/* A11: no device idles, and the shares are 40, 30, 30. */
START_TEST(a11_shares_differ_by_one)
{
    static const int64_t want[] = {40, 30, 30};
    cm_data data = RIG_DATA(100);
    rig r = rig_open(&(rig_spec){.devices = rig_parts(3)});

    ck_assert_cm_ok(cm_model_fit(r.model, &data, &(cm_fit_options){.batch_size = 10}, NULL));
    for (int q = 0; q < 3; q++)
        ck_assert_int_eq(cm_model_replica_rows(r.model, q), want[q]);
    ck_assert_int_eq(cm_model_replica_rows(r.model, 3), 0);
    ck_assert_int_eq(cm_model_replica_rows(r.model, -1), 0);
    rig_close(&r);
}
END_TEST

/* ---- A14 ------------------------------------------------------------------------------------- */

static float before[RIG_WEIGHTS], after[RIG_WEIGHTS], alone[RIG_WEIGHTS];

#define FROZEN_FIRST                                                                               \
    "dense units=16 activation=relu trainable=false; dense units=4 activation=softmax"
#define FROZEN_ALL                                                                                 \
    "dense units=16 activation=relu trainable=false; dense units=4 activation=softmax "            \
    "trainable=false"

START_TEST(a14_all_frozen)
{
    cm_data data = RIG_DATA(65);
    cm_history *history = NULL;
    rig r = rig_open(
        &(rig_spec){.devices = device_text(_i), .layers = FROZEN_ALL, .optimizer = "adam"});
    size_t count = rig_weights(r.model, 0, before);

    ck_assert_cm_ok(cm_model_fit(r.model, &data, &(cm_fit_options){.batch_size = 16}, &history));
    for (int q = 0; q < r.replicas; q++) {
        ck_assert_uint_eq(rig_weights(r.model, q, after), count);
        ck_assert_floats_bits(after, before, count);
    }
    /* Untrained M1 on its data. */
    ck_assert(isfinite(cm_history_last(history, "loss")));
    ck_assert_close(cm_history_last(history, "loss"), 1.386, 0.01);
    cm_history_destroy(history);
    rig_close(&r);
}
END_TEST

START_TEST(a14_first_frozen)
{
    enum { FROZEN = 8 * 16 + 16 };
    cm_data data = RIG_DATA(65);
    size_t count = 0;

    for (int run = 0; run < 2; run++) {
        rig r = rig_open(
            &(rig_spec){.devices = run ? device_text(_i) : RIG_ONE, .layers = FROZEN_FIRST});
        count = rig_weights(r.model, 0, before);
        ck_assert_cm_ok(cm_model_fit(r.model, &data, &(cm_fit_options){.batch_size = 16}, NULL));
        (void)rig_weights(r.model, r.replicas - 1, after);
        ck_assert_floats_bits(after, before, FROZEN);
        ck_assert(memcmp(after + FROZEN, before + FROZEN, (count - FROZEN) * sizeof *after));
        if (run) {
            rig_assert_replicas_agree(&r);
            rig_assert_close(r.model, alone, "first layer frozen");
        } else {
            memcpy(alone, after, sizeof after);
        }
        rig_close(&r);
    }
}
END_TEST

START_TEST(a14_no_parameters)
{
    cm_data data = RIG_DATA(33);
    cm_history *history = NULL;
    rig r = rig_open(&(rig_spec){.devices = device_text(_i), .layers = "flatten; softmax"});

    ck_assert_int_eq(cm_model_weight_count(r.model), 0);
    ck_assert_cm_ok(
        cm_model_fit(r.model, &data, &(cm_fit_options){.epochs = 2, .batch_size = 16}, &history));
    int count = 0;
    const double *loss = cm_history_values(history, "loss", &count);
    ck_assert_int_eq(count, 2);
    ck_assert(isfinite(loss[0]) && loss[0] > 0);
    ck_assert_close(loss[1], loss[0], 1e-6 * loss[0]);
    cm_history_destroy(history);
    rig_close(&r);
}
END_TEST

/* ---- A16, A18, A21 --------------------------------------------------------------------------- */

typedef struct heard {
    double last[8];
    int count;
} heard;

static void hear(void *user, int64_t batch, const cm_logs *logs)
{
    heard *h = user;

    (void)batch;
    h->last[h->count++ % 8] = cm_logs_get(logs, "loss");
}

/* A16: what a batch callback hears, the history and evaluate say the same, and means are
 * weighted by rows. */
START_TEST(a16_loss_not_divided_by_n)
{
    cm_data data = RIG_DATA(65), full = RIG_DATA(64);
    heard h = {.count = 0};
    cm_callbacks callbacks = {.user = &h, .batch_end = hear};
    cm_history *history = NULL;
    cm_logs logs;
    rig r = rig_open(&(rig_spec){.devices = device_text(_i)});

    ck_assert_cm_ok(cm_model_test_on_batch(r.model, &full, &logs));
    ck_assert_cm_ok(cm_model_fit(
        r.model, &data,
        &(cm_fit_options){
            .batch_size = 64, .no_shuffle = true, .callbacks = &callbacks, .callbacks_count = 1},
        &history));
    ck_assert_int_eq(h.count, 2);
    ck_assert_close(h.last[0], cm_logs_get(&logs, "loss"), 2e-6);
    ck_assert_close(h.last[1], 1.387513, 2e-6);
    ck_assert_close(cm_history_last(history, "loss"), h.last[1], 0);
    cm_history_destroy(history);
    rig_close(&r);
}
END_TEST

/* Every registered metric that reads labels of this form, as one list. */
static void metric_list(cmi_label_kind labels, char *text, size_t bytes)
{
    size_t at = (size_t)snprintf(text, bytes, "accuracy,crossentropy");

    for (size_t i = 0; i < cmi_metric_registry.count; i++) {
        const cmi_metric *metric = (const cmi_metric *)(const void *)cmi_metric_registry.entries[i];
        if (metric->labels == labels)
            at += (size_t)snprintf(text + at, bytes - at, ",%s", metric->entry.name);
    }
    for (size_t i = 0; i < cmi_loss_registry.count; i++) {
        const cmi_loss *loss = (const cmi_loss *)(const void *)cmi_loss_registry.entries[i];
        if (loss->labels == labels)
            at += (size_t)snprintf(text + at, bytes - at, ",%s", loss->entry.name);
    }
    ck_assert_uint_lt(at, bytes);
}

static void evaluate_all(const char *devices, bool vectors, cm_logs *logs, rig *r)
{
    static float targets[65 * 2];
    char metrics[1024];
    cm_data data = rig_data(65, RIG_FEATURES, vectors ? 2 : RIG_CLASSES);
    const int32_t *label = data.y.data;

    metric_list(vectors ? CMI_LABEL_VECTOR : CMI_LABEL_CLASS, metrics, sizeof metrics);
    for (int i = 0; i < 65 && vectors; i++) {
        targets[2 * i] = label[i] == 0;
        targets[2 * i + 1] = label[i] == 1;
    }
    if (vectors) data.y = CM_FLOAT32(targets, 65, 2);
    *r = rig_open(&(rig_spec){
        .devices = devices,
        .layers =
            vectors ? "dense units=16 activation=relu; dense units=2 activation=softmax" : NULL,
        .loss = vectors ? "categorical_crossentropy" : NULL,
        .metrics = metrics});
    ck_assert_cm_ok(cm_model_fit(r->model, &data,
                                 &(cm_fit_options){.batch_size = 64, .no_shuffle = true}, NULL));
    ck_assert_cm_ok(
        cm_model_evaluate(r->model, &data, &(cm_evaluate_options){.batch_size = 16}, logs));
}

/* A18: sums and counts are added, results never are. */
START_TEST(a18_metrics_stay_in_range)
{
    bool vectors = _i % 2;
    cm_logs one, many;
    rig a, b;

    evaluate_all(RIG_ONE, vectors, &one, &a);
    evaluate_all(device_text(1 + _i / 2), vectors, &many, &b);
    ck_assert_int_eq(many.count, one.count);
    ck_assert_int_ge(one.count, vectors ? 8 : 4);
    for (int i = 0; i < one.count; i++) {
        bool share = cm_test_contains(one.name[i], "accuracy");
        ck_assert_str_eq(many.name[i], one.name[i]);
        ck_assert_msg(fabs(many.value[i] - one.value[i]) <=
                          (share ? 1e-9 : 2e-5 * fabs(one.value[i])),
                      "%s: %.9g on one device, %.9g on %d", one.name[i], one.value[i],
                      many.value[i], b.replicas);
        if (share) ck_assert(many.value[i] >= 0 && many.value[i] <= 1);
    }
    if (!vectors) ck_assert_close(cm_logs_get(&many, "accuracy") * 65, 21, 1e-9);
    rig_close(&a);
    rig_close(&b);
}
END_TEST

/* A21: the first replica's shard weighs nothing; then nobody's does. */
START_TEST(a21_shard_of_zero_weights)
{
    static const double sums[] = {10.325304, 0.037412, 5.119676, 0.049782};
    float weight[15];
    cm_data data = RIG_DATA(15);
    cm_history *history = NULL;
    const char *const optimizers[] = {M1_SGD, "adam"};
    rig r = rig_open(&(rig_spec){.devices = _i ? rig_parts(_i) : RIG_ALL});

    for (int i = 0; i < 15; i++)
        weight[i] = i < 5 ? 0.0f : (float)(1 + i % 2);
    data.sample_weight = CM_FLOAT32(weight, 15);
    ck_assert_cm_ok(cm_model_fit(
        r.model, &data, &(cm_fit_options){.batch_size = 15, .no_shuffle = true}, &history));
    ck_assert_close(cm_history_last(history, "loss"), 1.384401, 2e-6);
    ck_assert_close(cm_history_last(history, "accuracy"), 0.133333, 2e-6);
    for (int t = 0; t < 4; t++)
        ck_assert_close(rig_abs_sum(r.model, t), sums[t], 2e-6 * fmax(1, sums[t]));
    cm_history_destroy(history);
    rig_close(&r);
    memset(weight, 0, sizeof weight);
    for (int o = 0; o < 2; o++) {
        const char *const loss =
            o ? "sparse_categorical_crossentropy reduction=mean_with_sample_weight" : NULL;
        r = rig_open(&(rig_spec){
            .devices = _i ? rig_parts(_i) : RIG_ALL, .optimizer = optimizers[o], .loss = loss});
        size_t count = rig_weights(r.model, 0, before);
        ck_assert_cm_ok(
            cm_model_fit(r.model, &data, &(cm_fit_options){.batch_size = 15}, &history));
        ck_assert_close(cm_history_last(history, "loss"), 0, 0);
        (void)rig_weights(r.model, 0, after);
        ck_assert_floats_bits(after, before, count);
        cm_history_destroy(history);
        rig_close(&r);
    }
}
END_TEST

/* ---- A24 ------------------------------------------------------------------------------------- */

enum { ROWS = 8, WIDTH = 64, STEPS = 2 };

/* The masks of 8 equal rows of ones, made visible: behind the dropout stands a kernel of zeros,
 * and target row i is 1 in column i only, so with mse the kernel's gradient is -2/64 mask[i][j]
 * at (j, i); learning rate 32 makes it the mask. */
static void draw_masks(const char *devices, float masks[STEPS][WIDTH * ROWS])
{
    static float ones[ROWS * WIDTH], targets[ROWS * ROWS], zero[WIDTH * ROWS];
    cm_data data = {.x = CM_FLOAT32(ones, ROWS, WIDTH), .y = CM_FLOAT32(targets, ROWS, ROWS)};
    rig r = rig_open(&(rig_spec){
        .devices = devices,
        .layers = "dropout rate=0.5; dense units=8 use_bias=false kernel_initializer=zeros",
        .optimizer = "sgd learning_rate=32",
        .loss = "mse",
        .metrics = "mae",
        .features = WIDTH,
        .own_weights = true});

    for (int i = 0; i < ROWS * WIDTH; i++)
        ones[i] = 1;
    for (int i = 0; i < ROWS; i++)
        targets[i * ROWS + i] = 1;
    for (int s = 0; s < STEPS; s++) {
        ck_assert_cm_ok(cm_model_set_weight(r.model, 0, zero, WIDTH * ROWS));
        ck_assert_cm_ok(cm_model_train_on_batch(r.model, &data, NULL));
        ck_assert_cm_ok(cm_model_get_weight(r.model, 0, masks[s], WIDTH * ROWS));
    }
    rig_close(&r);
}

static bool same_mask(float masks[STEPS][WIDTH * ROWS], int a, int b)
{
    for (int j = 0; j < WIDTH; j++)
        if (masks[a / ROWS][j * ROWS + a % ROWS] != masks[b / ROWS][j * ROWS + b % ROWS])
            return false;
    return true;
}

START_TEST(a24_dropout_differs_by_sample)
{
    static float one[STEPS][WIDTH * ROWS], many[STEPS][WIDTH * ROWS];
    int kept = 0;

    draw_masks(RIG_ONE, one);
    draw_masks(device_text(_i), many);
    for (int s = 0; s < STEPS; s++)
        ck_assert_floats_bits(many[s], one[s], WIDTH * ROWS);
    for (int i = 0; i < STEPS * WIDTH * ROWS; i++) {
        float value = many[i / (WIDTH * ROWS)][i % (WIDTH * ROWS)];
        ck_assert(value == 0.0f || value == 2.0f);
        kept += value == 2.0f;
    }
    double share = (double)kept / (STEPS * WIDTH * ROWS);
    ck_assert_msg(share > 0.4 && share < 0.6, "%g of the elements are kept", share);
    for (int a = 0; a < STEPS * ROWS; a++)
        for (int b = 0; b < a; b++)
            ck_assert_msg(!same_mask(many, a, b), "masks %d and %d are equal", a, b);
}
END_TEST

Suite *suite_cases_rest(void)
{
    Suite *suite = suite_create("cases_rest");
    TCase *tests = tcase_create("cases");

    tcase_add_loop_test(tests, a08_validation_counts_every_sample, 0, DEVICES);
    tcase_add_loop_test(tests, a10_predict_keeps_order, 0, DEVICES);
    tcase_add_test(tests, a11_shares_differ_by_one);
    tcase_add_loop_test(tests, a14_all_frozen, 0, DEVICES);
    tcase_add_loop_test(tests, a14_first_frozen, 1, DEVICES);
    tcase_add_loop_test(tests, a14_no_parameters, 0, DEVICES);
    tcase_add_loop_test(tests, a16_loss_not_divided_by_n, 0, DEVICES);
    tcase_add_loop_test(tests, a18_metrics_stay_in_range, 0, 2 * (DEVICES - 1));
    tcase_add_loop_test(tests, a21_shard_of_zero_weights, 0, 5);
    tcase_add_loop_test(tests, a24_dropout_differs_by_sample, 0, DEVICES);
    suite_add_tcase(suite, tests);
    return suite;
}
