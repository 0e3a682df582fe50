/* train.c - whole trainings of the golden files, each on 1, 2, 3 and 7 replicas and on all
 * devices of the default selection, since the number of replicas must not matter.
 *
 * One fit gives everything: a batch callback hears the mean of the epoch so far, weighted by
 * rows, so the loss of step k is the difference of two such sums; the library keeps them in
 * double precision, so nothing is lost by that.
 *
 * Main thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <clmirror/clmirror.h>
#include "golden/golden.h"

enum { MAX_STEPS = 1024, MAX_CLASSES = 64, NAME_BYTES = 64 };

/* What a file holds, read once. */
typedef struct training {
    const cJSON *file;
    golden_tensor x, y, sample_weight, validation_x, validation_y;
    cm_data data, validation;
    double class_weight[MAX_CLASSES];
    int class_weight_count;
    int64_t batch_size;
    int epochs;
} training;

/* A model on some replicas, and what its callback heard. */
typedef struct run {
    golden_report *report;
    const training *t;
    cm_strategy *strategy;
    cm_model *model;
    double step_loss[MAX_STEPS];
    double sum; /* loss times rows in this epoch */
    int64_t rows;
    int steps;
} run;

/* ---- reading --------------------------------------------------------------------------------- */

static const char *text_of(const cJSON *file, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(file, key));
}

static int int_of(const cJSON *file, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(file, key);

    return cJSON_IsNumber(item) ? (int)item->valuedouble : 0;
}

static cm_tensor describe(const golden_tensor *tensor)
{
    return tensor->whole
               ? cm_tensor_make(CM_DTYPE_INT32, tensor->ints, tensor->shape.dim, tensor->shape.rank)
               : cm_tensor_make(CM_DTYPE_FLOAT32, tensor->values, tensor->shape.dim,
                                tensor->shape.rank);
}

/* A tensor that may be missing. */
static bool read_optional(const training *t, const char *key, golden_report *report,
                          golden_tensor *tensor, cm_tensor *out)
{
    const cJSON *item = cJSON_GetObjectItem(t->file, key);

    if (!item) return true;
    if (!golden_tensor_read(item, key, report, tensor)) return false;
    *out = describe(tensor);
    return true;
}

static bool read_training(const cJSON *file, golden_report *report, training *t)
{
    const cJSON *weights = cJSON_GetObjectItem(file, "class_weight"), *weight;

    memset(t, 0, sizeof *t);
    t->file = file;
    t->batch_size = int_of(file, "batch_size");
    t->epochs = int_of(file, "epochs");
    for (int c = 0; c < MAX_CLASSES; c++)
        t->class_weight[c] = 1;
    cJSON_ArrayForEach(weight, weights)
    {
        int class = atoi(weight->string);
        if (class < 0 || class >= MAX_CLASSES) continue;
        t->class_weight[class] = weight->valuedouble;
        if (class >= t->class_weight_count) t->class_weight_count = class + 1;
    }
    return read_optional(t, "x", report, &t->x, &t->data.x) &&
           read_optional(t, "y", report, &t->y, &t->data.y) &&
           read_optional(t, "sample_weight", report, &t->sample_weight, &t->data.sample_weight) &&
           read_optional(t, "validation_x", report, &t->validation_x, &t->validation.x) &&
           read_optional(t, "validation_y", report, &t->validation_y, &t->validation.y);
}

static void free_training(training *t)
{
    golden_tensor_free(&t->x);
    golden_tensor_free(&t->y);
    golden_tensor_free(&t->sample_weight);
    golden_tensor_free(&t->validation_x);
    golden_tensor_free(&t->validation_y);
}

/* ---- what the library has not got ------------------------------------------------------------ */

static void metric_text(const cJSON *file, char *text, size_t bytes)
{
    const cJSON *metric;
    size_t at = 0;

    text[0] = '\0';
    cJSON_ArrayForEach(metric, cJSON_GetObjectItem(file, "metrics"))
    {
        int length =
            snprintf(text + at, bytes - at, "%s%s", at ? "," : "", cJSON_GetStringValue(metric));
        if (length > 0 && (size_t)length < bytes - at) at += (size_t)length;
    }
}

/* After a failed call: true, and the name that `spec` begins with is noted when the library does
 * not know it. */
static bool missing(golden_report *report, cm_status status, const char *spec)
{
    char name[NAME_BYTES];

    if (!status) return false;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(spec, " "), spec);
    report->spec = status == CM_E_NOT_FOUND ? name : spec;
    (void)golden_refused(report, status);
    report->spec = NULL;
    return true;
}

