/* exchange.c - stages 6 and 7 of a step: the gradients of all replicas are summed, the step is
 * committed, and the parameters are updated.  Two ways, the same arithmetic per element:
 *
 * REPLICATED.  Buckets are all-reduced, strictly in order; the last meeting of the last bucket
 * completes for all ranks or for none and is the commit; then every rank updates its whole copy.
 *
 * SHARDED (ZeRO, stage 1: Rajbhandari et al. 2020).  The blocks of the arena are cut into one chunk
 * per rank.  Each rank sums its chunk over all ranks' mapped gradients, updates it - the new values
 * go where the chunk's gradients were, so no parameter is touched yet - and lends it; lending
 * completes for all or for none and is the commit; then every rank copies all chunks into its
 * parameters.  Optimiser state exists for the own chunk only, an n-th of the memory and of the
 * traffic, and the replicas are equal by construction, whatever devices they run on.
 *
 * Called by every worker at the same place of the step. */
#include <math.h>
#include <string.h>
#include "train/train.h"

/* Every rank sees the same loss, so all come to the same decision. */
static cm_status check_loss(cmi_steps *steps, int64_t step, float loss)
{
    int64_t none = -1;

    if (isfinite(loss)) return CM_OK;
    (void)atomic_compare_exchange_strong(&steps->bad_step, &none, step);
    if (!steps->stop_on_nan) return CM_OK;
    return cmi_error(CM_E_NUMERIC,
                     "the loss is %g; the parameters are those of the step before; try a smaller "
                     "learning rate or clipping",
                     (double)loss);
}

/* ---- replicated ---- */

/* A bucket is mapped after its last kernel and unmapped before the next one that uses it.  The
 * step's loss rides at the front of bucket 0. */
