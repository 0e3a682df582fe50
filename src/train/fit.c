/* fit.c - training: epochs, validation, callbacks, history.
 *
 * The caller's thread makes the epoch's order, hands the workers one job per epoch (one per step
 * when somebody listens to batches), and in between evaluates, calls back and records.  Order and
 * masks are functions of the seed and of the counts of epochs and steps that this model was trained
 * so far, so they go on over a second fit. */
#include <math.h>
#include <string.h>
#include "base/log.h"
#include "base/mem.h"
#include "train/train.h"

enum { DEFAULT_BATCH = 32 };

/* One fit, from checked options. */
typedef struct fit {
    cm_model *model;
    cm_fit_options options;
    cmi_source train, validation; /* validation.rows 0: none */
    uint32_t *order, *validation_order;
    int64_t steps; /* per epoch */
    uint64_t seed;
    cm_history *history;
    cm_logs logs;
    bool stopped, nan_told;
} fit;

/* ---- options ---- */

static cm_status check_options(const cm_fit_options *o)
{
    if (o->batch_size < 0)
        return cmi_error(CM_E_INVALID, "batch_size %lld; at least 1", (long long)o->batch_size);
    if (o->validation_batch_size < 0)
        return cmi_error(CM_E_INVALID, "validation_batch_size %lld; at least 1",
                         (long long)o->validation_batch_size);
    if (o->epochs < CM_EPOCHS_NONE)
        return cmi_error(CM_E_INVALID, "epochs %d; 0 for the default 1, or more", o->epochs);
    if (o->initial_epoch < 0)
        return cmi_error(CM_E_INVALID, "initial_epoch %d; at least 0", o->initial_epoch);
    if (!(o->validation_split >= 0 && o->validation_split < 1))
        return cmi_error(CM_E_INVALID, "validation_split %g; at least 0 and less than 1",
                         o->validation_split);
    if (o->validation_freq < 0)
        return cmi_error(CM_E_INVALID, "validation_freq %d; at least 1", o->validation_freq);
    if (o->verbose < 0 || o->verbose > 2)
        return cmi_error(CM_E_INVALID, "verbose %d; 0, 1 or 2", o->verbose);
    if (o->class_weight_count < 0 || (o->class_weight_count && !o->class_weight))
        return cmi_error(CM_E_INVALID, "class_weight_count %d without class_weight",
                         o->class_weight_count);
    if (o->callbacks_count < 0 || (o->callbacks_count && !o->callbacks))
        return cmi_error(CM_E_INVALID, "callbacks_count %d without callbacks", o->callbacks_count);
    for (int c = 0; c < o->class_weight_count; c++)
        if (!isfinite(o->class_weight[c]))
            return cmi_error(CM_E_INVALID, "class_weight of class %d is %g", c, o->class_weight[c]);
    return CM_OK;
}

static void set_defaults(fit *f)
{
    cm_fit_options *o = &f->options;

    if (!o->batch_size) o->batch_size = DEFAULT_BATCH;
    if (!o->validation_batch_size) o->validation_batch_size = o->batch_size;
    if (!o->validation_freq) o->validation_freq = 1;
    if (!o->epochs) o->epochs = 1;
    if (!o->output) o->output = cmi_output_standard;
    f->seed = o->seed ? o->seed : f->model->seed;
}

/* ---- data ---- */

static cm_status split(fit *f, const cm_data *data, cm_data *validation)
{
    int64_t rows = cmi_tensor_rows(&data->x);
    double share = f->options.validation_split;

    f->train.data = *data;
    *validation = (cm_data){0};
    if (f->options.validation_data) {
        *validation = *f->options.validation_data;
        CM_TRY(cmi_data_check(validation, "validation_data", true));
    } else if (share > 0) {
        int64_t training = (int64_t)floor((double)rows * (1.0 - share));
        if (training < 1 || training >= rows)
            return cmi_error(CM_E_INVALID, "validation_split %g of %lld rows leaves one part empty",
                             share, (long long)rows);
        f->train.data = cm_data_slice(data, 0, training);
        *validation = cm_data_slice(data, training, rows);
    }
    return CM_OK;
}

static cm_status prepare_source(cmi_source *source, const cm_data *data, int64_t batch_size,
                                uint32_t **order)
{
    source->data = *data;
    source->rows = cmi_tensor_rows(&data->x);
    source->batch_size = batch_size < source->rows ? batch_size : source->rows;
    source->labels = true;
    CM_TRY(CMI_NEW(source->rows, order));
    cmi_epoch_order(0, 0, source->rows, false, *order);
    source->order = *order;
    return CM_OK;
}

