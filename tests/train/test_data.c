/* test_data.c - what fit, evaluate and predict refuse in their data and options, before the first
 * step.  After each refusal the model still trains. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

static float x[40 * 32], weights[40];
static int32_t y[40 * 2];

/* 20 rows that fit M1; each case below spoils one thing. */
static cm_data good(void)
{
    cm_data data = RIG_DATA(20);

    memcpy(x, data.x.data, 20 * RIG_FEATURES * sizeof *x);
    memcpy(y, data.y.data, 20 * sizeof *y);
    for (int i = 0; i < 40; i++)
        weights[i] = 1;
    return (cm_data){.x = CM_FLOAT32(x, 20, RIG_FEATURES), .y = CM_INT32(y, 20)};
}

/* ---- data ------------------------------------------------------------------------------------ */

typedef enum spoiled {
    NO_X,
    NO_Y,
    ROWS_DIFFER,
    NO_ROWS,
    NULL_X,
    WRONG_COLUMNS,
    WRONG_RANK,
    HUGE_SHAPE,
    NEGATIVE_SIZE,
    LABEL_TOO_LARGE,
    LABEL_NEGATIVE,
    LABEL_FRACTION,
    LABELS_OF_TWO,
    WEIGHT_ROWS,
    WEIGHT_RANK,
    WEIGHT_NAN,
    WEIGHT_TYPE,
    SCALE_NAN,
    SPOILED_COUNT
} spoiled;

static const struct {
    cm_status status;
    const char *parts[4];
} answers[SPOILED_COUNT] = {
    [NO_X] = {CM_E_INVALID, {"no x", "CM_FLOAT32"}},
    [NO_Y] = {CM_E_INVALID, {"no y"}},
    [ROWS_DIFFER] = {CM_E_SHAPE, {"x has 20 rows", "y has 19"}}, /* E05 a */
    [NO_ROWS] = {CM_E_INVALID, {"no samples", "0 rows"}},        /* B12 */
    [NULL_X] = {CM_E_INVALID, {"x", "NULL"}},
    [WRONG_COLUMNS] = {CM_E_SHAPE, {"(None, 3)", "(None, 8)", "m1"}}, /* E05 d */
    [WRONG_RANK] = {CM_E_SHAPE, {"(None, 5, 4)", "(None, 8)"}},       /* E05 c */
    [HUGE_SHAPE] = {CM_E_SHAPE, {"x", "too large", "4294967296"}},
    [NEGATIVE_SIZE] = {CM_E_SHAPE, {"x", "-8", "axis 1"}},
    [LABEL_TOO_LARGE] = {CM_E_INVALID, {"sample 13", "label 4", "0 ... 3"}}, /* E05 e */
    [LABEL_NEGATIVE] = {CM_E_INVALID, {"sample 0", "label -1", "0 ... 3"}},
    [LABEL_FRACTION] = {CM_E_INVALID, {"sample 19", "label 1.5", "whole"}},
    [LABELS_OF_TWO] = {CM_E_SHAPE, {"(None, 2)", "(None, 4)", "one class number each"}},
    [WEIGHT_ROWS] = {CM_E_SHAPE, {"20 rows", "sample_weight has 21"}},
    [WEIGHT_RANK] = {CM_E_SHAPE, {"sample_weight", "(20, 1)"}},
    [WEIGHT_NAN] = {CM_E_NUMERIC, {"sample_weight", "row 7"}},
    [WEIGHT_TYPE] = {CM_E_INVALID, {"sample_weight", "float32"}},
    [SCALE_NAN] = {CM_E_INVALID, {"scale"}}};

