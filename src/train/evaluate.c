/* evaluate.c - loss and metrics, or outputs, for given data, without training.
 *
 * Batches are cut into shards as in training, so all devices work; rows are never shuffled and none
 * is dropped.  Runs on the caller's thread; the workers do the steps. */
#include "base/mem.h"
#include "train/train.h"

enum { DEFAULT_BATCH = 32 };

static cm_status check_options(const cm_evaluate_options *options)
{
    if (options->batch_size < 0)
        return cmi_error(CM_E_INVALID, "batch_size %lld; at least 1",
                         (long long)options->batch_size);
    if (options->verbose < 0 || options->verbose > 2)
        return cmi_error(CM_E_INVALID, "verbose %d; 0, 1 or 2", options->verbose);
    return CM_OK;
}

/* Checks and builds; *order is to be freed. */
static cm_status prepare(cm_model *model, const cm_data *data, int64_t batch_size,
                         cmi_source *source, uint32_t **order)
{
    if (source->labels && !model->objective.loss)
        return cmi_error(CM_E_STATE,
                         "\"%s\" is not compiled with a loss; call cm_model_compile first",
                         model->layers.name);
    CM_TRY(cmi_data_check(data, "data", source->labels));
    source->data = *data;
    source->rows = cmi_tensor_rows(&data->x);
    source->batch_size = batch_size < source->rows ? batch_size : source->rows;
    cmi_shape row = cmi_tensor_row_shape(&data->x);
    CM_TRY(cmi_model_ensure_built(model, &row, source->batch_size));
    CM_TRY(cmi_feed_check(model, data, "data", source->labels));
    CM_TRY(cmi_model_heal(model));
    CM_TRY(CMI_NEW(source->rows, order));
    cmi_epoch_order(0, 0, source->rows, false, *order);
    source->order = *order;
    return CM_OK;
}

static void begin_progress(cmi_progress *progress, const cm_evaluate_options *options,
                           const cmi_source *source)
{
    cmi_progress_begin(
        progress, options->verbose, options->output ? options->output : cmi_output_standard,
        options->output_user, (source->rows + source->batch_size - 1) / source->batch_size);
}

static cm_status evaluate(cm_model *model, const cm_data *data, const cm_evaluate_options *options,
                          const char *call, cm_logs *logs)
{
    cmi_source source = {.labels = true};
    cmi_progress progress;
    cm_logs results = {0};
    uint32_t *order = NULL;

    cmi_error_clear();
    if (logs) logs->count = 0;
    if (!data) return cmi_error(CM_E_INVALID, "%s: data is NULL", call);
    CM_TRY_CTX(check_options(options), "%s", call);
    CM_TRY(cmi_model_enter(model, call));
    atomic_store(&model->stop, false);
    cm_status status = prepare(
        model, data, options->batch_size ? options->batch_size : DEFAULT_BATCH, &source, &order);
    if (!status) {
        begin_progress(&progress, options, &source);
        status = cmi_run_evaluate(model, &source, false, &progress, &results);
    }
    cmi_free(order);
    cmi_strategy_leave(model->strategy);
    if (status) cmi_error_prefix("%s", call);
    if (!status && logs) *logs = results;
    return status;
}

cm_status cm_model_evaluate(cm_model *model, const cm_data *data,
                            const cm_evaluate_options *options, cm_logs *logs)
{
    static const cm_evaluate_options defaults;

    return evaluate(model, data, options ? options : &defaults, "evaluate", logs);
}

cm_status cm_model_test_on_batch(cm_model *model, const cm_data *data, cm_logs *logs)
{
    return evaluate(model, data, &(cm_evaluate_options){.batch_size = INT64_MAX}, "test_on_batch",
                    logs);
}

static cm_status run_predict(cm_model *model, const cmi_source *source, cmi_progress *progress,
                             float *out, size_t count)
{
    const cmi_shape *shape = cmi_sequential_output(&model->layers);
    int64_t per_row = 0;
    cmi_steps steps;

    (void)cmi_shape_count(shape, &per_row);
    if (count != (size_t)(source->rows * per_row))
        return cmi_error(CM_E_SHAPE,
                         "the output of %lld rows has %lld numbers, `out` has room for %zu",
                         (long long)source->rows, (long long)(source->rows * per_row), count);
    CM_TRY(cmi_steps_init(&steps, model, CMI_PASS_PREDICT));
    steps.source = *source;
    steps.end = progress->total;
    steps.output = out;
    cm_status status = cmi_run_steps(&steps, progress);
    if (!status && atomic_load(&steps.steps_done) < steps.end)
        status = cmi_error(CM_E_ABORTED, "stopped after step %lld of %lld",
                           (long long)atomic_load(&steps.steps_done), (long long)steps.end);
    if (status)
        cmi_progress_abandon(progress);
    else
        cmi_progress_update(progress, steps.end, &(cm_logs){0}, true);
    cmi_steps_free(&steps);
    return status;
}

cm_status cm_model_predict(cm_model *model, const cm_data *data, const cm_evaluate_options *options,
                           float *out, size_t count)
{
    static const cm_evaluate_options defaults;
    cmi_source source = {0};
    cmi_progress progress;
    uint32_t *order = NULL;

    cmi_error_clear();
    if (!options) options = &defaults;
    if (!data || !out) return cmi_error(CM_E_INVALID, "predict: %s is NULL", data ? "out" : "data");
    CM_TRY_CTX(check_options(options), "predict");
    CM_TRY(cmi_model_enter(model, "predict"));
    atomic_store(&model->stop, false);
    cm_status status = prepare(
        model, data, options->batch_size ? options->batch_size : DEFAULT_BATCH, &source, &order);
    if (!status) {
        begin_progress(&progress, options, &source);
        status = run_predict(model, &source, &progress, out, count);
    }
    cmi_free(order);
    cmi_strategy_leave(model->strategy);
    if (status) cmi_error_prefix("predict");
    return status;
}
