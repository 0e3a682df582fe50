/* run.c - what fit, evaluate and predict share: a job with a progress bar, logs from sums.
 *
 * Called by the thread of the public call. */
#include <math.h>
#include <string.h>
#include "base/log.h"
#include "base/mem.h"
#include "train/train.h"

void cmi_logs_add(const cm_model *model, const double *sums, int64_t rows, bool validation,
                  cm_logs *logs)
{
    const cmi_shape *out = cmi_sequential_output(&model->layers);
    int64_t count = 1;
    int first = logs->count;

    (void)cmi_shape_count(out, &count);
    double items = (double)rows * (double)(out->rank ? count / out->dim[out->rank - 1] : 1);
    for (int a = 0; a <= model->metric_count && logs->count < CM_MAX_LOGS; a++) {
        double value = rows > 0 ? sums[0] / (double)rows : 0.0;
        if (a) value = cmi_metric_use_finish(&model->metrics[a - 1], sums[a], items);
        /* Sorted by name among those of this call. */
        const char *name = cmi_log_name(model, a, validation);
        int at = logs->count++;
        while (at > first && strcmp(logs->name[at - 1], name) > 0) {
            logs->name[at] = logs->name[at - 1];
            logs->value[at] = logs->value[at - 1];
            at--;
        }
        logs->name[at] = name;
        logs->value[at] = value;
    }
}

double cm_logs_get(const cm_logs *logs, const char *name)
{
    for (int i = 0; logs && name && i < logs->count; i++)
        if (!strcmp(logs->name[i], name)) return logs->value[i];
    return (double)NAN;
}

typedef struct ticker {
    cmi_steps *steps;
    cmi_progress *progress;
} ticker;

static int64_t rows_until(const cmi_steps *steps, int64_t step)
{
    int64_t rows = step * steps->source.batch_size;

    return rows < steps->source.rows ? rows : steps->source.rows;
}

/* Asks for sums, and draws those that came. */
static void on_tick(void *user)
{
    ticker *t = user;
    double sums[CMI_MAX_SUMS];
    int64_t step = -1;
    cm_logs logs = {0};

    if (t->steps->kind == CMI_PASS_PREDICT) {
        int64_t done = t->steps->begin + atomic_load(&t->steps->steps_done);
        if (done > t->progress->seen) cmi_progress_update(t->progress, done, &logs, false);
        return;
    }
    if (cmi_steps_sums(t->steps, &step, sums) && step + 1 > t->progress->seen) {
        cmi_logs_add(t->steps->model, sums, rows_until(t->steps, step + 1), false, &logs);
        cmi_progress_update(t->progress, step + 1, &logs, false);
    }
    atomic_store(&t->steps->snapshot_wanted, true);
}

static void warn_about_loss(cmi_steps *steps)
{
    int64_t step = atomic_load(&steps->bad_step);

    if (step < 0 || steps->stop_on_nan || steps->nan_told) return;
    steps->nan_told = true;
    cmi_log(CM_LOG_WARNING, "train",
            "the loss is not finite, first in epoch %d, step %lld; training goes on (option "
            "stop_on_nan ends it)",
            steps->epoch + 1, (long long)step + 1);
}

cm_status cmi_run_steps(cmi_steps *steps, cmi_progress *progress)
{
    cm_strategy *strategy = steps->model->strategy;
    ticker t = {steps, progress};
    bool draws = progress && progress->verbose == 1;

    cm_status status = cmi_strategy_run(strategy, cmi_steps_job, steps, draws ? on_tick : NULL, &t);
    warn_about_loss(steps);
    return status;
}

cm_status cmi_run_evaluate(cm_model *model, const cmi_source *source, bool validation,
                           cmi_progress *progress, cm_logs *logs)
{
    cmi_steps steps;
    double sums[CMI_MAX_SUMS];
    int64_t step = -1;

    CM_TRY(cmi_steps_init(&steps, model, CMI_PASS_EVALUATE));
    steps.source = *source;
    steps.fresh = true;
    steps.end = (source->rows + source->batch_size - 1) / source->batch_size;
    cm_status status = cmi_run_steps(&steps, progress);
    if (!status && (!cmi_steps_sums(&steps, &step, sums) || step + 1 != steps.end))
        status = cmi_error(CM_E_ABORTED, "stopped after step %lld of %lld", (long long)step + 1,
                           (long long)steps.end);
    if (!status) {
        cmi_logs_add(model, sums, source->rows, validation, logs);
        cmi_progress_update(progress, steps.end, logs, true);
    } else {
        cmi_progress_abandon(progress);
    }
    cmi_steps_free(&steps);
    return status;
}
