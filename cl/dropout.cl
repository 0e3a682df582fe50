/* dropout.cl - elements dropped by a counter-based draw.
 *
 * Element e of row r of the GLOBAL batch draws u from Philox with key = seed and counter = (e / 4,
 * r, step, layer), word e % 4; it is kept when u >= rate.  So a mask belongs to a sample and a
 * step, not to a device, and the backward pass draws it again instead of keeping it. */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

/* y = x * kept / (1 - rate); y may be x.  A work-item takes a strip of rows.  1 read, 1 write. */
__kernel void dropout(uint rows, uint columns, uint strip, uint first_row, uint seed_low,
                      uint seed_high, uint step, uint layer, float rate, float scale,
                      __global const float *x, uint x_at, __global float *y, uint y_at)
{
    uint first = get_global_id(0) * strip, end = min(rows, first + strip);
    for (uint r = first; r < end; r++) {
        size_t at = (size_t)r * columns;
        for (uint c = 0; c < columns; c += 4) {
            uint4 draw =
                cm_philox((uint4)(c / 4, first_row + r, step, layer), (uint2)(seed_low, seed_high));
            uint word[4] = {draw.x, draw.y, draw.z, draw.w};
            for (uint k = 0; k < 4 && c + k < columns; k++) {
                float u = (float)(word[k] >> 8) * (1.0f / 16777216.0f);
                y[y_at + at + c + k] = u >= rate ? x[x_at + at + c + k] * scale : 0.0f;
            }
        }
    }
}
