/* test_refuse.c - what add, compile and build refuse: unknown names and keys, values out of
 * range, shapes that do not fit, sizes that no device holds.  Every message must carry the
 * facts; a refused call leaves the model as it was. */
#include <stdio.h>
#include <string.h>
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

/* Parts that the message must have, separated by `|`. */
static void assert_message(const char *parts, const char *what)
{
    char part[128];

    for (const char *at = parts; *at; at += strcspn(at, "|") + (at[strcspn(at, "|")] == '|')) {
        snprintf(part, sizeof part, "%.*s", (int)strcspn(at, "|"), at);
        ck_assert_msg(cm_test_contains(cm_last_message(), part),
                      "%s: the message lacks \"%s\": \"%s\"", what, part, cm_last_message());
    }
}

static cm_model *empty(void)
{
    cm_model *model = NULL;

    ck_assert_cm_ok(cm_strategy_scope_begin(rig_strategy(RIG_ALL, NULL)));
    ck_assert_cm_ok(cm_sequential_create("net", &model));
    ck_assert_cm_ok(cm_strategy_scope_end(rig_strategy(RIG_ALL, NULL)));
    return model;
}

/* ---- add ------------------------------------------------------------------------------------- */

static const struct refusal {
    const char *text;
    cm_status status;
    const char *message;
} layers[] = {
    {"dens units=4", CM_E_NOT_FOUND, "dens|\"dense\"|layer"},
    {"conv2d filters=4 kernel_size=3,3", CM_E_NOT_FOUND, "conv2d|flatten|rescaling"},
    {"dense unit=4", CM_E_INVALID, "unit|\"units\"|dense"},
    {"dense", CM_E_INVALID, "units|dense"},
    {"dense units=0 input_shape=4", CM_E_INVALID, "units|0|1"}, /* B12 */
    {"dense units=-3", CM_E_INVALID, "units|-3"},
    {"dense units=many", CM_E_INVALID, "units|many"},
    {"dense units=4 units=5", CM_E_INVALID, "units"},
    {"dense units=4 use_bias=perhaps", CM_E_INVALID, "use_bias|perhaps"},
    {"dense units=4 activation=rellu input_shape=3", CM_E_NOT_FOUND, "rellu|\"relu\"|activation"},
    {"dense units=4 input_shape=0", CM_E_INVALID, "input_shape|0"}, /* B12: no columns */
    {"dropout rate=1.5", CM_E_INVALID, "rate|1.5|0|1"},
    {"dropout rate=nan", CM_E_INVALID, "rate|nan"},
    {"", CM_E_INVALID, "no layer|dense units=10"},
    {" ; # nothing\n", CM_E_INVALID, "no layer"},
    {"flatten input_shape=2,3; reshape target_shape=4,2", CM_E_SHAPE,
     "reshape|(None, 6)|(None, 4, 2)"},
    {"dense units=4 name=a input_shape=3; dense units=4 name=a", CM_E_INVALID, "a|already"},
    {"dense units=4 input_shape=3; dense units=4 input_shape=5", CM_E_SHAPE,
     "dense_1|(None, 5)|first layer"},
    {"flatten input_shape=2147483648", CM_E_INVALID, "input_shape=2147483648|2147483647"},
    /* Dimensions whose product overflows. */
    {"flatten input_shape=2147483647,2147483647,2147483647", CM_E_SHAPE,
     "flatten|2147483647, 2147483647, 2147483647"}};

START_TEST(layers_that_are_refused)
{
    const struct refusal *bad = &layers[_i];
    cm_model *model = empty();

    ck_assert_msg(cm_model_add(model, "%s", bad->text) == bad->status, "\"%s\": %s, \"%s\"",
                  bad->text, cm_status_name(cm_last_status()), cm_last_message());
    assert_message(bad->message, bad->text);
    assert_message("cm_model_add", bad->text);
    cm_model_destroy(model);
}
END_TEST