static cm_status prepare(fit *f, const cm_data *data)
{
    cm_model *model = f->model;
    cm_data validation;

    if (!model->compiled)
        return cmi_error(CM_E_STATE, "\"%s\" is not compiled; call cm_model_compile first",
                         model->layers.name);
    if (!model->objective.loss)
        return cmi_error(CM_E_STATE, "\"%s\" was compiled without a loss", model->layers.name);
    CM_TRY(cmi_data_check(data, "data", true));
    if (f->options.class_weight && data->sample_weight.data)
        return cmi_error(
            CM_E_INVALID,
            "class_weight and sample_weight together; put the class weights into sample_weight");
    CM_TRY(split(f, data, &validation));
    CM_TRY(prepare_source(&f->train, &f->train.data, f->options.batch_size, &f->order));
    f->train.class_weight = f->options.class_weight;
    f->train.class_weight_count = f->options.class_weight_count;
    f->steps = (f->train.rows + f->train.batch_size - 1) / f->train.batch_size;
    cmi_shape row = cmi_tensor_row_shape(&data->x);
    CM_TRY(cmi_model_ensure_built(model, &row, f->train.batch_size));
    if (validation.x.data) {
        cmi_shape other = cmi_tensor_row_shape(&validation.x);
        CM_TRY(prepare_source(&f->validation, &validation, f->options.validation_batch_size,
                              &f->validation_order));
        CM_TRY_CTX(cmi_model_ensure_built(model, &other, 0), "validation data");
        char what[64] = "validation_data";
        if (!f->options.validation_data)
            (void)cmi_format(what, sizeof what, "validation part, rows from %lld on",
                             (long long)f->train.rows);
        CM_TRY(cmi_feed_check(model, &validation, what, true));
    }
    CM_TRY(cmi_feed_check(model, &f->train.data, "data", true));
    CM_TRY(cmi_model_heal(model));
    return cmi_model_ensure_slots(model);
}

/* ---- callbacks ---- */

/* Calls one member of all callbacks, in order; `arguments` is the bracketed list, in which `user`
 * is the callback's. */
#define CALL(f, member, arguments)                                                                 \
    do {                                                                                           \
        cmi_callback_begin((f)->model->strategy);                                                  \
        for (int i = 0; i < (f)->options.callbacks_count; i++) {                                   \
            void *user = (f)->options.callbacks[i].user;                                           \
            if ((f)->options.callbacks[i].member) (f)->options.callbacks[i].member arguments;      \
        }                                                                                          \
        cmi_callback_end();                                                                        \
    } while (0)

static bool batches_wanted(const fit *f)
{
    for (int i = 0; i < f->options.callbacks_count; i++)
        if (f->options.callbacks[i].batch_begin || f->options.callbacks[i].batch_end) return true;
    return false;
}

/* ---- an epoch ---- */

static int64_t rows_until(const fit *f, int64_t step)
{
    int64_t rows = step * f->train.batch_size;

    return rows < f->train.rows ? rows : f->train.rows;
}

/* Runs steps [begin, end) as one job; *done is the step after the last that ran. */
static cm_status run_range(fit *f, int epoch, int64_t begin, int64_t end, cmi_progress *progress,
                           int64_t *done)
{
    cm_model *model = f->model;
    cmi_steps steps;
    double sums[CMI_MAX_SUMS];
    int64_t step = -1;

    *done = begin;
    CM_TRY(cmi_steps_init(&steps, model, CMI_PASS_TRAIN));
    steps.source = f->train;
    steps.begin = begin;
    steps.end = end;
    steps.fresh = begin == 0;
    steps.stop_on_nan = f->options.stop_on_nan;
    steps.seed = f->seed;
    steps.first_update = model->updates;
    steps.epoch = epoch;
    steps.nan_told = f->nan_told;
    cm_status status = cmi_run_steps(&steps, progress);
    f->nan_told = steps.nan_told;
    model->updates = atomic_load(&model->applied[cmi_model_healthy(model)]);
    model->trained |= model->updates > 0;
    if (!status && cmi_steps_sums(&steps, &step, sums)) {
        *done = step + 1;
        f->logs.count = 0;
        cmi_logs_add(model, sums, rows_until(f, *done), false, &f->logs);
    }
    cmi_steps_free(&steps);
    return status;
}

