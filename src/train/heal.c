/* heal.c - after a failure: makes all replicas hold the same parameters again.
 *
 * A step that failed behind its commit reached some replicas only, and set_weight may fail on one
 * of them.  The counters `applied` say which replicas have which updates; before the next call that
 * trains or looks, the others get a copy.
 *
 * Called by the thread of the public call. */
#include "base/mem.h"
#include "train/train.h"

int cmi_model_healthy(const cm_model *model)
{
    int best = -1;

    for (int r = 0; r < model->strategy->ranks; r++)
        if (!model->strategy->workers[r].gone &&
            (best < 0 || atomic_load(&model->applied[r]) > atomic_load(&model->applied[best])))
            best = r;
    return best < 0 ? 0 : best;
}

typedef struct heal_work {
    int from;
    float *arenas;
} heal_work;

static cm_status read_healthy(void *argument, cm_model *model, int rank)
{
    heal_work *work = argument;

    if (rank != work->from) return CM_OK;
    /* Without slots everywhere they are about to be made anew. */
    if (model->slots_made < 0)
        return cmi_replica_read_params(model->replicas[rank], 0, model->plan.param_count,
                                       work->arenas);
    return cmi_replica_read_all(model->replicas[rank], work->arenas);
}

static cm_status write_stale(void *argument, cm_model *model, int rank)
{
    heal_work *work = argument;
    uint64_t newest = atomic_load(&model->applied[work->from]);

    if (rank == work->from || (!model->parted && atomic_load(&model->applied[rank]) == newest))
        return CM_OK;
    if (model->slots_made < 0)
        return cmi_replica_write_params(model->replicas[rank], 0, model->plan.param_count,
                                        work->arenas);
    return cmi_replica_write_all(model->replicas[rank], work->arenas);
}

cm_status cmi_model_heal(cm_model *model)
{
    heal_work work = {.from = cmi_model_healthy(model)};
    cm_status status = CM_OK;
    bool stale = model->parted;

    for (int r = 0; r < model->strategy->ranks; r++)
        stale |= atomic_load(&model->applied[r]) != atomic_load(&model->applied[work.from]);
    if (stale) {
        CM_TRY(CMI_NEW(cmi_replica_all_count(model->replicas[work.from]), &work.arenas));
        status = cmi_model_run(model, read_healthy, &work);
        if (!status) status = cmi_model_run(model, write_stale, &work);
        cmi_free(work.arenas);
        if (status) return status;
        model->parted = false;
    }
    /* The model's count may have begun anew with another optimiser. */
    for (int r = 0; r < model->strategy->ranks; r++)
        atomic_store(&model->applied[r], model->updates);
    return CM_OK;
}