static cm_data spoil(spoiled what)
{
    static float labels[20];
    cm_data data = good();

    switch (what) {
    case NO_X:
        data.x = (cm_tensor){0};
        break;
    case NO_Y:
        data.y = (cm_tensor){0};
        break;
    case ROWS_DIFFER:
        data.y.shape[0] = 19;
        break;
    case NO_ROWS:
        data.x.shape[0] = data.y.shape[0] = 0;
        break;
    case NULL_X:
        data.x.data = NULL;
        break;
    case WRONG_COLUMNS:
        data.x.shape[1] = 3;
        break;
    case WRONG_RANK:
        data.x = CM_FLOAT32(x, 20, 5, 4);
        break;
    case HUGE_SHAPE:
        data.x = CM_FLOAT32(x, 20, (int64_t)1 << 32, (int64_t)1 << 32);
        break;
    case NEGATIVE_SIZE:
        data.x.shape[1] = -8;
        break;
    case LABEL_TOO_LARGE:
        y[13] = 4;
        break;
    case LABEL_NEGATIVE:
        y[0] = -1;
        break;
    case LABEL_FRACTION:
        for (int i = 0; i < 20; i++)
            labels[i] = i == 19 ? 1.5f : 1.0f;
        data.y = CM_FLOAT32(labels, 20);
        break;
    case LABELS_OF_TWO:
        data.y = CM_INT32(y, 20, 2);
        break;
    case WEIGHT_ROWS:
        data.sample_weight = CM_FLOAT32(weights, 21);
        break;
    case WEIGHT_RANK:
        data.sample_weight = CM_FLOAT32(weights, 20, 1);
        break;
    case WEIGHT_NAN:
        weights[7] = NAN;
        data.sample_weight = CM_FLOAT32(weights, 20);
        break;
    case WEIGHT_TYPE:
        data.sample_weight = CM_INT32(y, 20);
        break;
    case SCALE_NAN:
        data.x.scale = NAN;
        break;
    case SPOILED_COUNT:
        break;
    }
    return data;
}

static void assert_refused(spoiled what, cm_status status, const char *call)
{
    ck_assert_msg(status == answers[what].status, "case %d, %s: %s, \"%s\"", what, call,
                  cm_status_name(status), cm_last_message());
    ck_assert_message_has(call);
    for (int p = 0; p < 4 && answers[what].parts[p]; p++)
        ck_assert_message_has(answers[what].parts[p]);
}

START_TEST(data_that_are_refused)
{
    spoiled what = (spoiled)_i;
    cm_data data = spoil(what), fine = RIG_DATA(20);
    cm_logs logs = {.count = 3};
    cm_history *history = NULL;
    rig r = rig_open(&(rig_spec){.devices = RIG_ALL});

    assert_refused(what, cm_model_fit(r.model, &data, NULL, &history), "fit: ");
    ck_assert_ptr_nonnull(history);
    ck_assert_int_eq(cm_history_epochs(history), 0);
    cm_history_destroy(history);
    assert_refused(what, cm_model_evaluate(r.model, &data, NULL, &logs), "evaluate: ");
    ck_assert_int_eq(logs.count, 0);
    assert_refused(what, cm_model_train_on_batch(r.model, &data, &logs), "train_on_batch: ");
    assert_refused(what, cm_model_test_on_batch(r.model, &data, &logs), "test_on_batch: ");
    /* The same as validation data: the training data are fine. */
    assert_refused(what,
                   cm_model_fit(r.model, &fine, &(cm_fit_options){.validation_data = &data}, NULL),
                   "validation");
    for (int q = 0; q < r.replicas; q++)
        ck_assert_int_eq(cm_model_replica_rows(r.model, q), 0);
    ck_assert_cm_ok(cm_model_fit(r.model, &fine, NULL, NULL));
    ck_assert_int_eq(cm_last_status(), CM_OK);
    ck_assert_str_eq(cm_last_message(), "");
    rig_close(&r);
}
END_TEST

START_TEST(predict_refuses)
{
    static const spoiled cases[] = {NO_X,       NO_ROWS,    NULL_X,        WRONG_COLUMNS,
                                    WRONG_RANK, HUGE_SHAPE, NEGATIVE_SIZE, SCALE_NAN};
    float out[20 * RIG_CLASSES];
    rig r = rig_open(&(rig_spec){.devices = RIG_ALL});

    for (int i = 0; i < CM_TEST_COUNT(cases); i++) {
        cm_data data = spoil(cases[i]);
        assert_refused(cases[i], cm_model_predict(r.model, &data, NULL, out, 20 * RIG_CLASSES),
                       "predict: ");
    }
    cm_data data = good();
    ck_assert_cm_status(cm_model_predict(r.model, &data, NULL, NULL, 0), CM_E_INVALID);
    ck_assert_cm_status(cm_model_predict(r.model, NULL, NULL, out, 80), CM_E_INVALID);
    ck_assert_cm_status(cm_model_predict(r.model, &data, NULL, out, 79), CM_E_SHAPE);
    ck_assert_message_has("20 rows has 80 numbers");
    ck_assert_message_has("79");
    ck_assert_cm_ok(cm_model_predict(r.model, &data, NULL, out, 80));
    rig_close(&r);
}
END_TEST