static cm_status run_batches(fit *f, int epoch, cmi_progress *progress, int64_t *done)
{
    for (int64_t step = 0; step < f->steps && !atomic_load(&f->model->stop); step++) {
        CALL(f, batch_begin, (user, step));
        if (atomic_load(&f->model->stop)) break;
        CM_TRY(run_range(f, epoch, step, step + 1, progress, done));
        if (*done <= step) break;
        CALL(f, batch_end, (user, step, &f->logs));
        if (*done < f->steps) cmi_progress_update(progress, *done, &f->logs, false);
    }
    return CM_OK;
}

static cm_status validate(fit *f, int epoch)
{
    if (!f->validation.rows || (epoch + 1) % f->options.validation_freq) return CM_OK;
    CM_TRY_CTX(cmi_run_evaluate(f->model, &f->validation, true, NULL, &f->logs), "validation");
    return CM_OK;
}

static cm_status run_epoch(fit *f, int epoch)
{
    cm_model *model = f->model;
    cmi_progress progress;
    char header[64];
    int64_t done = 0;

    if (f->options.verbose && f->options.epochs > 1) {
        (void)cmi_format(header, sizeof header, "Epoch %d/%d\n", epoch + 1, f->options.epochs);
        f->options.output(f->options.output_user, header);
    }
    CALL(f, epoch_begin, (user, epoch));
    cmi_epoch_order(f->seed, model->epochs, f->train.rows, !f->options.no_shuffle, f->order);
    cmi_progress_begin(&progress, f->options.verbose, f->options.output, f->options.output_user,
                       f->steps);
    cm_status status = batches_wanted(f) ? run_batches(f, epoch, &progress, &done)
                                         : run_range(f, epoch, 0, f->steps, &progress, &done);
    if (status || done < f->steps) {
        f->stopped = true;
        cmi_progress_abandon(&progress);
        return status;
    }
    model->epochs++;
    status = validate(f, epoch);
    /* A stop during validation leaves the epoch without its val_ values; it was trained all the
     * same. */
    if (status == CM_E_ABORTED && atomic_load(&model->stop)) status = CM_OK;
    if (status) {
        cmi_progress_abandon(&progress);
        return status;
    }
    CALL(f, epoch_end, (user, epoch, &f->logs));
    CM_TRY(cmi_history_add(f->history, epoch, &f->logs));
    cmi_progress_update(&progress, f->steps, &f->logs, true);
    return CM_OK;
}

static cm_status run(fit *f, const cm_data *data)
{
    CM_TRY(prepare(f, data));
    CALL(f, train_begin, (user));
    for (int epoch = f->options.initial_epoch; epoch < f->options.epochs && !f->stopped; epoch++) {
        CM_TRY(run_epoch(f, epoch));
        f->stopped |= atomic_load(&f->model->stop);
    }
    CALL(f, train_end, (user, &f->logs));
    return CM_OK;
}

cm_status cm_model_fit(cm_model *model, const cm_data *data, const cm_fit_options *options,
                       cm_history **history)
{
    static const cm_fit_options defaults;
    fit f = {.model = model, .options = options ? *options : defaults};

    cmi_error_clear();
    if (history) *history = NULL;
    if (!data) return cmi_error(CM_E_INVALID, "fit: data is NULL");
    CM_TRY_CTX(check_options(&f.options), "fit");
    CM_TRY(cmi_model_enter(model, "fit"));
    atomic_store(&model->stop, false);
    set_defaults(&f);
    cm_status status = cmi_history_create(&f.history);
    if (!status) status = run(&f, data);
    cmi_free(f.order);
    cmi_free(f.validation_order);
    cmi_strategy_leave(model->strategy);
    /* A stopped validation, or a callback's own call, may have left a record behind. */
    if (status)
        cmi_error_prefix("fit");
    else
        cmi_error_clear();
    if (history)
        *history = f.history;
    else
        cm_history_destroy(f.history);
    return status;
}

/* ---- one batch ---- */

cm_status cm_model_train_on_batch(cm_model *model, const cm_data *data, cm_logs *logs)
{
    fit f = {.model = model, .options = {.no_shuffle = true}};
    int64_t done = 0;

    cmi_error_clear();
    if (logs) logs->count = 0;
    if (!data) return cmi_error(CM_E_INVALID, "train_on_batch: data is NULL");
    CM_TRY(cmi_model_enter(model, "train_on_batch"));
    atomic_store(&model->stop, false);
    set_defaults(&f);
    f.options.batch_size = INT64_MAX;
    cm_status status = prepare(&f, data);
    if (!status) status = run_range(&f, (int)model->epochs, 0, 1, NULL, &done);
    if (!status && logs) *logs = f.logs;
    cmi_free(f.order);
    cmi_strategy_leave(model->strategy);
    if (status) cmi_error_prefix("train_on_batch");
    return status;
}