static cm_status reduce_buckets(cm_model *model, int rank, float *loss)
{
    cmi_replica *replica = model->replicas[rank];
    cmi_comm *comm = model->strategy->comm;

    if (model->strategy->ranks == 1) return cmi_replica_read_loss(replica, loss);
    for (int k = 0; k < model->plan.bucket_count; k++) {
        float *span = NULL;
        CM_TRY_CTX(cmi_replica_map_bucket(replica, k, CMI_MAP_READ_WRITE, &span), "bucket %d", k);
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

static cm_status replicated(cmi_steps *steps, int rank, int64_t step, const cmi_update_step *update)
{
    cm_model *model = steps->model;
    float loss = 0;

    CM_TRY(cmi_stage_begin(model, rank, CMI_STAGE_REDUCE));
    CM_TRY(reduce_buckets(model, rank, &loss));
    CM_TRY(check_loss(steps, step, loss));
    CM_TRY(cmi_stage_begin(model, rank, CMI_STAGE_UPDATE));
    return cmi_replica_update(model->replicas[rank], update);
}

/* ---- sharded ---- */

static cm_status unmap_all(cm_model *model, int rank, cmi_lent *mine, cm_status status)
{
    cmi_replica *replica = model->replicas[rank];

    for (int k = 0; k < model->plan.bucket_count; k++) {
        cm_status unmapped = cmi_replica_unmap_bucket(replica, k, mine->bucket[k]);
        if (!status) status = unmapped;
        mine->bucket[k] = NULL;
    }
    cm_status unmapped = cmi_replica_unmap_params(replica, mine->params);
    mine->params = NULL;
    return status ? status : unmapped;
}

static cm_status map_buckets(cm_model *model, int rank, cmi_map_mode mode, cmi_lent *mine)
{
    for (int k = 0; k < model->plan.bucket_count; k++)
        CM_TRY_CTX(cmi_replica_map_bucket(model->replicas[rank], k, mode, &mine->bucket[k]),
                   "bucket %d", k);
    return CM_OK;
}

/* The part of a share that lies in a bucket, as places in the bucket. */
static size_t overlap(const cmi_share *share, const cmi_bucket *bucket, size_t *begin)
{
    size_t first = share->begin > bucket->offset ? share->begin : bucket->offset;
    size_t last =
        share->end < bucket->offset + bucket->count ? share->end : bucket->offset + bucket->count;

    *begin = first - bucket->offset;
    return last > first ? last - first : 0;
}

/* Sums this rank's chunk into its own span.  No other rank reads that chunk there, so it may be
 * overwritten at once. */
static void sum_share(cm_model *model, int rank, const void *const *all, cmi_lent *mine,
                      float *loss)
{
    const cmi_share *share = &model->shares[rank];
    int ranks = model->strategy->ranks;
    const void *spans[CM_MAX_DEVICES];

    *loss = 0;
    for (int r = 0; r < ranks; r++)
        *loss += ((const cmi_lent *)all[r])->bucket[0][CMI_CONTROL_LOSS];
    for (int k = 0; k < model->plan.bucket_count; k++) {
        size_t begin = 0, count = overlap(share, &model->plan.buckets[k], &begin);
        for (int r = 0; r < ranks; r++)
            spans[r] = ((const cmi_lent *)all[r])->bucket[k];
        if (count) cmi_comm_sum(spans, ranks, begin, begin + count, mine->bucket[k]);
    }
}

static cm_status reduce_scatter(cm_model *model, int rank, cmi_lent *mine, float *loss)
{
    const void *const *all = NULL;

    cm_status status = map_buckets(model, rank, CMI_MAP_READ_WRITE, mine);
    if (!status) status = cmi_comm_lend(model->strategy->comm, rank, mine, &all);
    if (!status) {
        sum_share(model, rank, all, mine, loss);
        status = cmi_comm_take_back(model->strategy->comm, rank);
    }
    return unmap_all(model, rank, mine, status);
}

static void copy_shares(cm_model *model, const void *const *all, float *params)
{
    for (int r = 0; r < model->strategy->ranks; r++)
        for (int k = 0; k < model->plan.bucket_count; k++) {
            const cmi_bucket *bucket = &model->plan.buckets[k];
            size_t begin = 0, count = overlap(&model->shares[r], bucket, &begin);
            if (count)
                memcpy(params + bucket->offset + begin,
                       ((const cmi_lent *)all[r])->bucket[k] + begin, count * sizeof *params);
        }
}

/* The commit is inside cmi_comm_lend.  A device that is lost behind it does not undo the step. */
static cm_status commit_and_gather(cm_model *model, int rank, cmi_lent *mine)
{
    const void *const *all = NULL;

    cm_status status = map_buckets(model, rank, CMI_MAP_READ, mine);
    if (!status)
        status = cmi_replica_map_params(model->replicas[rank], CMI_MAP_READ_WRITE, &mine->params);
    if (!status) status = cmi_comm_lend(model->strategy->comm, rank, mine, &all);
    if (!status) {
        copy_shares(model, all, mine->params);
        status = cmi_comm_take_back(model->strategy->comm, rank);
    }
    return unmap_all(model, rank, mine, status);
}

static cm_status sharded(cmi_steps *steps, int rank, int64_t step, const cmi_update_step *update)
{
    cm_model *model = steps->model;
    cmi_lent *mine = &model->lent[rank];
    float loss = 0;

    CM_TRY(cmi_stage_begin(model, rank, CMI_STAGE_REDUCE));
    CM_TRY(reduce_scatter(model, rank, mine, &loss));
    CM_TRY(check_loss(steps, step, loss));
    CM_TRY(cmi_stage_begin(model, rank, CMI_STAGE_UPDATE));
    CM_TRY(cmi_replica_update(model->replicas[rank], update));
    cm_status status = commit_and_gather(model, rank, mine);
    /* The slots were updated with the chunk and have no copy: the weights are those of the step
     * before, the slots not. */
    if (status)
        cmi_error_prefix("sharded update (the optimizer's state has taken this step already)");
    return status;
}

/* ---- both ---- */

typedef struct norm_exchange {
    cm_model *model;
    int rank;
} norm_exchange;

/* The norms of clipping need all blocks: each rank has the sums of squares of its own. */
static cm_status exchange_norms(void *user, const float *mine, size_t count, float *all)
{
    const norm_exchange *exchange = user;
    cm_model *model = exchange->model;
    const void *const *lent_norms = NULL;

    (void)count;
    CM_TRY(cmi_comm_lend(model->strategy->comm, exchange->rank, mine, &lent_norms));
    for (int r = 0; r < model->strategy->ranks; r++) {
        const cmi_share *share = &model->shares[r];
        if (r == exchange->rank) continue; /* `mine` stands there already */
        memcpy(all + share->first_block, lent_norms[r], share->block_count * sizeof *all);
    }
    return cmi_comm_take_back(model->strategy->comm, exchange->rank);
}

cm_status cmi_exchange(cmi_steps *steps, int rank, int64_t step)
{
    cm_model *model = steps->model;
    uint64_t number = steps->first_update + (uint64_t)(step - steps->begin) + 1;
    norm_exchange norms = {model, rank};
    cmi_update_step update = {.optim = model->optim,
                              .config = model->optim_config,
                              .step = number,
                              .rate =
                                  ((const cmi_optim_common *)model->optim_config)->learning_rate,
                              .share = model->sharded ? &model->shares[rank] : NULL,
                              .exchange = model->sharded ? exchange_norms : NULL,
                              .user = &norms};

    CM_TRY(model->sharded ? sharded(steps, rank, step, &update)
                          : replicated(steps, rank, step, &update));
    /* Enqueued in full: from here on the update belongs to this replica, whatever fails. */
    atomic_store(&model->applied[rank], number);
    CM_TRY(cmi_stage_begin(model, rank, CMI_STAGE_NONE));
    CM_TRY(cmi_stream_flush(cmi_replica_stream(model->replicas[rank])));
    return cmi_check_replicas(model, rank, step, "after");
}
