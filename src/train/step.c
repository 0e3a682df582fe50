/* step.c - one training step of one replica: the story of the library.
 *
 * Every rank runs this function for every step, on its own thread and its own device; they meet in stage 6 only.  The
 * global batch is rows [begin, end) of the epoch's order; a rank takes its shard of them.  Its loss is divided by the
 * divisor D of the GLOBAL batch, so gradients only need to be added: shards of any size, also empty ones, are exact.
 *
 * No parameter is written before stage 7, and stage 7 begins for all ranks or for none: the barrier of stage 6
 * completes for all or aborts for all.  So after any failure the parameters are those of the last completed step. */
#include <math.h>
#include "base/knob.h"
#include "train/train.h"

typedef struct batch {
    int64_t begin, end;   /* places in the order, global */
    int64_t first, last;  /* of this rank's shard */
    double divisor;       /* D */
} batch;

static double divisor_of(const cmi_steps *steps, const batch *b)
{
    const cm_model *model = steps->model;
    const cmi_loss_common *common = model->objective.loss_config;

    switch (cmi_reduction_of(common)) {
    case CMI_REDUCE_SUM: return 1.0;
    case CMI_REDUCE_WEIGHTED_MEAN: return cmi_feed_weight(model, &steps->source, b->begin, b->end);
    default: return (double)(b->end - b->begin) * (double)cmi_feed_spec_of(model, &steps->source.data).items;
    }
}

static batch batch_of(const cmi_steps *steps, int rank, int64_t step)
{
    const cmi_source *source = &steps->source;
    batch b = {.begin = step * source->batch_size, .divisor = 1.0};

    b.end = b.begin + source->batch_size;
    if (b.end > source->rows) b.end = source->rows;
    cmi_shard(b.end - b.begin, steps->model->strategy->ranks, rank, &b.first, &b.last);
    b.first += b.begin;
    b.last += b.begin;
    if (steps->kind != CMI_PASS_PREDICT) b.divisor = divisor_of(steps, &b);
    return b;
}

/* What a rank that makes no progress is blamed with. */
static void phase(const cmi_steps *steps, int rank, const char *name)
{
    cmi_comm_set_phase(steps->model->strategy->comm, rank, name);
}

/* Forward, loss and metrics on the shard: stages 1 to 4. */
static cm_status look(cmi_steps *steps, int rank, const batch *b, cmi_run *run)
{
    cmi_replica *replica = steps->model->replicas[rank];

    phase(steps, rank, "gather");
    CM_TRY_CTX(cmi_feed_fill(steps->model, replica, &steps->source, b->first, b->last), "gathering rows"); /* 1 */
    phase(steps, rank, "forward");
    CM_TRY(cmi_replica_forward(replica, run));                                                            /* 2 */
    if (steps->kind == CMI_PASS_PREDICT) return CM_OK;
    phase(steps, rank, "loss");
    return cmi_replica_loss(replica, run);                                                             /* 3, 4 */
}

/* Stage 6, first half: the buckets are summed over the ranks, strictly in order.  A bucket is mapped after its last kernel
 * and unmapped before the next one that uses it.  The step's loss rides at the front of bucket 0. */
static cm_status reduce(cm_model *model, int rank, float *loss)
{
    cmi_replica *replica = model->replicas[rank];
    cmi_comm *comm = model->strategy->comm;

    if (model->strategy->ranks == 1) return cmi_replica_read_loss(replica, loss);
    for (int k = 0; k < model->plan.bucket_count; k++) {
        float *span = NULL;
        CM_TRY_CTX(cmi_replica_map_bucket(replica, k, &span), "bucket %d", k);
        cm_status status = cmi_comm_all_reduce(comm, rank, span, model->plan.buckets[k].count);
        if (!k && !status) *loss = span[CMI_CONTROL_LOSS];
        cm_status unmapped = cmi_replica_unmap_bucket(replica, k, span);
        if (status || unmapped) {
            cmi_error_prefix("bucket %d of %d", k, model->plan.bucket_count);
            return status ? status : unmapped;
        }
    }
    return CM_OK;
}

/* Every rank sees the same loss, so all come to the same decision. */
static cm_status check_loss(cmi_steps *steps, int64_t step, float loss)
{
    int64_t none = -1;

    if (isfinite(loss)) return CM_OK;
    (void)atomic_compare_exchange_strong(&steps->bad_step, &none, step);
    if (!steps->stop_on_nan) return CM_OK;
    return cmi_error(CM_E_NUMERIC, "the loss is %g; the parameters are those of the step before; try a smaller "
                                   "learning rate or clipping",
                     (double)loss);
}

