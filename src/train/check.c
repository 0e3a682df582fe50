/* check.c - CLMIRROR_CHECK=replicas: before and after every step all replicas must hold the same
 * parameters, bit by bit.
 *
 * Each rank hashes its parameters, tensor by tensor, and the ranks exchange the hashes.  When one
 * differs, rank 0 and the first rank that differs from it exchange the tensor, so that the error
 * can name the element.  A debug mode: it allocates and maps.
 *
 * Called by every worker before each step, since a sharded update would spread and so hide a
 * difference, and after it. */
#include <string.h>
#include "base/hash.h"
#include "base/knob.h"
#include "base/mem.h"
#include "train/train.h"

static cm_status name_difference(cm_model *model, int rank, int tensor, int other,
                                 const float *params)
{
    const cmi_tensor_place *place = &model->plan.tensors[tensor];
    const cmi_node *node = &model->layers.nodes[place->node];
    size_t bytes = place->count * sizeof(float);
    char *all = NULL;
    cm_status status = CM_OK;

    CM_TRY(cmi_alloc((size_t)model->strategy->ranks, bytes, (void **)&all));
    status = cmi_comm_all_gather(model->strategy->comm, rank, params + place->offset, bytes, all);
    const float *first = (const float *)(void *)all,
                *second = (const float *)(void *)(all + (size_t)other * bytes);
    for (size_t i = 0; i < place->count && !status; i++)
        if (memcmp(&first[i], &second[i], sizeof(float)))
            status = cmi_error(
                CM_E_REPLICAS,
                "replicas differ: \"%s\" of layer \"%s\", element %zu: %.9g on %s, %.9g on %s",
                node->spec.param[place->param].name, node->name, i, (double)first[i],
                model->strategy->names[0], (double)second[i], model->strategy->names[other]);
    cmi_free(all);
    return status ? status : cmi_error(CM_E_REPLICAS, "replicas differed, but not any more");
}

static cm_status compare(cm_model *model, int rank, const float *params)
{
    int tensors = model->plan.tensor_count, ranks = model->strategy->ranks;
    uint64_t *mine = NULL, *all = NULL;
    cm_status status = CM_OK;

    CM_TRY_GOTO(done, CMI_NEW(tensors, &mine));
    CM_TRY_GOTO(done, CMI_NEW((size_t)tensors * (size_t)ranks, &all));
    for (int t = 0; t < tensors; t++)
        mine[t] = cmi_hash(CMI_HASH_START, params + model->plan.tensors[t].offset,
                           model->plan.tensors[t].count * sizeof(float));
    CM_TRY_GOTO(done, cmi_comm_all_gather(model->strategy->comm, rank, mine,
                                          (size_t)tensors * sizeof *mine, all));
    for (int t = 0; t < tensors; t++)
        for (int r = 1; r < ranks; r++)
            if (all[r * tensors + t] != all[t]) {
                status = name_difference(model, rank, t, r, params);
                goto done;
            }
done:
    cmi_free(mine);
    cmi_free(all);
    return status;
}

cm_status cmi_check_replicas(cm_model *model, int rank, int64_t step, const char *when)
{
    cmi_replica *replica = model->replicas[rank];
    float *params = NULL;

    if (!cmi_knob_has(CMI_KNOB_CHECK, "replicas")) return CM_OK;
    if (model->strategy->ranks == 1 || !model->plan.tensor_count) return CM_OK;
    CM_TRY(cmi_replica_map_params(replica, CMI_MAP_READ, &params));
    cm_status status = compare(model, rank, params);
    if (status) cmi_error_prefix("%s step %lld", when, (long long)step + 1);
    cm_status unmapped = cmi_replica_unmap_params(replica, params);
    return status ? status : unmapped;
}
