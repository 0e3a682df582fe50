/* plan.c - where every tensor lies: a pure function of the model, the alignment and the bucket
 * limit.
 *
 * One flat arena holds the parameters of a replica, another of the same layout the gradients, one
 * more each slot of the optimiser.  Offset o means the same tensor in all of them and on all
 * devices, so the update is one launch and the initial copy one write.
 *
 * Order: control floats, then the last layer's tensors first and the first layer's last, because
 * backward finishes them in this order; a bucket is complete when backward has passed its last
 * node.  Frozen tensors lie behind the trainable ones: gradients, slots and buckets do not cover
 * them.  Every tensor starts at a multiple of the alignment; the gaps are zero and stay zero, since
 * the update runs over a table of blocks that leaves them out.
 *
 * Called once per build, by the thread that builds the model. */
#include <string.h>
#include "base/mem.h"
#include "model/model.h"

enum { FIRST_BUCKET_BYTES = 1 << 20, BUCKET_BYTES = 25 << 20 };

static size_t aligned(const cmi_plan *plan, size_t count)
{
    return (count + plan->align - 1) / plan->align * plan->align;
}

static cm_status place(const cmi_sequential *model, cmi_plan *plan, int node, int param, size_t *at)
{
    const cmi_param_spec *spec = &model->nodes[node].spec.param[param];
    int64_t count = 0;
    char text[160];

    /* Kernels count with 32 bits; an arena beyond that would be beyond one allocation on nearly all
     * devices. */
    if (!cmi_shape_count(&spec->shape, &count) || count > INT32_MAX ||
        *at + (size_t)count > INT32_MAX)
        return cmi_error(CM_E_MEMORY,
                         "layer \"%s\": parameter \"%s\" of shape %s makes the model larger than "
                         "2^31 parameters",
                         model->nodes[node].name, spec->name,
                         cmi_shape_text(&spec->shape, false, text, sizeof text));
    plan->tensors[plan->tensor_count++] =
        (cmi_tensor_place){.node = node,
                           .param = param,
                           .offset = *at,
                           .count = (size_t)count,
                           .trainable = cmi_node_trainable(&model->nodes[node])};
    *at = aligned(plan, *at + (size_t)count);
    return CM_OK;
}

static cm_status place_all(const cmi_sequential *model, cmi_plan *plan)
{
    size_t at = plan->control_count;

    for (int frozen = 0; frozen < 2; frozen++) {
        for (int n = model->count - 1; n >= 0; n--) {
            if (cmi_node_trainable(&model->nodes[n]) == (frozen != 0)) continue;
            for (int p = 0; p < model->nodes[n].spec.params; p++)
                CM_TRY(place(model, plan, n, p, &at));
        }
        if (frozen) {
            plan->param_count = at;
        } else {
            plan->grad_count = at;
            plan->trainable_count = plan->tensor_count;
        }
    }
    return CM_OK;
}

int cmi_plan_find(const cmi_plan *plan, int node, int param)
{
    for (int i = 0; i < plan->tensor_count; i++)
        if (plan->tensors[i].node == node && plan->tensors[i].param == param) return i;
    return -1;
}

static void order_weights(const cmi_sequential *model, cmi_plan *plan)
{
    int i = 0;

    for (int n = 0; n < model->count; n++)
        for (int p = 0; p < model->nodes[n].spec.params; p++)
            plan->weight_order[i++] = cmi_plan_find(plan, n, p);
}

static cm_status cut_blocks(cmi_plan *plan)
{
    size_t count = 0;

    for (int t = 0; t < plan->trainable_count; t++)
        count += (plan->tensors[t].count + CMI_BLOCK - 1) / CMI_BLOCK;
    CM_TRY(CMI_NEW(count, &plan->blocks));
    for (int t = 0; t < plan->trainable_count; t++) {
        const cmi_tensor_place *tensor = &plan->tensors[t];
        for (size_t first = 0; first < tensor->count; first += CMI_BLOCK) {
            size_t left = tensor->count - first;
            plan->blocks[plan->block_count++] =
                (cmi_block){.first = (uint32_t)(tensor->offset + first),
                            .count = (uint32_t)(left < CMI_BLOCK ? left : CMI_BLOCK),
                            .tensor = (uint32_t)t};
        }
    }
    return CM_OK;
}

/* Closes a bucket when it reaches its limit; a tensor is never split.  There is at least one
 * bucket, for the control floats. */
static cm_status cut_buckets(cmi_plan *plan, size_t bucket_bytes)
{
    size_t begin = 0;

    CM_TRY(CMI_NEW(plan->trainable_count + 1, &plan->buckets));
    for (int t = 0; t + 1 < plan->trainable_count; t++) {
        size_t limit = bucket_bytes         ? bucket_bytes
                       : plan->bucket_count ? BUCKET_BYTES
                                            : FIRST_BUCKET_BYTES;
        size_t end = plan->tensors[t + 1].offset;
        if ((end - begin) * sizeof(float) < limit) continue;
        plan->buckets[plan->bucket_count++] = (cmi_bucket){begin, end - begin};
        begin = end;
    }
    plan->buckets[plan->bucket_count++] = (cmi_bucket){begin, plan->grad_count - begin};
    return CM_OK;
}

cm_status cmi_plan_make(const cmi_sequential *model, size_t align_bytes, size_t bucket_bytes,
                        cmi_plan *plan)
{
    cm_status status = CM_OK;
    size_t tensors = 0;

    memset(plan, 0, sizeof *plan);
    plan->align =
        align_bytes / sizeof(float) > CMI_CONTROL_COUNT ? align_bytes / sizeof(float) : 32;
    plan->control_count = plan->align;
    for (int n = 0; n < model->count; n++)
        tensors += (size_t)model->nodes[n].spec.params;
    CM_TRY_GOTO(fail, CMI_NEW(tensors, &plan->tensors));
    CM_TRY_GOTO(fail, CMI_NEW(tensors, &plan->weight_order));
    CM_TRY_GOTO(fail, place_all(model, plan));
    order_weights(model, plan);
    CM_TRY_GOTO(fail, cut_blocks(plan));
    CM_TRY_GOTO(fail, cut_buckets(plan, bucket_bytes));
    return CM_OK;
fail:
    cmi_plan_free(plan);
    return status;
}

static size_t first_block_of(const cmi_plan *plan, int ranks, int rank)
{
    return plan->block_count * (size_t)rank / (size_t)ranks;
}

cmi_share cmi_plan_share(const cmi_plan *plan, int ranks, int rank)
{
    cmi_share share = {.first_block = first_block_of(plan, ranks, rank)};
    size_t last = first_block_of(plan, ranks, rank + 1);

    share.block_count = last - share.first_block;
    share.begin = share.first_block < plan->block_count ? plan->blocks[share.first_block].first
                                                        : plan->grad_count;
    share.end = last < plan->block_count ? plan->blocks[last].first : plan->grad_count;
    return share;
}

void cmi_plan_free(cmi_plan *plan)
{
    cmi_free(plan->tensors);
    cmi_free(plan->weight_order);
    cmi_free(plan->buckets);
    cmi_free(plan->blocks);
    memset(plan, 0, sizeof *plan);
}
