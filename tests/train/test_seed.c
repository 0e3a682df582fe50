/* test_seed.c - the lesson as tests: its three programs, its questions, and its names of
 * devices.
 *
 * Programs: basic (no input shape: built by fit), explicit devices, the sample.  Questions: 1
 * and 5, training on several devices and larger batches; 2, the order strategy, scope, model; 3,
 * the shape of predictions; 4, a model made outside the scope.  "/GPU:0" needs a GPU: the fault
 * layer makes the CPU devices say that they are some, in a child process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/rng.h"
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"
#define FAULT_LAYER_FIND
#include "fault/layer.h"

enum { ROWS = 1000, FEATURES = 20 };

static float x[ROWS * FEATURES];
static int32_t y[ROWS];

static cm_data dummy(int64_t rows)
{
    cmi_rng rng;

    cmi_rng_init(&rng, 5, CMI_RNG_DATA, 0);
    for (int i = 0; i < ROWS * FEATURES; i++)
        x[i] = (float)(cmi_rng_u32(&rng) >> 8) / 16777216.0f;
    for (int i = 0; i < ROWS; i++)
        y[i] = (int32_t)(cmi_rng_u32(&rng) & 1);
    return (cm_data){.x = CM_FLOAT32(x, rows, FEATURES), .y = CM_INT32(y, rows)};
}

/* The model of a lesson, made as it teaches: strategy, scope, model, compile. */
static cm_model *make(cm_strategy *strategy, const char *layers)
{
    cm_model *model = NULL;

    ck_assert_cm_ok(cm_strategy_scope_begin(strategy));
    ck_assert_cm_ok(cm_sequential_create(NULL, &model));
    ck_assert_cm_ok(cm_model_add(model, "%s", layers));
    ck_assert_cm_ok(
        cm_model_compile(model, &(cm_compile_options){.optimizer = "adam",
                                                      .loss = "sparse_categorical_crossentropy",
                                                      .metrics = "accuracy"}));
    ck_assert_cm_ok(cm_strategy_scope_end(strategy));
    return model;
}

START_TEST(basic_program_is_built_by_fit)
{
    cm_strategy *strategy = NULL;
    cm_data data = dummy(200);
    cm_history *history = NULL;
    int64_t shape[CM_MAX_RANK];
    int rank = 0;

    ck_assert_cm_ok(cm_mirrored_strategy_create(NULL, NULL, &strategy));
    ck_assert_int_ge(cm_strategy_replicas(strategy), 2); /* two devices under CTest */
    cm_model *model =
        make(strategy, "dense units=10 activation=relu; dense units=2 activation=softmax");
    ck_assert_int_eq(cm_model_weight_count(model), 0);
    ck_assert_cm_status(cm_model_output_shape(model, shape, &rank), CM_E_STATE);
    ck_assert_cm_ok(cm_model_fit(model, &data, &(cm_fit_options){.epochs = 5}, &history));
    ck_assert_int_eq(cm_history_epochs(history), 5);
    ck_assert_int_eq(cm_model_weight_count(model), 4);
    ck_assert_cm_ok(cm_model_output_shape(model, shape, &rank));
    ck_assert(rank == 1 && shape[0] == 2);
    for (int q = 0; q < cm_strategy_replicas(strategy); q++)
        ck_assert_int_gt(cm_model_replica_rows(model, q), 0);
    cm_history_destroy(history);
    cm_model_destroy(model);
    cm_strategy_destroy(strategy);
}
END_TEST

START_TEST(explicit_devices)
{
    static const char *const texts[] = {"/CPU:0,/CPU:1", "/CPU:1,/CPU:0", "CPU:0,CPU:1", "0.1,0.0"};
    static const int first[] = {0, 1, 0, 1};
    cm_data data = dummy(96);
    cm_strategy *strategy = rig_strategy(texts[_i], NULL);
    cm_model *model =
        make(strategy, "dense units=10 activation=relu; dense units=2 activation=softmax");

    ck_assert_int_eq(cm_strategy_replicas(strategy), 2);
    ck_assert_int_eq(cm_strategy_device_info(strategy, 0)->device, first[_i]);
    ck_assert_int_eq(cm_strategy_device_info(strategy, 1)->device, 1 - first[_i]);
    ck_assert_ptr_null(cm_strategy_device_info(strategy, 2));
    ck_assert_cm_ok(cm_model_fit(model, &data, &(cm_fit_options){.epochs = 3}, NULL));
    ck_assert_int_eq(cm_model_replica_rows(model, 0), 144);
    ck_assert_int_eq(cm_model_replica_rows(model, 1), 144);
    cm_model_destroy(model);
}
END_TEST

