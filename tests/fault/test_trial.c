/* test_trial.c - the small training that the fault tests break; see trial.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/mem.h"
#include "fault/trial.h"

static float features[TRIAL_ROWS * 8];
static int32_t labels[TRIAL_ROWS];

static cm_data all_rows(void)
{
    for (int i = 0; i < TRIAL_ROWS; i++) {
        for (int j = 0; j < 8; j++)
            features[i * 8 + j] = (float)((31 * i + 17 * j + 7 * i * j) % 97 - 48) / 64.0f;
        labels[i] = (5 * i + i / 3) % 4;
    }
    return (cm_data){.x = CM_FLOAT32(features, TRIAL_ROWS, 8), .y = CM_INT32(labels, TRIAL_ROWS)};
}

static cm_status set_weights(cm_model *model)
{
    static const size_t counts[TRIAL_TENSORS] = {8 * 16, 16, 16 * 4, 4};
    float values[8 * 16];

    for (int t = 0; t < TRIAL_TENSORS; t++) {
        for (size_t k = 0; k < counts[t]; k++)
            values[k] =
                t % 2 ? 0.0f : (float)((int)((13 * k + 29 * (size_t)(t / 2)) % 41) - 20) / 128.0f;
        cm_status status = cm_model_set_weight(model, t, values, counts[t]);
        if (status) return status;
    }
    return CM_OK;
}

static cm_status make_model(trial *r)
{
    cm_compile_options options = {.optimizer = r->optimizer ? r->optimizer
                                                            : "sgd learning_rate=0.1 momentum=0.9",
                                  .loss = "sparse_categorical_crossentropy",
                                  .metrics = "accuracy"};
    cm_status status = cm_sequential_create("m1", &r->model);

    if (!status) status = cm_model_add(r->model, "dense units=16 activation=relu input_shape=8");
    if (!status) status = cm_model_add(r->model, "dense units=4 activation=softmax");
    if (!status) status = cm_model_compile(r->model, &options);
    return status;
}

cm_status trial_open(trial *r, const char *devices, const char *options)
{
    cm_status status =
        r->strategy ? CM_OK : cm_mirrored_strategy_create(devices, options, &r->strategy);

    if (status) return status;
    /* No assertion here: children of the exit tests are no Check programs. */
    status = cm_strategy_scope_begin(r->strategy);
    if (status) return status;
    status = make_model(r);
    cm_status ended = cm_strategy_scope_end(r->strategy);
    if (!status) status = ended;
    if (!status) status = cm_model_build(r->model, NULL, 0);
    return status ? status : set_weights(r->model);
}

static void before_batch(void *user, int64_t batch)
{
    trial *r = user;

    (void)batch;
    if (r->steps_begun++ == r->break_at) (void)fault_layer_set(r->rules);
}

cm_status trial_fit(trial *r)
{
    cm_data data = all_rows();
    cm_callbacks callbacks = {.user = r, .batch_begin = before_batch};
    cm_fit_options options = {.epochs = 2, .batch_size = TRIAL_BATCH, .no_shuffle = true};

    r->steps_begun = 0;
    if (r->rules) {
        options.callbacks = &callbacks;
        options.callbacks_count = 1;
    }
    return cm_model_fit(r->model, &data, &options, NULL);
}

cm_status trial_step(trial *r, int step)
{
    cm_data data = all_rows();
    int64_t begin = step % 3 * TRIAL_BATCH;
    cm_data rows = cm_data_slice(&data, begin, begin + TRIAL_BATCH);

    return cm_model_train_on_batch(r->model, &rows, NULL);
}

static void swallow(void *user, const char *text)
{
    (void)user;
    (void)text;
}

cm_status trial_look(trial *r)
{
    float out[TRIAL_ROWS * 4];
    cm_data data = all_rows();
    cm_logs logs;
    cm_evaluate_options options = {.batch_size = TRIAL_BATCH};
    cm_status status = cm_model_evaluate(r->model, &data, &options, &logs);

    if (!status)
        status = cm_model_predict(r->model, &data, &options, out, sizeof out / sizeof out[0]);
    if (!status) status = cm_model_summary(r->model, swallow, NULL);
    return status;
}

void trial_close(trial *r)
{
    cm_model_destroy(r->model);
    cm_strategy_destroy(r->strategy);
    r->model = NULL;
    r->strategy = NULL;
}

cm_status trial_weights(trial *r, int replica, float *out)
{
    for (int t = 0; t < TRIAL_TENSORS; t++) {
        cm_weight_info info;
        cm_status status = cm_model_weight_info(r->model, t, &info);
        if (!status && replica < 0) status = cm_model_get_weight(r->model, t, out, info.count);
        if (!status && replica >= 0)
            status = cm_model_get_replica_weight(r->model, replica, t, out, info.count);
        if (status) return status;
        out += info.count;
    }
    return CM_OK;
}

void trial_record(const char *devices, const char *options, trial_path *path)
{
    trial r = {0};

    ck_assert_cm_ok(trial_open(&r, devices, options));
    ck_assert_int_eq(fault_layer_active(), 1);
    for (int step = 0; step <= TRIAL_STEPS; step++) {
        ck_assert_cm_ok(trial_weights(&r, -1, path->at[step]));
        if (step < TRIAL_STEPS) ck_assert_cm_ok(trial_step(&r, step));
    }
    trial_close(&r);
}

int trial_find(const trial_path *path, const float *weights)
{
    for (int step = 0; step <= TRIAL_STEPS; step++)
        if (!memcmp(path->at[step], weights, sizeof path->at[step])) return step;
    return -1;
}

int trial_same_step(trial *r, const trial_path *path)
{
    float weights[TRIAL_WEIGHTS];
    int first = -1;

    for (int replica = 0; replica < cm_strategy_replicas(r->strategy); replica++) {
        ck_assert_cm_ok(trial_weights(r, replica, weights));
        int step = trial_find(path, weights);
        ck_assert_msg(step >= 0, "replica %d holds the weights of no completed step", replica);
        if (!replica) first = step;
        ck_assert_msg(step == first, "replica 0 stands after step %d, replica %d after step %d",
                      first, replica, step);
    }
    return first;
}

trial_level trial_now(void)
{
    return (trial_level){fault_layer_count("live"), cmi_mem_live()};
}

void trial_released(trial_level before, const char *what)
{
    trial_level now = trial_now();

    ck_assert_msg(now.objects == before.objects,
                  "%s: %ld OpenCL objects were left (%ld buffers, %ld kernels, %ld events)", what,
                  now.objects - before.objects, fault_layer_count("buffer"),
                  fault_layer_count("kernel"), fault_layer_count("event"));
    ck_assert_msg(now.blocks == before.blocks, "%s: %lld blocks of host memory were left", what,
                  (long long)(now.blocks - before.blocks));
}

void trial_rules(const char *fmt, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, fmt);
    vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    ck_assert_msg(fault_layer_set(text) == 0, "malformed rules: %s", text);
}

long trial_fired(void)
{
    return fault_layer_count("rules");
}

double trial_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void drop(void *user, cm_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

void trial_quiet(void)
{
    cm_log_set_sink(drop, NULL);
}
