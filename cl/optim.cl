/* optim.cl - the update of the parameters, and the sums of squares that clipping needs.
 *
 * Both run over a TABLE of blocks: (first element, elements, tensor, unused), blocks of at most
 * 4,096 elements counted from the start of each tensor.  Gaps between tensors are in no block.  A
 * group takes a block; on CPU shape that is one work-item with vectors, on GPU shape its work-items
 * take every get_local_size-th vector.
 *
 * CM_UPDATE   statements that change p and the slots s0, s1, s2 given g and h0 ... h7 (all `real` or float)
 * CM_SLOTS    how many slots there are */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

#ifndef CM_UPDATE
#define CM_UPDATE p -= h0 * g;
#define CM_SLOTS  0
#endif
/* Clip, decay, update, in this order; out may be params, or grads (then the new values take the
 * gradients' place).  Slots hold the places from slot_begin on.  g is multiplied by factor[tensor]
 * (has_factor) and cut to +-limit (limit > 0); p loses its part `decay`.  2 + slots reads, 1 +
 * slots writes per element. */
__kernel void update(uint blocks, uint slot_begin, float decay, float limit, uint has_factor,
                     float h0, float h1, float h2, float h3, float h4, float h5, float h6, float h7,
                     __global const uint4 *table, uint table_at, __global const float *factor,
                     uint factor_at, __global const float *grads, uint grads_at,
                     __global const float *params, uint params_at, __global float *out, uint out_at,
                     __global float *slot0, uint slot0_at, __global float *slot1, uint slot1_at,
                     __global float *slot2, uint slot2_at)
{
    uint block = get_group_id(0);
    if (block >= blocks) return;
    uint4 entry = table[table_at + block];
    uint end = entry.x + entry.y;
    float scale = has_factor ? factor[factor_at + entry.z] : 1.0f;

    for (uint i = entry.x + get_local_id(0) * CM_V; i < end; i += get_local_size(0) * CM_V) {
        real p = cm_load(params + params_at, i, end), g = cm_load(grads + grads_at, i, end);
#if CM_SLOTS > 0
        real s0 = cm_load(slot0 + slot0_at, i - slot_begin, end - slot_begin);
#endif
#if CM_SLOTS > 1
        real s1 = cm_load(slot1 + slot1_at, i - slot_begin, end - slot_begin);
#endif
#if CM_SLOTS > 2
        real s2 = cm_load(slot2 + slot2_at, i - slot_begin, end - slot_begin);
#endif
        if (has_factor) g *= scale;
        if (limit > 0.0f) { /* comparisons, since clamp may lose a NaN */
            g = g > limit ? (real)(limit) : g;
            g = g < -limit ? (real)(-limit) : g;
        }
        if (decay != 0.0f) p -= p * decay;
        CM_UPDATE
        cm_store(p, out + out_at, i, end);
#if CM_SLOTS > 0
        cm_store(s0, slot0 + slot0_at, i - slot_begin, end - slot_begin);
#endif
#if CM_SLOTS > 1
        cm_store(s1, slot1 + slot1_at, i - slot_begin, end - slot_begin);
#endif
#if CM_SLOTS > 2
        cm_store(s2, slot2 + slot2_at, i - slot_begin, end - slot_begin);
#endif
    }
}

/* partial[block] = sum of g*g over the block, in a fixed order of 16 lanes whatever the vector and
 * the group are: lane l adds elements l, l + 16, ... of the block.  One work-item per block.  1
 * read. */
__kernel void square_sums(uint blocks, __global const uint4 *table, uint table_at,
                          __global const float *grads, uint grads_at, __global float *partial,
                          uint partial_at)
{
    uint block = get_global_id(0);
    if (block >= blocks) return;
    uint4 entry = table[table_at + block];
    __global const float *g = grads + grads_at + entry.x;
    float lane[16];
    for (uint l = 0; l < 16; l++)
        lane[l] = 0.0f;
    uint i = 0;
    for (; i + 16 <= entry.y; i += 16)
        for (uint l = 0; l < 16; l++)
            lane[l] = fma(g[i + l], g[i + l], lane[l]);
    for (uint l = 0; i + l < entry.y; l++)
        lane[l] = fma(g[i + l], g[i + l], lane[l]);
    for (uint reach = 8; reach > 0; reach /= 2)
        for (uint l = 0; l < reach; l++)
            lane[l] += lane[l + reach];
    partial[partial_at + block] = lane[0];
}