/* No GPU here: an error that lists what there is, never another device instead. */
START_TEST(a_gpu_that_is_not_there)
{
    cm_strategy *strategy = NULL;

    ck_assert_cm_status(cm_mirrored_strategy_create("/GPU:0,/GPU:1", NULL, &strategy),
                        CM_E_NO_DEVICE);
    ck_assert_ptr_null(strategy);
    ck_assert_message_has("GPU:0");
    ck_assert_message_has("0.0");
}
END_TEST

START_TEST(sample_program)
{
    cm_data data = dummy(ROWS);
    double accuracy[2], loss[2];

    for (int run = 0; run < 2; run++) {
        cm_history *history = NULL;
        cm_model *model =
            make(rig_strategy(run ? RIG_ALL : RIG_ONE, NULL),
                 "dense units=64 activation=relu input_shape=20; dense units=2 activation=softmax");
        ck_assert_cm_ok(
            cm_model_fit(model, &data, &(cm_fit_options){.epochs = 3, .batch_size = 32}, &history));
        ck_assert_int_eq(cm_history_epochs(history), 3);
        accuracy[run] = cm_history_last(history, "accuracy");
        loss[run] = cm_history_last(history, "loss");
        cm_history_destroy(history);
        cm_model_destroy(model);
    }
    ck_assert(accuracy[0] > 0.4 && accuracy[0] <= 1.0);
    ck_assert(loss[0] > 0.5 && loss[0] < 0.9);
    ck_assert_close(loss[1], loss[0], 1e-4);
    ck_assert_close(accuracy[1], accuracy[0], 0.002);
}
END_TEST

/* Question 3: 64 x 20 on 2 devices gives 64 x 10, and what one device gives; the model is built
 * by predict. */
START_TEST(predictions_have_the_shape_of_the_input)
{
    static float out[2][64 * 10];
    cm_data data = dummy(64);
    int64_t shape[CM_MAX_RANK];
    int rank = 0;

    data.y = (cm_tensor){0};
    for (int run = 0; run < 2; run++) {
        cm_model *model =
            make(rig_strategy(run ? RIG_ALL : RIG_ONE, NULL), "dense units=10 activation=softmax");
        ck_assert_cm_ok(cm_model_predict(model, &data, NULL, out[run], 64 * 10));
        ck_assert_cm_ok(cm_model_output_shape(model, shape, &rank));
        ck_assert(rank == 1 && shape[0] == 10);
        for (int r = 0; r < 64; r++) {
            double sum = 0;
            for (int c = 0; c < 10; c++)
                sum += (double)out[run][r * 10 + c];
            ck_assert_close(sum, 1, 1e-5);
        }
        /* 32 x 10, 128 x 10: the wrong answers. */
        ck_assert_cm_status(cm_model_predict(model, &data, NULL, out[run], 32 * 10), CM_E_SHAPE);
        ck_assert_message_has("640");
        ck_assert_message_has("320");
        if (run) {
            ck_assert_int_eq(cm_model_replica_rows(model, 0), 32);
            ck_assert_int_eq(cm_model_replica_rows(model, 1), 32);
        }
        cm_model_destroy(model);
    }
    ck_assert_floats_close(out[1], out[0], 64 * 10, 1e-6, 1e-6);
}
END_TEST

/* Question 4: the model was made outside the scope; the message says what to move. */
START_TEST(model_made_outside_the_scope)
{
    cm_strategy *strategy = rig_strategy(RIG_ALL, NULL);
    cm_model *model = NULL;

    ck_assert_cm_ok(cm_sequential_create("early", &model));
    ck_assert_cm_ok(cm_model_add(model, "dense units=2 activation=softmax"));
    ck_assert_cm_ok(cm_strategy_scope_begin(strategy));
    ck_assert_cm_status(
        cm_model_compile(model, &(cm_compile_options){.optimizer = "adam", .loss = "mse"}),
        CM_E_SCOPE);
    ck_assert_message_has("model creation must happen inside the scope");
    ck_assert_message_has("early");
    ck_assert_message_has("cm_sequential_create");
    ck_assert_message_has("cm_strategy_scope_begin");
    ck_assert_cm_ok(cm_strategy_scope_end(strategy));
    cm_model_destroy(model);
}
END_TEST