/* Tries every name on a model that is thrown away. */
static bool supported(const training *t, golden_report *report)
{
    const cJSON *item;
    cm_model *model = NULL;
    bool good = true;

    if (missing(report, cm_sequential_create("golden", &model), "model")) return false;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(t->file, "layers")) good &= !missing(
        report, cm_model_add(model, "%s", cJSON_GetStringValue(item)), cJSON_GetStringValue(item));
    const char *optimizer = text_of(t->file, "optimizer"), *loss = text_of(t->file, "loss");
    good &= !missing(report, cm_model_compile(model, &(cm_compile_options){.optimizer = optimizer}),
                     optimizer);
    good &= !missing(report, cm_model_compile(model, &(cm_compile_options){.loss = loss}), loss);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(t->file, "metrics")) good &= !missing(
        report,
        cm_model_compile(model, &(cm_compile_options){.metrics = cJSON_GetStringValue(item)}),
        cJSON_GetStringValue(item));
    cm_model_destroy(model);
    return good;
}

/* ---- making ---------------------------------------------------------------------------------- */

static cm_status add_and_compile(run *r)
{
    const cJSON *file = r->t->file, *layer;
    char metrics[512];

    metric_text(file, metrics, sizeof metrics);
    CM_TRY(cm_sequential_create("golden", &r->model));
    cJSON_ArrayForEach(layer, cJSON_GetObjectItem(file, "layers"))
        CM_TRY(cm_model_add(r->model, "%s", cJSON_GetStringValue(layer)));
    return cm_model_compile(r->model, &(cm_compile_options){.optimizer = text_of(file, "optimizer"),
                                                            .loss = text_of(file, "loss"),
                                                            .metrics = metrics});
}

static cm_status make(run *r, const char *devices)
{
    cmi_shape row = golden_row_shape(&r->t->x);

    CM_TRY(cm_mirrored_strategy_create(devices, NULL, &r->strategy));
    CM_TRY(cm_strategy_scope_begin(r->strategy));
    cm_status status = add_and_compile(r);
    if (status) return status;
    CM_TRY(cm_strategy_scope_end(r->strategy));
    return cm_model_build(r->model, row.dim, row.rank);
}

static bool set_initial(run *r)
{
    const cJSON *initial = cJSON_GetObjectItem(r->t->file, "initial");
    int count = cm_model_weight_count(r->model);

    if (cJSON_GetArraySize(initial) != count) {
        golden_fail(r->report, "the file has %d tensors, the model %d", cJSON_GetArraySize(initial),
                    count);
        return false;
    }
    for (int i = 0; i < count; i++) {
        golden_tensor tensor;
        if (!golden_tensor_read(cJSON_GetArrayItem(initial, i), "initial", r->report, &tensor))
            return false;
        cm_status status = cm_model_set_weight(r->model, i, tensor.values, tensor.count);
        golden_tensor_free(&tensor);
        if (golden_refused(r->report, status)) return false;
    }
    return true;
}

/* ---- training and comparing ------------------------------------------------------------------ */

static void hear_batch(void *user, int64_t batch, const cm_logs *logs)
{
    run *r = user;
    int64_t rows = (batch + 1) * r->t->batch_size, all = r->t->x.shape.dim[0];

    if (!batch) r->sum = 0, r->rows = 0;
    if (rows > all) rows = all;
    double sum = cm_logs_get(logs, "loss") * (double)rows;
    if (r->steps < MAX_STEPS) r->step_loss[r->steps++] = (sum - r->sum) / (double)(rows - r->rows);
    r->sum = sum;
    r->rows = rows;
}

/* Losses to 2e-5 of their size; shares of hits, counted exactly, to float's rounding of the
 * file. */
static double tolerance(const char *name, double want)
{
    return strstr(name, "accuracy") ? 1e-6 : 2e-5 * fabs(want);
}

static void compare_steps(run *r)
{
    const cJSON *want;
    char name[NAME_BYTES];
    int step = 0;

    cJSON_ArrayForEach(want, cJSON_GetObjectItem(r->t->file, "step_loss"))
    {
        snprintf(name, sizeof name, "loss of step %d", step + 1);
        if (step < r->steps)
            golden_compare_number(r->report, name, r->step_loss[step], want->valuedouble,
                                  2e-5 * fabs(want->valuedouble));
        step++;
    }
    if (step != r->steps) golden_fail(r->report, "%d steps, expected %d", r->steps, step);
}

static void compare_history(run *r, const cm_history *history)
{
    const cJSON *column, *want, *columns = cJSON_GetObjectItem(r->t->file, "history");
    char name[2 * NAME_BYTES];

    cJSON_ArrayForEach(column, columns)
    {
        int count = 0, epoch = 0;
        const double *values = cm_history_values(history, column->string, &count);
        if (count != cJSON_GetArraySize(column))
            golden_fail(r->report, "history has %d values of %s, expected %d", count,
                        column->string, cJSON_GetArraySize(column));
        cJSON_ArrayForEach(want, column)
        {
            if (epoch >= count) break;
            snprintf(name, sizeof name, "%.60s of epoch %d", column->string, epoch + 1);
            golden_compare_number(r->report, name, values[epoch++], want->valuedouble,
                                  tolerance(column->string, want->valuedouble));
        }
    }
    if (cm_history_names(history) != cJSON_GetArraySize(columns))
        golden_fail(r->report, "history has %d columns, expected %d", cm_history_names(history),
                    cJSON_GetArraySize(columns));
}

