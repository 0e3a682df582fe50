/* loss.cl - per-item losses and their gradients.
 *
 * An ITEM is one vector of `classes` numbers along the last axis of the output: a row of the batch,
 * or, for an output (n,T,C), one of T places of a row.  Each kernel writes the item's weighted loss
 * to value[] and, where `want_gradient` is set, scale * weight * d(loss)/d(pred) to dpred; `scale`
 * is 1/D with the global divisor D, so that gradients of all replicas only need to be added.  A
 * work-item takes a strip of items and writes only them.
 *
 * CM_LOSS_VALUE(y,p), CM_LOSS_GRADIENT(y,p)  formula of an elementwise loss, whose item value is the mean; h0, h1
 *                                            are its parameters
 * CM_SPARSE   labels are class numbers, else vectors of `classes` floats
 * CM_LOGITS   pred holds logits, else probabilities */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

#ifndef CM_LOSS_VALUE
#define CM_LOSS_VALUE(y, p)    (((y) - (p)) * ((y) - (p)))
#define CM_LOSS_GRADIENT(y, p) (2.0f * ((p) - (y)))
#endif
#ifndef CM_SPARSE
#define CM_SPARSE 1
#endif
#ifndef CM_LOGITS
#define CM_LOGITS 1
#endif
#define CM_EPSILON 1e-7f

/* value = mean over the item of L(y,p).  2 reads, 1 write. */
__kernel void elementwise(uint items, uint classes, uint strip, float h0, float h1, float scale,
                          uint has_weight, uint want_gradient, __global const float *label,
                          uint label_at, __global const float *pred, uint pred_at,
                          __global const float *weight, uint weight_at, __global float *value,
                          uint value_at, __global float *dpred, uint dpred_at)
{
    uint first = get_global_id(0) * strip, end = min(items, first + strip);
    for (uint i = first; i < end; i++) {
        __global const float *y = label + label_at + (size_t)i * classes,
                             *p = pred + pred_at + (size_t)i * classes;
        __global float *d = dpred + dpred_at + (size_t)i * classes;
        float w = has_weight ? weight[weight_at + i] : 1.0f, sum = 0.0f,
              factor = scale * w / (float)classes;
        for (uint c = 0; c < classes; c++) {
            float yc = y[c], pc = p[c];
            sum += CM_LOSS_VALUE(yc, pc);
            if (want_gradient) d[c] = factor * CM_LOSS_GRADIENT(yc, pc);
        }
        value[value_at + i] = w * sum / (float)classes;
    }
}

#if !CM_SPARSE
/* Smoothed target of class c: y (1 - s) + s / C. */
static inline float target_at(__global const float *y, uint c, uint classes, float smoothing)
{
    return y[c] * (1.0f - smoothing) + smoothing / (float)classes;
}
#endif

#if CM_LOGITS
/* Logits z, targets t: value = lse(z) sum(t) - sum(t z), gradient = softmax(z) sum(t) - t. */
static inline float item_loss(__global const float *z, __global const float *y, int label,
                              uint classes, float smoothing, float factor, int want_gradient,
                              __global float *d)
{
    float top = cm_row_max(z, classes), sum = cm_row_sum_exp(z, classes, top);
#if CM_SPARSE
    if (want_gradient) {
        for (uint c = 0; c < classes; c += CM_V)
            cm_store(exp(cm_load(z, c, classes) - top) * (factor / sum), d, c, classes);
        d[label] -= factor;
    }
    return log(sum) - (z[label] - top);
#else
    float total = 0.0f, hit = 0.0f;
    for (uint c = 0; c < classes; c++) {
        float t = target_at(y, c, classes, smoothing);
        total += t;
        hit += t * (z[c] - top);
    }
    for (uint c = 0; want_gradient && c < classes; c++)
        d[c] = factor * (exp(z[c] - top) * total / sum - target_at(y, c, classes, smoothing));
    return log(sum) * total - hit;
#endif
}
#else
/* Not clamp(): its result for not-a-number is not defined, and a diverged model must be seen. */
static inline float clipped(float p)
{
    return p < CM_EPSILON ? CM_EPSILON : p > 1.0f - CM_EPSILON ? 1.0f - CM_EPSILON : p;
}

/* Clipping passes the gradient on inside the interval, its ends included. */
static inline float slope(float p)
{
    return p >= CM_EPSILON && p <= 1.0f - CM_EPSILON ? 1.0f : 0.0f;
}

/* Probabilities p.  Sparse: Keras clips p and treats log p as logits: -log p_y + log sum(p).
 * Dense: p is divided by its sum, clipped, and the value is -sum(t log p). */
static inline float item_loss(__global const float *p, __global const float *y, int label,
                              uint classes, float smoothing, float factor, int want_gradient,
                              __global float *d)
{
    float sum = 0.0f, value = 0.0f;
#if CM_SPARSE
    for (uint c = 0; c < classes; c++)
        sum += clipped(p[c]);
    for (uint c = 0; want_gradient && c < classes; c++) {
        float g = 1.0f / sum - (c == (uint)label ? 1.0f / clipped(p[c]) : 0.0f);
        d[c] = factor * slope(p[c]) * g;
    }
    value = log(sum) - log(clipped(p[label]));
#else
    float along = 0.0f;
    for (uint c = 0; c < classes; c++)
        sum += p[c];
    for (uint c = 0; c < classes; c++) {
        float q = p[c] / sum, t = target_at(y, c, classes, smoothing);
        value -= t * log(clipped(q));
        along -= slope(q) * t / clipped(q) * q;
    }
    for (uint c = 0; want_gradient && c < classes; c++) {
        float q = p[c] / sum, t = target_at(y, c, classes, smoothing);
        d[c] = factor * (-slope(q) * t / clipped(q) - along) / sum;
    }
#endif
    return value;
}
#endif

/* Cross-entropy over classes.  `label` holds class numbers (CM_SPARSE) or target vectors.  3 reads
 * of pred, 1 write. */
__kernel void categorical(uint items, uint classes, uint strip, float smoothing, float scale,
                          uint has_weight, uint want_gradient, __global const void *label,
                          uint label_at, __global const float *pred, uint pred_at,
                          __global const float *weight, uint weight_at, __global float *value,
                          uint value_at, __global float *dpred, uint dpred_at)
{
    uint first = get_global_id(0) * strip, end = min(items, first + strip);
    for (uint i = first; i < end; i++) {
        float w = has_weight ? weight[weight_at + i] : 1.0f;
#if CM_SPARSE
        __global const float *y = 0;
        int class = ((__global const int *)label)[label_at + i];
        if ((uint) class >= classes) {
            /* Labels are checked on the host; one that slips through must not write behind the
             * item. */
            value[value_at + i] = NAN;
            for (uint c = 0; want_gradient && c < classes; c++)
                dpred[dpred_at + (size_t)i * classes + c] = NAN;
            continue;
        }
#else
        __global const float *y = (__global const float *)label + label_at + (size_t)i * classes;
        int class = 0;
#endif
        value[value_at + i] =
            w * item_loss(pred + pred_at + (size_t)i * classes, y, class, classes, smoothing,
                          scale * w, want_gradient, dpred + dpred_at + (size_t)i * classes);
    }
}