/* Class numbers for a loss that wants vectors, and the other way round: the message names the
 * other loss. */
START_TEST(labels_of_the_wrong_form)
{
    cm_data data = good();
    rig r = rig_open(&(rig_spec){.devices = RIG_ALL, .loss = "categorical_crossentropy"});

    ck_assert_cm_status(cm_model_fit(r.model, &data, NULL, NULL), CM_E_SHAPE);
    ck_assert_message_has("categorical_crossentropy");
    ck_assert_message_has("sparse_categorical_crossentropy");
    ck_assert_message_has("(None, 4)");
    rig_close(&r);
}
END_TEST

/* ---- options --------------------------------------------------------------------------------- */

static const double nan_weight[] = {1, NAN};

static const struct {
    cm_fit_options options;
    const char *parts[3];
} bad_options[] = {
    {{.batch_size = -1}, {"batch_size -1", "at least 1"}},
    {{.batch_size = INT64_MIN}, {"batch_size -9223372036854775808"}},
    {{.validation_batch_size = -2}, {"validation_batch_size -2"}},
    {{.epochs = -2}, {"epochs -2"}},
    {{.initial_epoch = -1}, {"initial_epoch -1"}},
    {{.validation_split = 1.0}, {"validation_split 1"}},
    {{.validation_split = -0.1}, {"validation_split -0.1"}},
    {{.validation_split = (double)NAN}, {"validation_split nan"}},
    {{.validation_split = 0.99}, {"validation_split 0.99", "20 rows", "empty"}},
    {{.validation_freq = -1}, {"validation_freq -1"}},
    {{.verbose = 3}, {"verbose 3", "0, 1 or 2"}},
    {{.class_weight_count = 2}, {"class_weight"}},
    {{.class_weight = nan_weight, .class_weight_count = 2}, {"class_weight", "class 1", "nan"}},
    {{.callbacks_count = 1}, {"callbacks"}}};

START_TEST(options_that_are_refused)
{
    cm_data data = good();
    rig r = rig_open(&(rig_spec){.devices = RIG_ALL});

    ck_assert_cm_status(cm_model_fit(r.model, &data, &bad_options[_i].options, NULL), CM_E_INVALID);
    ck_assert_message_has("fit: ");
    for (int p = 0; p < 3 && bad_options[_i].parts[p]; p++)
        ck_assert_message_has(bad_options[_i].parts[p]);
    ck_assert_cm_ok(cm_model_fit(r.model, &data, NULL, NULL));
    rig_close(&r);
}
END_TEST

START_TEST(more_options_that_are_refused)
{
    static const double class_weight[] = {1, 2};
    cm_data data = good();
    cm_logs logs;
    rig r = rig_open(&(rig_spec){.devices = RIG_ALL});

    data.sample_weight = CM_FLOAT32(weights, 20);
    ck_assert_cm_status(
        cm_model_fit(r.model, &data,
                     &(cm_fit_options){.class_weight = class_weight, .class_weight_count = 2},
                     NULL),
        CM_E_INVALID);
    ck_assert_message_has("class_weight and sample_weight");
    ck_assert_cm_status(
        cm_model_evaluate(r.model, &data, &(cm_evaluate_options){.batch_size = -1}, &logs),
        CM_E_INVALID);
    ck_assert_message_has("batch_size -1");
    ck_assert_cm_status(
        cm_model_evaluate(r.model, &data, &(cm_evaluate_options){.verbose = -1}, &logs),
        CM_E_INVALID);
    ck_assert_cm_status(cm_model_fit(r.model, NULL, NULL, NULL), CM_E_INVALID);
    ck_assert_cm_status(cm_model_evaluate(r.model, NULL, NULL, NULL), CM_E_INVALID);
    /* More rows than there are in a batch is no error. */
    ck_assert_cm_ok(cm_model_fit(r.model, &data, &(cm_fit_options){.batch_size = INT64_MAX}, NULL));
    rig_close(&r);
}
END_TEST

Suite *suite_data(void)
{
    Suite *suite = suite_create("data");
    TCase *tests = tcase_create("data");

    tcase_add_loop_test(tests, data_that_are_refused, 0, SPOILED_COUNT);
    tcase_add_test(tests, predict_refuses);
    tcase_add_test(tests, labels_of_the_wrong_form);
    tcase_add_loop_test(tests, options_that_are_refused, 0, CM_TEST_COUNT(bad_options));
    tcase_add_test(tests, more_options_that_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
