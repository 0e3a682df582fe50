/* metric.cl - per-item hits of the accuracies, and the sums that epochs are made of. */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

/* Largest group of `fold`. */
#ifndef CM_GROUP
#define CM_GROUP 64
#endif

/* Index of the first maximum. */
static inline uint first_maximum(__global const float *p, uint classes)
{
    uint best = 0;
    for (uint c = 1; c < classes; c++)
        if (p[c] > p[best]) best = c;
    return best;
}

/* value[i] = 1 if the first maximum of pred is the label.  A work-item takes a strip of items. */
__kernel void sparse_accuracy(uint items, uint classes, uint strip, __global const int *label,
                              uint label_at, __global const float *pred, uint pred_at,
                              __global float *value, uint value_at)
{
    uint first = get_global_id(0) * strip, end = min(items, first + strip);
    for (uint i = first; i < end; i++)
        value[value_at + i] = first_maximum(pred + pred_at + (size_t)i * classes, classes) ==
                                      (uint)label[label_at + i]
                                  ? 1.0f
                                  : 0.0f;
}

/* The same against the first maximum of a target vector. */
__kernel void categorical_accuracy(uint items, uint classes, uint strip,
                                   __global const float *label, uint label_at,
                                   __global const float *pred, uint pred_at, __global float *value,
                                   uint value_at)
{
    uint first = get_global_id(0) * strip, end = min(items, first + strip);
    for (uint i = first; i < end; i++) {
        size_t at = (size_t)i * classes;
        value[value_at + i] = first_maximum(pred + pred_at + at, classes) ==
                                      first_maximum(label + label_at + at, classes)
                                  ? 1.0f
                                  : 0.0f;
    }
}

/* value[i] = share of the item's elements with (pred > threshold) = label. */
__kernel void binary_accuracy(uint items, uint classes, uint strip, float threshold,
                              __global const float *label, uint label_at,
                              __global const float *pred, uint pred_at, __global float *value,
                              uint value_at)
{
    uint first = get_global_id(0) * strip, end = min(items, first + strip);
    for (uint i = first; i < end; i++) {
        uint hits = 0;
        size_t at = (size_t)i * classes;
        for (uint c = 0; c < classes; c++)
            hits += (pred[pred_at + at + c] > threshold ? 1.0f : 0.0f) == label[label_at + at + c];
        value[value_at + i] = (float)hits / (float)classes;
    }
}

/* Adds the items of `arrays` value arrays, which lie `stride` apart, to two-float sums: sum[2a],
 * sum[2a+1] += sum of array a times its factor.  One group per array; its work-items add every
 * get_local_size-th item, then the partial sums are folded in a fixed order, so the result depends
 * on the group's size alone. control[0] = control_scale * (sum of array 0 in this launch): the
 * step's share of the loss. */
__kernel void fold(uint arrays, uint items, uint stride, float factor0, float control_scale,
                   __global const float *value, uint value_at, __global float *sum, uint sum_at,
                   __global float *control, uint control_at)
{
    __local float2 shared[CM_GROUP];
    uint array = get_group_id(0), lane = get_local_id(0), lanes = get_local_size(0);
    if (array >= arrays) return; /* whole groups: nobody waits at a barrier */
    value += value_at + (size_t)array * stride;
    float2 total = (float2)(0.0f);
    for (uint i = lane; i < items; i += lanes)
        total = cm_add2(total, value[i]);
    shared[lane] = total;
    for (uint reach = lanes / 2; reach > 0; reach /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < reach) {
            float2 other = shared[lane + reach];
            shared[lane] = cm_add2(cm_add2(shared[lane], other.x), other.y);
        }
    }
    if (lane == 0) {
        float2 part = shared[0];
        if (array == 0) {
            control[control_at] = control_scale * (part.x + part.y);
            part *= factor0;
        }
        __global float *out = sum + sum_at + 2 * array;
        float2 all = cm_add2(cm_add2((float2)(out[0], out[1]), part.x), part.y);
        out[0] = all.x;
        out[1] = all.y;
    }
}
