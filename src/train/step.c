/* step.c - one training step of one replica: the story of the library.
 *
 * Every rank runs this function for every step, on its own thread and its own device; they meet in
 * stages 6 and 7 (exchange.c) only.  The global batch is rows [begin, end) of the epoch's order; a
 * rank takes its shard of them.  Its loss is divided by the divisor D of the GLOBAL batch, so
 * gradients only need to be added: shards of any size, also empty ones, are exact.
 *
 * No parameter is written before stage 7, and stage 7 begins for all ranks or for none: the last
 * meeting of stage 6 completes for all or aborts for all.  So after any failure the parameters are
 * those of the last completed step. */
#include "train/train.h"

typedef struct batch {
    int64_t begin, end;  /* places in the order, global */
    int64_t first, last; /* of this rank's shard */
    double divisor;      /* D */
} batch;

static double divisor_of(const cmi_steps *steps, const batch *b)
{
    const cm_model *model = steps->model;
    const cmi_loss_common *common = model->objective.loss_config;

    switch (cmi_reduction_of(common)) {
    case CMI_REDUCE_SUM:
        return 1.0;
    case CMI_REDUCE_WEIGHTED_MEAN:
        return cmi_feed_weight(model, &steps->source, b->begin, b->end);
    default:
        return (double)(b->end - b->begin) *
               (double)cmi_feed_spec_of(model, &steps->source.data).items;
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

/* Forward, loss and metrics on the shard: stages 1 to 4. */
static cm_status look(cmi_steps *steps, int rank, const batch *b, cmi_run *run)
{
    cmi_replica *replica = steps->model->replicas[rank];

    CM_TRY(cmi_stage_begin(steps->model, rank, CMI_STAGE_GATHER));
    CM_TRY_CTX(cmi_feed_fill(steps->model, replica, &steps->source, b->first, b->last),
               "gathering rows"); /* 1 */
    CM_TRY(cmi_stage_begin(steps->model, rank, CMI_STAGE_FORWARD));
    CM_TRY(cmi_replica_forward(replica, run)); /* 2 */
    if (steps->kind == CMI_PASS_PREDICT) return CM_OK;
    CM_TRY(cmi_stage_begin(steps->model, rank, CMI_STAGE_LOSS));
    return cmi_replica_loss(replica, run); /* 3, 4 */
}

static cm_status run_step(cmi_steps *steps, int rank, int64_t step)
{
    cm_model *model = steps->model;
    cmi_replica *replica = model->replicas[rank];
    batch b = batch_of(steps, rank, step);
    int64_t rows = b.end - b.begin;
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
    if (run.training) CM_TRY(cmi_check_replicas(model, rank, step, "before"));
    if (run.rows) CM_TRY(look(steps, rank, &b, &run)); /* 1 gather, 2 forward, 3 loss, 4 metrics */
    if (steps->kind == CMI_PASS_PREDICT && run.rows) {
        size_t count = cmi_feed_spec_of(model, &steps->source.data).label_count;
        return cmi_replica_read_output(replica, run.rows, steps->output + (size_t)b.first * count);
    }
    if (steps->kind != CMI_PASS_TRAIN) return CM_OK;
    CM_TRY(cmi_stage_begin(model, rank, CMI_STAGE_BACKWARD));
    CM_TRY(run.rows ? cmi_replica_backward(replica, &run) : cmi_replica_no_rows(replica)); /* 5 */
    return cmi_exchange(steps, rank, step); /* 6 reduce and commit, 7 update */
}

cm_status cmi_step(cmi_steps *steps, int rank, int64_t step)
{
    static const int tracks[] = {[CMI_PASS_TRAIN] = CMI_TRACK_TRAIN,
                                 [CMI_PASS_EVALUATE] = CMI_TRACK_EVALUATE,
                                 [CMI_PASS_PREDICT] = CMI_TRACK_PREDICT};
    static const char *const kinds[] = {[CMI_PASS_TRAIN] = "epoch",
                                        [CMI_PASS_EVALUATE] = "evaluate",
                                        [CMI_PASS_PREDICT] = "predict"};
    cmi_stream *stream = cmi_replica_stream(steps->model->replicas[rank]);

    cmi_stream_rewind(stream, tracks[steps->kind]);
    cm_status status = run_step(steps, rank, step);
    if (status && steps->kind == CMI_PASS_TRAIN)
        cmi_error_prefix("%s %d, step %lld", kinds[steps->kind], steps->epoch + 1,
                         (long long)step + 1);
    else if (status)
        cmi_error_prefix("%s, step %lld", kinds[steps->kind], (long long)step + 1);
    return status;
}
