/* job.c - the job of a worker: a range of steps, run without the main thread.
 *
 * DESIGN.  The agreement.  All workers must run the same steps and look at their sums after the
 * same step, although a stop or the progress bar's wish for numbers may come at any moment.  One
 * 64-bit word decides:
 *
 *     bit 63       stop
 *     bits 32..62  snapshot: one more than the step after which sums are published
 *     bits 0..31   go: how many steps are allowed
 *
 * A worker runs step s if s < go.  The first that wants step go raises it by compare-exchange,
 * which fails if stop was set meanwhile; in the same exchange it marks s as the snapshot step if
 * main asked for one.  A step that was allowed is run by all; after a stop no further one is.
 *
 * The sums of a step are copied to the worker's cell under the job's mutex; main uses them when all
 * cells stand at the same step. */
#include <string.h>
#include "base/mem.h"
#include "train/train.h"

#define STOP        ((uint64_t)1 << 63)
#define GO(w)       ((int64_t)((w)&0xffffffffu))
#define SNAPSHOT(w) ((int64_t)((w) >> 32 & 0x7fffffffu))

cm_status cmi_steps_init(cmi_steps *steps, cm_model *model, cmi_pass_kind kind)
{
    memset(steps, 0, sizeof *steps);
    steps->model = model;
    steps->kind = kind;
    atomic_init(&steps->bad_step, -1);
    CM_TRY(cmi_mutex_init(&steps->mutex));
    cm_status status = CMI_NEW(model->strategy->ranks, &steps->cells);
    if (status) cmi_mutex_destroy(&steps->mutex);
    return status;
}

void cmi_steps_free(cmi_steps *steps)
{
    if (!steps->cells) return;
    cmi_free(steps->cells);
    cmi_mutex_destroy(&steps->mutex);
    steps->cells = NULL;
}

void cmi_steps_stop(cmi_steps *steps)
{
    atomic_fetch_or(&steps->word, STOP);
}

bool cmi_steps_agree(cmi_steps *steps, int64_t step, bool *snapshot)
{
    int64_t index = step - steps->begin;
    uint64_t word = atomic_load(&steps->word);

    for (;;) {
        if (index < GO(word)) {
            *snapshot = SNAPSHOT(word) == index + 1;
            return true;
        }
        /* Steps of evaluation and prediction have no collective that would end them when another
         * rank has failed. */
        if (word & STOP || atomic_load(&steps->model->stop) ||
            cmi_comm_aborted(steps->model->strategy->comm)) {
            /* A stop that was only seen here must hold for the others too. */
            if (word & STOP) return false;
            cmi_steps_stop(steps);
            word = atomic_load(&steps->word);
            continue;
        }
        bool wanted = atomic_load(&steps->snapshot_wanted);
        uint64_t shot = (uint64_t)(wanted ? index + 1 : SNAPSHOT(word));
        uint64_t next = shot << 32 | (uint64_t)(index + 1);
        if (atomic_compare_exchange_weak(&steps->word, &word, next)) {
            if (wanted) atomic_store(&steps->snapshot_wanted, false);
            *snapshot = wanted;
            return true;
        }
    }
}

static cmi_sum_set sum_set(const cmi_steps *steps)
{
    return steps->kind == CMI_PASS_TRAIN ? CMI_SUMS_TRAIN : CMI_SUMS_EVALUATE;
}

static cm_status publish(cmi_steps *steps, int rank, int64_t step)
{
    double sums[CMI_MAX_SUMS];

    CM_TRY(cmi_replica_read_sums(steps->model->replicas[rank], sum_set(steps), sums));
    cmi_mutex_lock(&steps->mutex);
    memcpy(steps->cells[rank].sums, sums, sizeof sums);
    steps->cells[rank].step = step + 1;
    cmi_mutex_unlock(&steps->mutex);
    return CM_OK;
}

bool cmi_steps_sums(cmi_steps *steps, int64_t *step, double *sums)
{
    int arrays = 1 + steps->model->metric_count;
    bool same = true;

    memset(sums, 0, (size_t)arrays * sizeof *sums);
    cmi_mutex_lock(&steps->mutex);
    for (int r = 0; r < steps->model->strategy->ranks; r++) {
        same = same && steps->cells[r].step == steps->cells[0].step && steps->cells[r].step > 0;
        for (int a = 0; a < arrays; a++)
            sums[a] += steps->cells[r].sums[a];
    }
    *step = steps->cells[0].step - 1;
    cmi_mutex_unlock(&steps->mutex);
    return same;
}

static cm_status run_steps(cmi_steps *steps, int rank)
{
    cm_model *model = steps->model;
    int64_t last = steps->begin - 1;
    size_t rows = (size_t)cmi_shard_max(steps->source.batch_size, model->strategy->ranks);
    cmi_feed_spec feed = cmi_feed_spec_of(model, &steps->source.data);

    CM_TRY(cmi_replica_reserve(model->replicas[rank], rows, &feed, &model->objective));
    if (steps->fresh && steps->kind != CMI_PASS_PREDICT)
        CM_TRY(cmi_replica_clear_sums(model->replicas[rank], sum_set(steps)));
    for (int64_t step = steps->begin; step < steps->end; step++) {
        bool snapshot = false;
        if (!cmi_steps_agree(steps, step, &snapshot)) break;
        CM_TRY(cmi_step(steps, rank, step));
        last = step;
        if (!rank) atomic_store(&steps->steps_done, step + 1 - steps->begin);
        if (snapshot && steps->kind != CMI_PASS_PREDICT) CM_TRY(publish(steps, rank, step));
    }
    if (steps->kind == CMI_PASS_PREDICT) return CM_OK;
    if (last >= steps->begin) CM_TRY(publish(steps, rank, last));
    return CM_OK;
}

cm_status cmi_steps_job(void *argument, int rank)
{
    cmi_steps *steps = argument;
    cm_status status = run_steps(steps, rank);

    /* Steps without a collective would go on on the other ranks. */
    if (status) cmi_steps_stop(steps);
    return status;
}