/* A refused layer is not added, and does not spoil the model. */
START_TEST(a_refused_layer_leaves_the_model)
{
    cm_model *model = empty();
    cm_data data = RIG_DATA(8);
    cm_weight_info info;

    ck_assert_cm_ok(cm_model_add(model, "dense units=3 input_shape=%d", RIG_FEATURES));
    ck_assert_cm_status(cm_model_add(model, "reshape target_shape=2"), CM_E_SHAPE);
    ck_assert_cm_status(cm_model_add(model, "dens units=3"), CM_E_NOT_FOUND);
    ck_assert_cm_ok(cm_model_add(model, "dense units=%d activation=softmax", RIG_CLASSES));
    ck_assert_cm_ok(
        cm_model_compile(model, &(cm_compile_options){.loss = "sparse_categorical_crossentropy"}));
    ck_assert_cm_ok(cm_model_fit(model, &data, NULL, NULL));
    ck_assert_int_eq(cm_model_weight_count(model), 4);
    ck_assert_cm_ok(cm_model_weight_info(model, 2, &info));
    ck_assert_str_eq(info.layer, "dense_1");
    ck_assert_cm_status(cm_model_add(model, "dense units=2"), CM_E_STATE);
    ck_assert_message_has("built already");
    cm_model_destroy(model);
}
END_TEST

/* ---- compile --------------------------------------------------------------------------------- */

static const struct {
    cm_compile_options options;
    cm_status status;
    const char *message;
} compiles[] = {
    {{.optimizer = "adan"}, CM_E_NOT_FOUND, "optimizer|adan|\"adam\"|sgd"},
    {{.optimizer = "adam rate=3"}, CM_E_INVALID, "rate|adam"},
    {{.optimizer = "adam learning_rates=3"}, CM_E_INVALID, "learning_rates|\"learning_rate\""},
    {{.optimizer = "sgd learning_rate=fast"}, CM_E_INVALID, "learning_rate|fast"},
    {{.optimizer = "sgd clipnorm=1 clipvalue=1"}, CM_E_INVALID, "clipnorm|clipvalue"},
    {{.optimizer = "sgd momentum=2"}, CM_E_INVALID, "momentum|2"},
    {{.loss = "mean_squared_eror"},
     CM_E_NOT_FOUND,
     "loss|mean_squared_eror|\"mean_squared_error\""},
    {{.loss = "mse reduction=average"}, CM_E_INVALID, "reduction|average|sum_over_batch_size"},
    {{.loss = "huber delta=-1"}, CM_E_INVALID, "delta|-1"},
    {{.loss = "mse", .metrics = "acuracy"}, CM_E_NOT_FOUND, "metric|acuracy|\"accuracy\""},
    {{.loss = "mse", .metrics = "mae, binary_accuracy thresold=2"},
     CM_E_INVALID,
     "thresold|\"threshold\""}};

START_TEST(compiles_that_are_refused)
{
    cm_data data = RIG_DATA(8);
    cm_model *model = empty();

    ck_assert_cm_ok(cm_model_add(model, M1_LAYERS));
    ck_assert_cm_ok(
        cm_model_compile(model, &(cm_compile_options){.loss = "sparse_categorical_crossentropy"}));
    ck_assert_cm_status(cm_model_compile(model, &compiles[_i].options), compiles[_i].status);
    assert_message(compiles[_i].message, compiles[_i].message);
    assert_message("cm_model_compile", "compile");
    /* Not half compiled: the earlier optimiser, loss and metrics are still there. */
    ck_assert_cm_ok(cm_model_fit(model, &data, NULL, NULL));
    cm_model_destroy(model);
    model = empty();
    ck_assert_cm_ok(cm_model_add(model, M1_LAYERS));
    ck_assert_cm_status(cm_model_compile(model, &compiles[_i].options), compiles[_i].status);
    ck_assert_cm_status(cm_model_fit(model, &data, NULL, NULL), CM_E_STATE);
    ck_assert_message_has("not compiled");
    cm_model_destroy(model);
}
END_TEST

