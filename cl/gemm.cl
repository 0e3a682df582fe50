/* gemm.cl - C = op(A) op(B) + bias + beta C on packed panels, row-major, float32.
 *
 * Both operands are first PACKED: op(A) [m,k] into panels of CM_MR rows, op(B) [k,n] into panels of CM_NR = 2
 * CM_V columns.  k is cut into blocks of at most CM_KC; inside a block a panel is stored step by step of k, so
 * the inner loop reads both operands in a straight line whatever the transposition was.  Layout, with R the
 * panel's width:   packed[block][panel][step in block][R],   and blocks before the last are CM_KC long.
 * A tile of CM_MR x CM_NR sums stays in registers over a block; later blocks add to C.
 *
 * The order of additions depends on k and CM_KC alone: the same bits for any cut into work-items. */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

#ifndef CM_MR
#define CM_MR 4
#endif
#define CM_NR (2 * CM_V)
#ifndef CM_KC
#define CM_KC 384
#endif
#ifndef CM_EPILOGUE
#define CM_EPILOGUE(x) (x)
#endif

/* Packs one operand.  Its element (e, s), e along the panels' width, s along k, lies at src[e*stride_e + s*stride_s].
 * One work-item per (block, panel); each writes only its own panel.  `extent` is m or n, `width` the panel's
 * width; rows behind the extent are zero. */
__kernel void pack(uint extent, uint k, uint width, uint stride_e, uint stride_s, __global const float *src,
                   uint src_at, __global float *dst, uint dst_at)
{
    uint panels = (extent + width - 1) / width, blocks = (k + CM_KC - 1) / CM_KC, id = get_global_id(0);
    if (id >= panels * blocks) return;
    uint block = id / panels, panel = id - block * panels, first = block * CM_KC, steps = min(k - first, (uint)CM_KC);
    uint rows = min(extent - panel * width, width);
    __global const float *from = src + src_at + (size_t)panel * width * stride_e + (size_t)first * stride_s;
    __global float *to = dst + dst_at + (size_t)first * panels * width + (size_t)panel * steps * width;

    if (stride_e == 1 && rows == width && width == CM_NR) {
        for (uint s = 0; s < steps; s++) {
            CM_VSTORE(CM_VLOAD(from), to);
            CM_VSTORE(CM_VLOAD(from + CM_V), to + CM_V);
            from += stride_s;
            to += CM_NR;
        }
        return;
    }
    for (uint s = 0; s < steps; s++)
        for (uint e = 0; e < width; e++)
            to[s * width + e] = e < rows ? from[(size_t)e * stride_e + (size_t)s * stride_s] : 0.0f;
}

/* One tile over one block of k: CM_MR x CM_NR sums in registers.  `first` and `last` say whether the block is the
 * first (start from beta C, C is not read when beta is 0) and the last (add the bias, apply the activation). */
static inline void tile(uint rows, uint columns, uint steps, __global const float *a, __global const float *b,
                        __global float *c, uint ldc, int first, int last, float beta, int has_bias,
                        __global const float *bias)
{
    real lo[CM_MR], hi[CM_MR];

#pragma unroll
    for (int i = 0; i < CM_MR; i++) lo[i] = hi[i] = (real)(0.0f);
    for (uint s = 0; s < steps; s++) {
        real b0 = CM_VLOAD(b), b1 = CM_VLOAD(b + CM_V);
#pragma unroll
        for (int i = 0; i < CM_MR; i++) {
            real ai = (real)(a[i]);
            lo[i] = fma(ai, b0, lo[i]);
            hi[i] = fma(ai, b1, hi[i]);
        }
        a += CM_MR;
        b += CM_NR;
    }
    float keep = first ? beta : 1.0f;
    real bias0 = (real)(0.0f), bias1 = (real)(0.0f);
    if (last && has_bias) {
        bias0 = cm_load(bias, 0, columns);
        if (columns > CM_V) bias1 = cm_load(bias, CM_V, columns);
    }
#pragma unroll
    for (int i = 0; i < CM_MR; i++) {
        if ((uint)i < rows) {
            __global float *row = c + (size_t)i * ldc;
            real r0 = lo[i] + bias0, r1 = hi[i] + bias1;
            if (keep != 0.0f) {
                r0 = fma((real)(keep), cm_load(row, 0, columns), r0);
                if (columns > CM_V) r1 = fma((real)(keep), cm_load(row, CM_V, columns), r1);
            }
            if (last) {
                r0 = CM_EPILOGUE(r0);
                r1 = CM_EPILOGUE(r1);
            }
            cm_store(r0, row, 0, columns);
            if (columns > CM_V) cm_store(r1, row, CM_V, columns);
        }
    }
}

/* One work-item per rectangle of rows_each panels of A times columns_each panels of B; each writes only its
 * rectangle of C.  k = 0 gives beta C + bias. */
__kernel void gemm(uint m, uint n, uint k, uint rows_each, uint columns_each, uint ldc, float beta, uint has_bias,
                   __global const float *a, uint a_at, __global const float *b, uint b_at, __global float *c,
                   uint c_at, __global const float *bias, uint bias_at)
{
    uint row_panels = (m + CM_MR - 1) / CM_MR, column_panels = (n + CM_NR - 1) / CM_NR;
    uint across = (column_panels + columns_each - 1) / columns_each, id = get_global_id(0);
    uint i0 = id / across * rows_each, j0 = (id % across) * columns_each;
    if (i0 >= row_panels) return;
    uint i1 = min(i0 + rows_each, row_panels), j1 = min(j0 + columns_each, column_panels);
    a += a_at;
    b += b_at;
    c += c_at;
    bias += bias_at;

    for (uint first = 0; first < k || first == 0; first += CM_KC) {
        uint steps = min(k - first, (uint)CM_KC);
        int last = first + steps >= k;
        __global const float *ab = a + (size_t)first * row_panels * CM_MR;
        __global const float *bb = b + (size_t)first * column_panels * CM_NR;
        for (uint j = j0; j < j1; j++)
            for (uint i = i0; i < i1; i++)
                tile(min(m - i * CM_MR, (uint)CM_MR), min(n - j * CM_NR, (uint)CM_NR), steps,
                     ab + (size_t)i * steps * CM_MR, bb + (size_t)j * steps * CM_NR,
                     c + (size_t)i * CM_MR * ldc + j * CM_NR, ldc, first == 0, last, beta, has_bias,
                     bias + j * CM_NR);
    }
}
