/* test_fit.c - the calls of a model: fit with its options, history, evaluate, predict, one
 * batch, weights, types of input. */
#include <math.h>
#include <string.h>
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

static const char *some_devices(int i)
{
    return i == 0 ? RIG_ONE : i == 1 ? RIG_ALL : rig_parts(4);
}

/* ---- validation and history ------------------------------------------------------------------ */

/* validation_split takes the last rows before shuffling: the same as training and validating on
 * the two parts. */
START_TEST(validation_split_is_the_last_part)
{
    cm_data data = RIG_DATA(50), first = cm_data_slice(&data, 0, 37),
            last = cm_data_slice(&data, 37, 50);
    cm_history *split = NULL, *parts = NULL;
    rig a = rig_open(&(rig_spec){.devices = some_devices(_i)}),
        b = rig_open(&(rig_spec){.devices = some_devices(_i)});
    static const char *const names[] = {"accuracy", "loss", "val_accuracy", "val_loss"};

    /* 50 (1 - 0.25) = 37.5: 37 rows train, 13 validate. */
    ck_assert_cm_ok(cm_model_fit(a.model, &data,
                                 &(cm_fit_options){.epochs = 3, .validation_split = 0.25}, &split));
    ck_assert_cm_ok(cm_model_fit(b.model, &first,
                                 &(cm_fit_options){.epochs = 3, .validation_data = &last}, &parts));
    ck_assert_int_eq(cm_history_names(split), 4);
    for (int n = 0; n < 4; n++) {
        int count = 0;
        const double *x = cm_history_values(split, names[n], &count),
                     *y = cm_history_values(parts, names[n], NULL);
        ck_assert_str_eq(cm_history_name(split, n), names[n]);
        ck_assert_int_eq(count, 3);
        for (int e = 0; e < 3; e++)
            ck_assert_close(x[e], y[e], 0);
    }
    /* val_loss is what evaluate says. */
    cm_logs logs;
    ck_assert_cm_ok(cm_model_evaluate(a.model, &last, NULL, &logs));
    ck_assert_close(cm_logs_get(&logs, "loss"), cm_history_last(split, "val_loss"), 0);
    ck_assert(isnan(cm_logs_get(&logs, "val_loss")));
    ck_assert(isnan(cm_history_last(split, "nothing")));
    ck_assert_ptr_null(cm_history_name(split, 4));
    cm_history_destroy(split);
    cm_history_destroy(parts);
    rig_close(&a);
    rig_close(&b);
}
END_TEST

START_TEST(validation_freq_and_initial_epoch)
{
    cm_data data = RIG_DATA(20);
    cm_history *history = NULL;
    int losses = 0, vals = 0;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    ck_assert_cm_ok(cm_model_fit(
        r.model, &data,
        &(cm_fit_options){
            .epochs = 7, .initial_epoch = 2, .validation_data = &data, .validation_freq = 2},
        &history));
    ck_assert_int_eq(cm_history_epochs(history), 5);
    ck_assert_int_eq(cm_history_epoch(history, 0), 2);
    ck_assert_int_eq(cm_history_epoch(history, 4), 6);
    ck_assert_int_eq(cm_history_epoch(history, 5), -1);
    (void)cm_history_values(history, "loss", &losses);
    (void)cm_history_values(history, "val_loss", &vals);
    ck_assert_int_eq(losses, 5);
    ck_assert_int_eq(vals, 2); /* after epochs 3 and 5, the fourth and the sixth */
    cm_history_destroy(history);
    rig_close(&r);
}
END_TEST

START_TEST(epochs_none_trains_nothing)
{
    static float before[RIG_WEIGHTS];
    cm_data data = RIG_DATA(20), wrong = rig_data(20, 5, 4);
    cm_history *history = NULL;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    (void)rig_weights(r.model, 0, before);
    ck_assert_cm_ok(
        cm_model_fit(r.model, &data, &(cm_fit_options){.epochs = CM_EPOCHS_NONE}, &history));
    ck_assert_int_eq(cm_history_epochs(history), 0);
    cm_history_destroy(history);
    ck_assert_cm_ok(
        cm_model_fit(r.model, &data, &(cm_fit_options){.epochs = 3, .initial_epoch = 3}, &history));
    ck_assert_int_eq(cm_history_epochs(history), 0);
    cm_history_destroy(history);
    rig_assert_bits(r.model, before, "epochs none");
    ck_assert_cm_status(
        cm_model_fit(r.model, &wrong, &(cm_fit_options){.epochs = CM_EPOCHS_NONE}, NULL),
        CM_E_SHAPE);
    rig_close(&r);
}
END_TEST

/* ---- order and seeds ------------------------------------------------------------------------- */