/* Division and square root may differ by an ulp between kinds of devices: rank 0's result is everybody's then. */
static cm_status copy_from_rank_0(cm_model *model, int rank)
{
    cmi_replica *replica = model->replicas[rank];
    float *params = NULL;

    CM_TRY(cmi_replica_map_params(replica, rank ? CMI_MAP_READ_WRITE : CMI_MAP_READ, &params));
    cm_status status = cmi_comm_broadcast(model->strategy->comm, rank, 0, params,
                                          model->plan.grad_count * sizeof(float));
    cm_status unmapped = cmi_replica_unmap_params(replica, params);
    return status ? status : unmapped;
}

static cm_status update(cmi_steps *steps, int rank, int64_t step)
{
    cm_model *model = steps->model;
    uint64_t number = steps->first_update + (uint64_t)(step - steps->begin) + 1;
    double rate = ((const cmi_optim_common *)model->optim_config)->learning_rate;

    CM_TRY(cmi_replica_update(model->replicas[rank], model->optim, model->optim_config, number, rate));
    if (model->strategy->unlike) CM_TRY_CTX(copy_from_rank_0(model, rank), "copying the parameters of rank 0");
    /* Enqueued in full: from here on the update belongs to this replica, whatever fails. */
    atomic_store(&model->applied[rank], number);
    CM_TRY(cmi_stream_flush(cmi_replica_stream(model->replicas[rank])));
    if (cmi_knob_has(CMI_KNOB_CHECK, "replicas")) return cmi_check_replicas(model, rank, step);
    return CM_OK;
}

static cm_status run_step(cmi_steps *steps, int rank, int64_t step)
{
    cm_model *model = steps->model;
    cmi_replica *replica = model->replicas[rank];
    batch b = batch_of(steps, rank, step);
    int64_t rows = b.end - b.begin;
    float loss = 0;
    cmi_run run = {.rows = (size_t)(b.last - b.first),
                   .training = steps->kind == CMI_PASS_TRAIN,
                   .plain = steps->kind == CMI_PASS_PREDICT,
                   .seed = steps->seed,
                   .step = (uint32_t)(steps->first_update + (uint64_t)(step - steps->begin)),
                   .first_row = (uint32_t)(b.first - b.begin),
                   .scale = b.divisor > 0 ? 1.0 / b.divisor : 0.0,
                   .loss_factor = b.divisor > 0 ? (double)rows / b.divisor : 0.0,
                   .sums = steps->kind == CMI_PASS_TRAIN ? CMI_SUMS_TRAIN : CMI_SUMS_EVALUATE};

    atomic_fetch_add(&model->rows_done[rank], b.last - b.first);
    if (run.rows) CM_TRY(look(steps, rank, &b, &run)); /* 1 gather, 2 forward, 3 loss, 4 metrics */
    if (steps->kind == CMI_PASS_PREDICT && run.rows) {
        size_t count = cmi_feed_spec_of(model, &steps->source.data).label_count;
        return cmi_replica_read_output(replica, run.rows, steps->output + (size_t)b.first * count);
    }
    if (steps->kind != CMI_PASS_TRAIN) return CM_OK;
    phase(steps, rank, "backward");
    CM_TRY(run.rows ? cmi_replica_backward(replica, &run) : cmi_replica_no_rows(replica)); /* 5 */
    phase(steps, rank, "reduce");
    CM_TRY(reduce(model, rank, &loss)); /* 6 */
    CM_TRY(check_loss(steps, step, loss));
    CM_TRY(cmi_comm_barrier(model->strategy->comm, rank)); /* commit: for all or for none */
    phase(steps, rank, "update");
    return update(steps, rank, step);                      /* 7 */
}

cm_status cmi_step(cmi_steps *steps, int rank, int64_t step)
{
    static const int tracks[] = {[CMI_PASS_TRAIN] = CMI_TRACK_TRAIN,
                                 [CMI_PASS_EVALUATE] = CMI_TRACK_EVALUATE,
                                 [CMI_PASS_PREDICT] = CMI_TRACK_PREDICT};
    static const char *const kinds[] = {[CMI_PASS_TRAIN] = "epoch", [CMI_PASS_EVALUATE] = "evaluate",
                                        [CMI_PASS_PREDICT] = "predict"};
    cmi_stream *stream = cmi_replica_stream(steps->model->replicas[rank]);

    cmi_stream_rewind(stream, tracks[steps->kind]);
    cm_status status = run_step(steps, rank, step);
    /* At most one step is queued: a device that hangs is noticed within a step. */
    if (status && steps->kind == CMI_PASS_TRAIN)
        cmi_error_prefix("%s %d, step %lld", kinds[steps->kind], steps->epoch + 1, (long long)step + 1);
    else if (status)
        cmi_error_prefix("%s, step %lld", kinds[steps->kind], (long long)step + 1);
    return status;
}
