/* softmax.cl - softmax and its logarithm over the last axis, and their gradients.
 *
 * A work-item takes a strip of rows and writes only them.  The maximum is taken away first, so that
 * no exponential overflows. */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

/* y = exp(x - max) / sum, or, with `logarithm`, x - max - log(sum).  x and y may be the same.  3
 * reads, 2 writes. */
__kernel void softmax(uint rows, uint columns, uint strip, uint logarithm, __global const float *x,
                      uint x_at, __global float *y, uint y_at)
{
    uint first = get_global_id(0) * strip, end = min(rows, first + strip);
    for (uint r = first; r < end; r++) {
        __global const float *in = x + x_at + (size_t)r * columns;
        __global float *out = y + y_at + (size_t)r * columns;
        float top = cm_row_max(in, columns), sum = cm_row_sum_exp(in, columns, top);
        if (logarithm) {
            /* Not x - (top + log(sum)): beside a large maximum the logarithm would lose its digits.
             */
            float shift = log(sum);
            for (uint c = 0; c < columns; c += CM_V)
                cm_store((cm_load(in, c, columns) - top) - shift, out, c, columns);
        } else {
            for (uint c = 0; c < columns; c += CM_V)
                cm_store(exp(cm_load(in, c, columns) - top) / sum, out, c, columns);
        }
    }
}

/* softmax: dx = y (dy - sum of dy y); logarithm: dx = dy - exp(y) sum of dy.  dx may be dy.  4
 * reads, 1 write. */
__kernel void softmax_gradient(uint rows, uint columns, uint strip, uint logarithm,
                               __global const float *y, uint y_at, __global const float *dy,
                               uint dy_at, __global float *dx, uint dx_at)
{
    uint first = get_global_id(0) * strip, end = min(rows, first + strip);
    for (uint r = first; r < end; r++) {
        __global const float *out = y + y_at + (size_t)r * columns,
                             *up = dy + dy_at + (size_t)r * columns;
        __global float *down = dx + dx_at + (size_t)r * columns;
        real sums = (real)(0.0f);
        for (uint c = 0; c < columns; c += CM_V) {
            real g = cm_load(up, c, columns);
            sums += logarithm ? g : g * cm_load(out, c, columns);
        }
        float sum = cm_sum(sums);
        for (uint c = 0; c < columns; c += CM_V) {
            real g = cm_load(up, c, columns), v = cm_load(out, c, columns);
            cm_store(logarithm ? g - exp(v) * sum : v * (g - sum), down, c, columns);
        }
    }
}