static void fit_weights(rig *r, const cm_fit_options *options, float *out)
{
    cm_data data = RIG_DATA(48);

    ck_assert_cm_ok(cm_model_fit(r->model, &data, options, NULL));
    (void)rig_weights(r->model, 0, out);
}

static float w[6][RIG_WEIGHTS];

static bool same(int a, int b)
{
    return !memcmp(w[a], w[b], sizeof w[0]);
}

/* Shuffling, the model's seed and fit's seed each change the result; the same seed gives the
 * same. */
START_TEST(seeds_and_shuffling)
{
    static const cm_fit_options options[] = {{.epochs = 2, .batch_size = 16},
                                             {.epochs = 2, .batch_size = 16, .no_shuffle = true},
                                             {.epochs = 2, .batch_size = 16, .seed = 9},
                                             {.epochs = 2, .batch_size = 16, .seed = 9},
                                             {.epochs = 2, .batch_size = 16}};
    static const uint64_t seeds[] = {0, 0, 0, 9, 9};

    for (int i = 0; i < 5; i++) {
        rig r = rig_open(&(rig_spec){.devices = some_devices(_i), .seed = seeds[i]});
        fit_weights(&r, &options[i], w[i]);
        rig_close(&r);
    }
    ck_assert(!same(0, 1) && !same(0, 2) && !same(1, 2));
    ck_assert(same(2, 3) &&
              same(2, 4)); /* weights were set by hand, so only the order and the masks count */
    for (int i = 0; i < 3; i++) {
        rig r = rig_open(
            &(rig_spec){.devices = some_devices(_i), .seed = i == 1 ? 1 : 0, .own_weights = true});
        (void)rig_weights(r.model, 0, w[i]);
        ck_assert_cm_status(cm_model_set_seed(r.model, 3), CM_E_STATE);
        rig_close(&r);
    }
    ck_assert(same(0, 2) && !same(0, 1));
}
END_TEST

/* Order, masks and the optimiser's counter go on over a second fit: 1 + 2 epochs are 3 epochs. */
START_TEST(a_second_fit_goes_on)
{
    rig a = rig_open(
        &(rig_spec){.devices = some_devices(_i), .layers = M1_DROPOUT, .optimizer = "adam"});
    rig b = rig_open(
        &(rig_spec){.devices = some_devices(_i), .layers = M1_DROPOUT, .optimizer = "adam"});

    fit_weights(&a, &(cm_fit_options){.epochs = 3, .batch_size = 16}, w[0]);
    fit_weights(&b, &(cm_fit_options){.epochs = 1, .batch_size = 16}, w[1]);
    ck_assert(!same(0, 1));
    fit_weights(&b, &(cm_fit_options){.epochs = 2, .batch_size = 16}, w[1]);
    ck_assert(same(0, 1));
    rig_close(&a);
    rig_close(&b);
}
END_TEST

/* A second compile starts the optimiser anew and may change loss and metrics; the weights stay. */
START_TEST(compile_twice)
{
    cm_data data = RIG_DATA(48);
    cm_logs logs;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    fit_weights(&r, &(cm_fit_options){.epochs = 1}, w[0]);
    ck_assert_cm_ok(cm_strategy_scope_begin(r.strategy));
    ck_assert_cm_ok(
        cm_model_compile(r.model, &(cm_compile_options){.optimizer = "adam amsgrad=true",
                                                        .loss = "sparse_categorical_crossentropy",
                                                        .metrics = "acc; ce; accuracy; acc"}));
    ck_assert_cm_ok(cm_strategy_scope_end(r.strategy));
    rig_assert_bits(r.model, w[0], "after compile");
    ck_assert_cm_ok(cm_model_evaluate(r.model, &data, NULL, &logs));
    ck_assert_int_eq(logs.count, 5);
    ck_assert_str_eq(logs.name[0], "acc");
    ck_assert_str_eq(logs.name[1], "acc_1");
    ck_assert_str_eq(logs.name[2], "accuracy");
    ck_assert_str_eq(logs.name[3], "ce");
    ck_assert_str_eq(logs.name[4], "loss");
    ck_assert_close(cm_logs_get(&logs, "ce"), cm_logs_get(&logs, "loss"), 1e-6);
    fit_weights(&r, &(cm_fit_options){.epochs = 1}, w[1]);
    ck_assert(!same(0, 1));
    rig_assert_replicas_agree(&r);
    rig_close(&r);
}
END_TEST

/* Even the same optimiser starts anew: like a fresh model with these weights. */
/* Layers may be added after compile: whether the loss takes logits is decided by the finished
 * model. */