START_TEST(strategies_that_are_refused)
{
    static const struct {
        const char *devices, *options;
        cm_status status;
        const char *message;
    } bad[] = {{"/GPU:0", NULL, CM_E_NO_DEVICE, "GPU:0|0.0"},
               {"/CPU:9", NULL, CM_E_NO_DEVICE, "CPU:9|0.0"},
               {"no such name", NULL, CM_E_NO_DEVICE, "no such name|0.0"},
               {"0.0,0.0", NULL, CM_E_INVALID, "0.0|twice"},
               {"0.0*0", NULL, CM_E_INVALID, "0"},
               {"0.0*65", NULL, CM_E_INVALID, "64|65"},
               {RIG_ONE, "collective=rign", CM_E_NOT_FOUND, "rign|\"ring\"|naive"},
               {RIG_ONE, "colective=ring", CM_E_INVALID, "colective|\"collective\""},
               {RIG_ONE, "bucket_bytes=0", CM_E_INVALID, "bucket_bytes|0"},
               {RIG_ONE, "timeout_ms=-1", CM_E_INVALID, "timeout_ms|-1"}};

    for (int i = 0; i < CM_TEST_COUNT(bad); i++) {
        cm_strategy *strategy = (cm_strategy *)(void *)&strategy;
        ck_assert_cm_status(cm_mirrored_strategy_create(bad[i].devices, bad[i].options, &strategy),
                            bad[i].status);
        ck_assert_ptr_null(strategy);
        assert_message(bad[i].message, bad[i].devices);
    }
    ck_assert_cm_status(cm_mirrored_strategy_create(NULL, NULL, NULL), CM_E_INVALID);
}
END_TEST

/* ---- states ---------------------------------------------------------------------------------- */

START_TEST(calls_in_the_wrong_state)
{
    cm_data data = RIG_DATA(8);
    float out[8 * RIG_FEATURES], weight[16];
    cm_logs logs;
    cm_weight_info info;
    cm_model *model = empty();

    ck_assert_cm_status(cm_model_fit(model, &data, NULL, NULL), CM_E_STATE);
    ck_assert_message_has("cm_model_compile");
    ck_assert_cm_status(cm_model_predict(model, &data, NULL, out, 8), CM_E_STATE);
    ck_assert_message_has("has no layers");
    ck_assert_cm_ok(cm_model_add(model, M1_LAYERS));
    ck_assert_cm_status(cm_model_evaluate(model, &data, NULL, &logs), CM_E_STATE);
    ck_assert_message_has("not compiled");
    ck_assert_cm_status(cm_model_train_on_batch(model, &data, &logs), CM_E_STATE);
    ck_assert_cm_status(cm_model_get_weight(model, 0, weight, 16), CM_E_STATE);
    ck_assert_message_has("no weights before it is built");
    ck_assert_cm_status(cm_model_weight_info(model, 0, &info), CM_E_STATE);
    ck_assert_cm_ok(cm_model_compile(model, NULL)); /* rmsprop, no loss: enough to predict */
    ck_assert_cm_status(cm_model_fit(model, &data, NULL, NULL), CM_E_STATE);
    ck_assert_message_has("without a loss");
    ck_assert_cm_ok(cm_model_predict(model, &data, NULL, out, 8 * RIG_CLASSES));
    cm_model_destroy(model);
    ck_assert_cm_status(cm_model_fit(NULL, &data, NULL, NULL), CM_E_INVALID);
    ck_assert_cm_status(cm_model_add(NULL, "flatten"), CM_E_INVALID);
    ck_assert_cm_status(cm_model_compile(NULL, NULL), CM_E_INVALID);
    ck_assert_cm_status(cm_model_predict(NULL, &data, NULL, out, 8), CM_E_INVALID);
    ck_assert_cm_status(cm_model_summary(NULL, NULL, NULL), CM_E_INVALID);
    ck_assert_cm_status(cm_sequential_create("x", NULL), CM_E_INVALID);
}
END_TEST