/* Question 5: four devices and a larger batch; all of them work, and the result is one device's. */
START_TEST(four_replicas_with_a_larger_batch)
{
    cm_data data = dummy(ROWS);
    static float weights[RIG_WEIGHTS];

    for (int run = 0; run < 2; run++) {
        cm_model *model =
            make(rig_strategy(run ? rig_parts(4) : RIG_ONE, NULL),
                 "dense units=64 activation=relu input_shape=20; dense units=2 activation=softmax");
        ck_assert_cm_ok(cm_model_compile(
            model, &(cm_compile_options){.optimizer = "adam epsilon=1e-3",
                                         .loss = "sparse_categorical_crossentropy"}));
        ck_assert_cm_ok(
            cm_model_fit(model, &data, &(cm_fit_options){.epochs = 2, .batch_size = 256}, NULL));
        if (!run) (void)rig_weights(model, 0, weights);
        for (int q = 0; q < 4 && run; q++)
            ck_assert_int_eq(cm_model_replica_rows(model, q), 500);
        if (run) rig_assert_close(model, weights, "four replicas");
        cm_model_destroy(model);
    }
}
END_TEST

/* ---- "/GPU:0,/GPU:1" ------------------------------------------------------------------------- */

int child_gpu_names(void)
{
    fault_layer layer;
    cm_strategy *strategy = NULL;
    cm_data data = dummy(64);
    cm_model *model = NULL;
    cm_status status = cm_mirrored_strategy_create("/GPU:0,/GPU:1", NULL, &strategy);

    if (!status) status = cm_strategy_scope_begin(strategy);
    if (!status) status = cm_sequential_create(NULL, &model);
    if (!status)
        status =
            cm_model_add(model, "dense units=10 activation=relu; dense units=2 activation=softmax");
    if (!status)
        status = cm_model_compile(model,
                                  &(cm_compile_options){.loss = "sparse_categorical_crossentropy"});
    if (!status) status = cm_strategy_scope_end(strategy);
    if (!status) status = cm_model_fit(model, &data, &(cm_fit_options){.epochs = 3}, NULL);
    if (status) printf("failed: %s\n", cm_last_message());
    printf("layer %d, replicas %d", fault_layer_find(&layer) ? layer.active() : -1,
           cm_strategy_replicas(strategy));
    for (int q = 0; q < cm_strategy_replicas(strategy); q++) {
        const cm_device_info *info = cm_strategy_device_info(strategy, q);
        printf(", %s %d.%d rows %lld", cm_device_kind_name(info->kind), info->platform,
               info->device, (long long)cm_model_replica_rows(model, q));
    }
    printf("\n");
    cm_model_destroy(model);
    cm_strategy_destroy(strategy);
    return status != CM_OK;
}

/* Where the build put the layer: in lib/ beside the folder of this program; else where
 * CM_FAULT_LAYER says. */
static const char *layer_path(void)
{
    static char path[1100];
    const char *given = getenv("CM_FAULT_LAYER");
    char self[1024];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (given) return given;
    ck_assert_int_gt(length, 0);
    self[length] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(path, sizeof path, "%s/../lib/fault_layer.so", self);
    return path;
}

START_TEST(names_of_gpus)
{
    char environment[2400];

    if (access(layer_path(), R_OK)) CM_TEST_SKIP("no fault layer at %s", layer_path());
    snprintf(environment, sizeof environment,
             "OPENCL_LAYERS='%s' 'CLMIRROR_FAULT=clGetDeviceInfo.CL_DEVICE_TYPE -> say GPU'",
             layer_path());
    const child_result *result = child_run(environment, "gpu_names");
    const char *want = "layer 1, replicas 2, GPU 0.0 rows 96, GPU 0.1 rows 96\n";
    ck_assert_msg(!result->status && !strcmp(result->text, want), "status %d: %s", result->status,
                  result->text);
}
END_TEST

Suite *suite_seed(void)
{
    Suite *suite = suite_create("seed");
    TCase *tests = tcase_create("seed");

    tcase_add_test(tests, basic_program_is_built_by_fit);
    tcase_add_loop_test(tests, explicit_devices, 0, 4);
    tcase_add_test(tests, a_gpu_that_is_not_there);
    tcase_add_test(tests, sample_program);
    tcase_add_test(tests, predictions_have_the_shape_of_the_input);
    tcase_add_test(tests, model_made_outside_the_scope);
    tcase_add_test(tests, four_replicas_with_a_larger_batch);
    tcase_add_test(tests, names_of_gpus);
    suite_add_tcase(suite, tests);
    return suite;
}
