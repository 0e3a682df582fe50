/* bias.cl - a row vector added to all rows of a matrix, and the sum over its rows (its gradient).
 */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

#ifndef CM_EPILOGUE
#define CM_EPILOGUE(x) (x)
#endif

/* y[r,c] = act(y[r,c] + bias[c]).  A work-item takes a strip of rows and writes only them.  1 read,
 * 1 write. */
__kernel void bias_activation(uint rows, uint columns, uint strip, uint has_bias,
                              __global const float *bias, uint bias_at, __global float *y,
                              uint y_at)
{
    uint first = get_global_id(0) * strip, end = min(rows, first + strip);
    bias += bias_at;
    for (uint r = first; r < end; r++) {
        __global float *row = y + y_at + (size_t)r * columns;
        for (uint c = 0; c < columns; c += CM_V) {
            real v = cm_load(row, c, columns);
            if (has_bias) v += cm_load(bias, c, columns);
            cm_store(CM_EPILOGUE(v), row, c, columns);
        }
    }
}

/* db[c] = sum over r of dy[r,c], plus beta db[c] (not read when beta is 0).  A work-item takes CM_V
 * columns and adds the rows from first to last, in eight partial sums taken in turn so that
 * additions overlap; they are folded in a fixed order.  1 read of dy, 1 write of db. */
__kernel void column_sums(uint rows, uint columns, float beta, __global const float *dy, uint dy_at,
                          __global float *db, uint db_at)
{
    uint c = get_global_id(0) * CM_V;
    real part[8];
    if (c >= columns) return;
    dy += dy_at;
    db += db_at;
    for (int j = 0; j < 8; j++)
        part[j] = (real)(0.0f);
    uint r = 0;
    for (; r + 8 <= rows; r += 8)
        for (uint j = 0; j < 8; j++)
            part[j] += cm_load(dy + (size_t)(r + j) * columns, c, columns);
    for (; r < rows; r++)
        part[r & 7] += cm_load(dy + (size_t)r * columns, c, columns);
    real sum =
        ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    if (beta != 0.0f) sum += beta * cm_load(db, c, columns);
    cm_store(sum, db, c, columns);
}