START_TEST(builds_that_are_refused)
{
    cm_model *model = empty();
    int64_t shape[CM_MAX_RANK + 1] = {4, 5, -1};

    ck_assert_cm_ok(cm_model_add(model, "flatten; dense units=4 activation=softmax"));
    ck_assert_cm_status(cm_model_build(model, shape, 3), CM_E_SHAPE);
    assert_message("-1|axis 2", "negative");
    shape[2] = 0;
    ck_assert_cm_status(cm_model_build(model, shape, 3), CM_E_SHAPE);
    ck_assert_cm_status(cm_model_build(model, NULL, 2), CM_E_INVALID);
    ck_assert_cm_status(cm_model_build(model, shape, CM_MAX_RANK + 1), CM_E_INVALID);
    for (int i = 0; i < 3; i++)
        shape[i] = (int64_t)1 << 31;
    ck_assert_cm_status(cm_model_build(model, shape, 3), CM_E_SHAPE);
    assert_message("flatten|2147483648", "overflow");
    ck_assert_int_eq(cm_model_weight_count(model), 0);
    shape[0] = 2, shape[1] = 3;
    ck_assert_cm_ok(cm_model_build(model, shape, 2));
    ck_assert_int_eq(cm_model_weight_count(model), 2);
    cm_model_destroy(model);
}
END_TEST

/* ---- D01 ------------------------------------------------------------------------------------- */

/* In a child with POCL_MEMORY_LIMIT=1: a kernel of 400 MB where 256 MiB are the most; the
 * message to standard output. */
int child_too_large(void)
{
    static const char *const devices[] = {RIG_ONE, "0.0*2"};
    static const char *const texts[] = {"dense units=10000 input_shape=10000",
                                        "dense units=40000 input_shape=40000",
                                        "dense units=2147483647 input_shape=2147483647"};

    for (int i = 0; i < 6; i++) {
        cm_strategy *strategy = NULL;
        cm_model *model = NULL;
        cm_status status = cm_mirrored_strategy_create(devices[i % 2], NULL, &strategy);
        if (!status) status = cm_strategy_scope_begin(strategy);
        if (!status) status = cm_sequential_create("large", &model);
        if (!status) status = cm_model_add(model, "%s", texts[i / 2]);
        if (!status) status = cm_model_build(model, NULL, 0);
        printf("%s: %s\n", cm_status_name(status), cm_last_message());
        cm_model_destroy(model);
        cm_strategy_destroy(strategy);
    }
    return 0;
}

START_TEST(d01_one_allocation_too_large)
{
    const child_result *result = child_run("POCL_MEMORY_LIMIT=1", "too_large");
    const char *text = result->text;

    ck_assert_msg(!result->status, "status %d: %s", result->status, text);
    for (int i = 0; i < 6; i++) {
        /* Layer, bytes wanted, bytes allowed, device; 2^62 numbers are too many to count in
         * bytes. */
        const char *const parts[] = {"\"dense\"", i < 4 ? "device 0 (" : "2147483647",
                                     i < 4 ? "268435456" : "",
                                     i < 2   ? "400040"
                                     : i < 4 ? "6400160"
                                             : ""};
        char line[1200];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
        ck_assert_msg(cm_test_contains(line, i < 4 ? "CM_E_MEMORY: " : "CM_E_"), "line %d: %s", i,
                      line);
        ck_assert_msg(!cm_test_contains(line, "CM_E_OPENCL"), "line %d: %s", i, line);
        for (int p = 0; p < 4; p++)
            ck_assert_msg(cm_test_contains(line, parts[p]), "line %d lacks \"%s\": %s", i, parts[p],
                          line);
        text += strcspn(text, "\n") + 1;
    }
}
END_TEST

Suite *suite_refuse(void)
{
    Suite *suite = suite_create("refuse");
    TCase *tests = tcase_create("refuse");

    tcase_add_loop_test(tests, layers_that_are_refused, 0, CM_TEST_COUNT(layers));
    tcase_add_test(tests, a_refused_layer_leaves_the_model);
    tcase_add_loop_test(tests, compiles_that_are_refused, 0, CM_TEST_COUNT(compiles));
    tcase_add_test(tests, strategies_that_are_refused);
    tcase_add_test(tests, calls_in_the_wrong_state);
    tcase_add_test(tests, builds_that_are_refused);
    tcase_add_test(tests, d01_one_allocation_too_large);
    suite_add_tcase(suite, tests);
    return suite;
}