START_TEST(layers_added_after_compile)
{
    double loss[2];

    for (int late = 0; late < 2; late++) {
        cm_data data = RIG_DATA(20);
        cm_model *model = NULL;
        cm_logs logs;
        const cm_compile_options options = {.optimizer = "sgd",
                                            .loss = "sparse_categorical_crossentropy"};
        ck_assert_cm_ok(cm_sequential_create(NULL, &model));
        ck_assert_cm_ok(cm_model_add(model, "dense units=4 activation=softmax"));
        if (late) ck_assert_cm_ok(cm_model_compile(model, &options));
        ck_assert_cm_ok(cm_model_add(model, "relu"));
        if (!late) ck_assert_cm_ok(cm_model_compile(model, &options));
        ck_assert_cm_ok(cm_model_evaluate(model, &data, NULL, &logs));
        loss[late] = cm_logs_get(&logs, "loss");
        cm_model_destroy(model);
    }
    ck_assert_close(loss[1], loss[0], 0);
}
END_TEST

/* A norm of 0 means no clipping, as in Keras. */
START_TEST(clipping_by_0_is_none)
{
    static const char *const texts[] = {"sgd", "sgd clipnorm=0", "sgd global_clipnorm=0",
                                        "sgd clipvalue=0"};
    float want[RIG_WEIGHTS], got[RIG_WEIGHTS];

    for (int i = 0; i < CM_TEST_COUNT(texts); i++) {
        cm_data data = RIG_DATA(20);
        rig r = rig_open(&(rig_spec){.devices = RIG_ALL, .optimizer = texts[i]});
        ck_assert_cm_ok(cm_model_fit(r.model, &data, &(cm_fit_options){.epochs = 2}, NULL));
        size_t count = rig_weights(r.model, 0, i ? got : want);
        if (i) ck_assert_floats_bits(got, want, count);
        rig_close(&r);
    }
}
END_TEST

START_TEST(compile_forgets_the_optimizer)
{
    static const char *const optimizers[] = {M1_SGD, "adam"};
    const cm_fit_options options = {.epochs = 2, .batch_size = 16, .no_shuffle = true};
    const char *optimizer = optimizers[_i % 2];
    rig a = rig_open(&(rig_spec){.devices = some_devices(_i / 2), .optimizer = optimizer});
    rig b = rig_open(&(rig_spec){.devices = some_devices(_i / 2), .optimizer = optimizer});

    fit_weights(&a, &options, w[0]);
    for (int t = 0, at = 0; t < cm_model_weight_count(b.model); t++) {
        cm_weight_info info;
        ck_assert_cm_ok(cm_model_weight_info(b.model, t, &info));
        ck_assert_cm_ok(cm_model_set_weight(b.model, t, w[0] + at, info.count));
        at += (int)info.count;
    }
    ck_assert_cm_ok(cm_model_compile(
        a.model,
        &(cm_compile_options){.optimizer = optimizer, .loss = "sparse_categorical_crossentropy"}));
    fit_weights(&a, &options, w[1]);
    fit_weights(&b, &options, w[2]);
    ck_assert(same(1, 2) && !same(0, 1));
    rig_close(&a);
    rig_close(&b);
}
END_TEST

/* A class's weight is the sample weight of its rows; classes behind the list weigh 1. */
START_TEST(class_weights_are_sample_weights)
{
    static const double class_weight[] = {0.5, 2.0, 0.0};
    static float weight[48];
    cm_data data = RIG_DATA(48);
    const int32_t *label = data.y.data;
    rig a = rig_open(&(rig_spec){.devices = some_devices(_i)}),
        b = rig_open(&(rig_spec){.devices = some_devices(_i)});

    for (int i = 0; i < 48; i++)
        weight[i] = label[i] < 3 ? (float)class_weight[label[i]] : 1.0f;
    fit_weights(
        &a, &(cm_fit_options){.epochs = 2, .class_weight = class_weight, .class_weight_count = 3},
        w[0]);
    data.sample_weight = CM_FLOAT32(weight, 48);
    ck_assert_cm_ok(cm_model_fit(b.model, &data, &(cm_fit_options){.epochs = 2}, NULL));
    rig_assert_bits(b.model, w[0], "sample weights");
    rig_close(&a);
    rig_close(&b);
}
END_TEST

/* ---- one batch, weights ---------------------------------------------------------------------- */

