/* pointwise.cl - one formula over all elements.
 *
 * The formula comes as CM_MAP(x) or CM_MAP_GRADIENT(dy, x, y), an expression over vectors `real`,
 * with the parameters h0 ... h3.  Comparisons that choose between vectors are written `(x > 0.0f) ?
 * a : b`, which OpenCL takes lane by lane; both arms must be of type `real`. */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

#ifndef CM_MAP
#define CM_MAP(x) (x)
#endif
#ifndef CM_MAP_GRADIENT
#define CM_MAP_GRADIENT(dy, x, y) (dy)
#endif

/* y[i] = map(x[i]); x and y may be the same.  A work-item takes a strip.  1 read, 1 write. */
__kernel void map(uint n, uint strip, float h0, float h1, float h2, float h3,
                  __global const float *x, uint x_at, __global float *y, uint y_at)
{
    uint first = get_global_id(0) * strip, end = min(n, first + strip);
    if (first >= n) return;
    x += x_at;
    y += y_at;
    for (uint i = first; i < end; i += CM_V) {
        real v = cm_load(x, i, end);
        cm_store(CM_MAP(v), y, i, end);
    }
}

/* dx[i] = gradient of map; dx may be dy.  Up to 3 reads (those the formula uses), 1 write. */
__kernel void map_gradient(uint n, uint strip, float h0, float h1, float h2, float h3,
                           __global const float *dy, uint dy_at, __global const float *x, uint x_at,
                           __global const float *y, uint y_at, __global float *dx, uint dx_at)
{
    uint first = get_global_id(0) * strip, end = min(n, first + strip);
    if (first >= n) return;
    dy += dy_at;
    x += x_at;
    y += y_at;
    dx += dx_at;
    for (uint i = first; i < end; i += CM_V) {
        real g = cm_load(dy, i, end), v = cm_load(x, i, end), w = cm_load(y, i, end);
        cm_store(CM_MAP_GRADIENT(g, v, w), dx, i, end);
    }
}

/* y[i] = scale * x[i] for uint8 x.  1 read of a byte, 1 write. */
__kernel void from_uint8(uint n, uint strip, float scale, __global const uchar *x, uint x_at,
                         __global float *y, uint y_at)
{
    uint first = get_global_id(0) * strip, end = min(n, first + strip);
    if (first >= n) return;
    x += x_at;
    y += y_at;
    uint i = first;
#if CM_V > 1
    for (; i + CM_V <= end; i += CM_V)
        CM_VSTORE(CM_JOIN(convert_float, CM_V)(CM_JOIN(vload, CM_V)(0, x + i)) * scale, y + i);
#endif
    for (; i < end; i++)
        y[i] = (float)x[i] * scale;
}