/* As in Keras' run, evaluate gets x and y without sample weights. */
static void compare_evaluate(run *r)
{
    const cJSON *want, *list = cJSON_GetObjectItem(r->t->file, "evaluate");
    cm_data data = {.x = r->t->data.x, .y = r->t->data.y};
    cm_logs logs;

    if (golden_refused(r->report,
                       cm_model_evaluate(r->model, &data,
                                         &(cm_evaluate_options){.batch_size = r->t->batch_size},
                                         &logs)))
        return;
    cJSON_ArrayForEach(want, list)
        golden_compare_number(r->report, want->string, cm_logs_get(&logs, want->string),
                              want->valuedouble, tolerance(want->string, want->valuedouble));
}

static void compare_predict(run *r)
{
    golden_tensor want;
    cm_data first = cm_data_slice(&r->t->data, 0, 10);

    if (!golden_tensor_read(cJSON_GetObjectItem(r->t->file, "predict_first_10"), "predict_first_10",
                            r->report, &want))
        return;
    float *got = calloc(want.count + 1, sizeof *got);
    CM_ASSERT(got);
    if (!golden_refused(r->report, cm_model_predict(r->model, &first, NULL, got, want.count)))
        golden_compare(r->report, "predict_first_10", got, &want, 1e-4 * golden_largest(&want, 0),
                       0);
    free(got);
    golden_tensor_free(&want);
}

static void compare_weights(run *r)
{
    const cJSON *item;
    char name[2 * NAME_BYTES];
    int index = 0;

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(r->t->file, "final"))
    {
        golden_tensor want;
        cm_weight_info info;
        if (!golden_tensor_read(item, "final", r->report, &want)) return;
        float *got = calloc(want.count + 1, sizeof *got);
        CM_ASSERT(got);
        if (!golden_refused(r->report, cm_model_weight_info(r->model, index, &info)) &&
            !golden_refused(r->report, cm_model_get_weight(r->model, index, got, want.count))) {
            snprintf(name, sizeof name, "final %.50s of %.50s", info.name, info.layer);
            golden_compare(r->report, name, got, &want, 1e-4 * golden_largest(&want, 0), 0);
        }
        free(got);
        golden_tensor_free(&want);
        index++;
    }
}

static void train(run *r)
{
    const training *t = r->t;
    cm_callbacks callbacks = {.user = r, .batch_end = hear_batch};
    cm_fit_options options = {.epochs = t->epochs,
                              .batch_size = t->batch_size,
                              .no_shuffle = !cJSON_IsTrue(cJSON_GetObjectItem(t->file, "shuffle")),
                              .validation_data = t->validation.x.data ? &t->validation : NULL,
                              .class_weight = t->class_weight_count ? t->class_weight : NULL,
                              .class_weight_count = t->class_weight_count,
                              .callbacks = &callbacks,
                              .callbacks_count = 1};
    cm_history *history = NULL;

    if (!golden_refused(r->report, cm_model_fit(r->model, &t->data, &options, &history))) {
        compare_steps(r);
        compare_history(r, history);
        compare_evaluate(r);
        compare_predict(r);
        compare_weights(r);
    }
    cm_history_destroy(history);
}

/* `parts` replicas on the device of the other golden values; 0: all devices of the default
 * selection. */
static void run_on(const training *t, int parts, golden_report *report)
{
    static run r; /* too large for the stack */
    char devices[64], spec[64];
    const cm_device_info *first = &cmi_device_get_facts(report->pick->device)->info;

    memset(&r, 0, sizeof r);
    r.report = report;
    r.t = t;
    snprintf(spec, sizeof spec, parts ? "%d replicas" : "all devices", parts);
    snprintf(devices, sizeof devices, "%d.%d*%d", first->platform, first->device, parts);
    report->spec = spec;
    if (!golden_refused(report, make(&r, parts ? devices : NULL))) {
        if (parts && cm_strategy_replicas(r.strategy) != parts)
            golden_fail(report, "there are %d", cm_strategy_replicas(r.strategy));
        if (set_initial(&r)) train(&r);
    }
    report->cases += !report->failed;
    report->spec = NULL;
    cm_model_destroy(r.model);
    cm_strategy_destroy(r.strategy);
}

int golden_train(const cJSON *file, golden_report *report)
{
    static const int parts[] = {1, 2, 3, 7, 0};
    training t;

    if (read_training(file, report, &t) && supported(&t, report))
        for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !report->failed; i++)
            run_on(&t, parts[i], report);
    free_training(&t);
    return report->failed;
}