/* train_on_batch over the batches of an epoch is the epoch. */
START_TEST(train_on_batch_is_a_step_of_fit)
{
    cm_data data = RIG_DATA(48);
    rig a = rig_open(&(rig_spec){.devices = some_devices(_i), .layers = M1_DROPOUT});
    rig b = rig_open(&(rig_spec){.devices = some_devices(_i), .layers = M1_DROPOUT});

    fit_weights(&a, &(cm_fit_options){.epochs = 1, .batch_size = 16, .no_shuffle = true}, w[0]);
    for (int s = 0; s < 3; s++) {
        cm_data batch = cm_data_slice(&data, 16 * s, 16 * s + 16);
        ck_assert_cm_ok(cm_model_train_on_batch(b.model, &batch, NULL));
    }
    rig_assert_bits(b.model, w[0], "three batches");
    rig_close(&a);
    rig_close(&b);
}
END_TEST

START_TEST(weights_in_and_out)
{
    float values[64], back[64];
    cm_weight_info info;
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    ck_assert_int_eq(cm_model_weight_count(r.model), 4);
    ck_assert_cm_ok(cm_model_weight_info(r.model, 2, &info));
    ck_assert_str_eq(info.layer, "dense_1");
    ck_assert_str_eq(info.name, "kernel");
    ck_assert(info.rank == 2 && info.shape[0] == 16 && info.shape[1] == 4 && info.count == 64 &&
              info.trainable);
    for (int i = 0; i < 64; i++)
        values[i] = (float)i * 0.25f - 3;
    ck_assert_cm_ok(cm_model_set_weight(r.model, 2, values, 64));
    for (int q = 0; q < r.replicas; q++) {
        ck_assert_cm_ok(cm_model_get_replica_weight(r.model, q, 2, back, 64));
        ck_assert_floats_bits(back, values, 64);
    }
    ck_assert_cm_status(cm_model_get_replica_weight(r.model, r.replicas, 2, back, 64),
                        CM_E_INVALID);
    ck_assert_cm_status(cm_model_get_weight(r.model, 2, back, 63), CM_E_SHAPE);
    ck_assert_message_has("63");
    ck_assert_message_has("64");
    ck_assert_cm_status(cm_model_set_weight(r.model, 4, back, 64), CM_E_INVALID);
    ck_assert_message_has("0 ... 3");
    rig_close(&r);
}
END_TEST

/* uint8 pixels with a scale, int32 and float32 inputs of the same numbers: the same predictions. */
START_TEST(inputs_of_every_type)
{
    static uint8_t bytes[10 * 8];
    static int32_t ints[10 * 8];
    static float floats[10 * 8];
    float want[10 * RIG_CLASSES], out[10 * RIG_CLASSES];
    cm_data data = {.x = CM_FLOAT32(floats, 10, 8)};
    rig r = rig_open(&(rig_spec){.devices = some_devices(_i)});

    for (int i = 0; i < 80; i++)
        floats[i] = (float)(ints[i] = bytes[i] = (uint8_t)(i * 37));
    data.x.scale = 1.0 / 256;
    ck_assert_cm_ok(cm_model_predict(r.model, &data, NULL, want, 10 * RIG_CLASSES));
    data.x = CM_UINT8(bytes, 10, 8);
    data.x.scale = 1.0 / 256;
    ck_assert_cm_ok(cm_model_predict(r.model, &data, NULL, out, 10 * RIG_CLASSES));
    ck_assert_floats_bits(out, want, 10 * RIG_CLASSES);
    data.x = CM_INT32(ints, 10, 8);
    data.x.scale = 1.0 / 256;
    ck_assert_cm_ok(cm_model_predict(r.model, &data, NULL, out, 10 * RIG_CLASSES));
    ck_assert_floats_bits(out, want, 10 * RIG_CLASSES);
    rig_close(&r);
}
END_TEST

Suite *suite_fit(void)
{
    Suite *suite = suite_create("fit");
    TCase *tests = tcase_create("fit");

    tcase_add_loop_test(tests, validation_split_is_the_last_part, 0, 3);
    tcase_add_loop_test(tests, validation_freq_and_initial_epoch, 0, 3);
    tcase_add_loop_test(tests, epochs_none_trains_nothing, 0, 3);
    tcase_add_loop_test(tests, seeds_and_shuffling, 0, 3);
    tcase_add_loop_test(tests, a_second_fit_goes_on, 0, 3);
    tcase_add_loop_test(tests, compile_twice, 0, 3);
    tcase_add_test(tests, layers_added_after_compile);
    tcase_add_test(tests, clipping_by_0_is_none);
    tcase_add_loop_test(tests, compile_forgets_the_optimizer, 0, 6);
    tcase_add_loop_test(tests, class_weights_are_sample_weights, 0, 3);
    tcase_add_loop_test(tests, train_on_batch_is_a_step_of_fit, 0, 3);
    tcase_add_loop_test(tests, weights_in_and_out, 0, 3);
    tcase_add_loop_test(tests, inputs_of_every_type, 0, 3);
    suite_add_tcase(suite, tests);
    return suite;
}
