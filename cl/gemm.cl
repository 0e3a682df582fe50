/* gemm.cl - C = act(op(A) op(B) + bias + beta C), row-major, float32, for devices that run a
 * work-item on a core.
 *
 * The scheme is that of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication",
 * 2008).  A work-item owns a rectangle of C.  k is cut into blocks of `kc` steps, the rectangle's
 * rows into blocks of `mc`.  Per block both operands lie in PANELS: CM_MR rows of op(A), or CM_NR =
 * 2 CM_V columns of op(B), step by step of k, so that the inner loop reads both in straight lines;
 * a tile of CM_MR x CM_NR sums stays in registers.
 *
 * An operand whose panel elements are neighbours in memory already (B as it is, A transposed) is
 * read in place, step by step with the matrix' own row length; only its last, narrower panel is
 * packed.  Others are packed, that is transposed, into the work-item's part of the workspace.
 * Packing B as it is pays when many blocks of rows use it.
 *
 * Every element of C is summed over k in one fixed order given by kc: the same bits for any cut
 * into work-items. */
#ifndef CM_PRELUDE
#include "cm_prelude.h"
#endif

#ifndef CM_MR
#define CM_MR 4
#endif
#define CM_NR (2 * CM_V)
#ifndef CM_EPILOGUE
#define CM_EPILOGUE(x) (x)
#endif

/* How much of a panel of B is ever read: a narrow tile takes one vector. */
#define CM_FILLED(count) ((count) <= CM_V ? CM_V : CM_NR)

/* Packs `steps` steps of a panel whose elements lie next to each other: element e of step s is
 * src[s*stride + e]. dst[steps][width]; elements from `count` to `filled` are zero. */
static inline void pack_rows(__global const float *src, uint stride, uint count, uint filled,
                             uint width, uint steps, __global float *dst)
{
    if (count == width && width % CM_V == 0) {
        for (uint s = 0; s < steps; s++, src += stride, dst += width)
            for (uint e = 0; e < width; e += CM_V)
                CM_VSTORE(CM_VLOAD(src + e), dst + e);
    } else if (count == width && width % 4 == 0) {
        for (uint s = 0; s < steps; s++, src += stride, dst += width)
            for (uint e = 0; e < width; e += 4)
                vstore4(vload4(0, src + e), 0, dst + e);
    } else {
        for (uint s = 0; s < steps; s++, src += stride, dst += width) {
            for (uint e = 0; e < count; e++)
                dst[e] = src[e];
            for (uint e = count; e < filled; e++)
                dst[e] = 0.0f;
        }
    }
}

/* The same for a panel whose steps lie next to each other: element e of step s is src[e*stride +
 * s].  Squares of 4 x 4 are turned in registers. */
static inline void pack_columns(__global const float *src, uint stride, uint count, uint filled,
                                uint width, uint steps, __global float *dst)
{
    uint e = 0;
    for (; e + 4 <= count; e += 4) {
        __global const float *r0 = src + (size_t)e * stride, *r1 = r0 + stride, *r2 = r1 + stride,
                             *r3 = r2 + stride;
        __global float *to = dst + e;
        uint s = 0;
        for (; s + 4 <= steps; s += 4, to += 4 * width) {
            float4 a = vload4(0, r0 + s), b = vload4(0, r1 + s), c = vload4(0, r2 + s),
                   d = vload4(0, r3 + s);
            vstore4((float4)(a.x, b.x, c.x, d.x), 0, to);
            vstore4((float4)(a.y, b.y, c.y, d.y), 0, to + width);
            vstore4((float4)(a.z, b.z, c.z, d.z), 0, to + 2 * width);
            vstore4((float4)(a.w, b.w, c.w, d.w), 0, to + 3 * width);
        }
        for (; s < steps; s++, to += width)
            vstore4((float4)(r0[s], r1[s], r2[s], r3[s]), 0, to);
    }
    for (; e < count; e++)
        for (uint s = 0; s < steps; s++)
            dst[s * width + e] = src[(size_t)e * stride + s];
    if (count < filled)
        for (uint s = 0; s < steps; s++)
            for (uint z = count; z < filled; z++)
                dst[s * width + z] = 0.0f;
}

/* One whole tile over one block of k, `wide` two vectors of columns or one: c = act(a b + bias +
 * keep c).  Step s reads a[s*a_step ...] and b[s*b_step ...].  c is not read when `keep` is 0; bias
 * may be NULL; `activate` asks for the activation. */
static inline __attribute__((always_inline)) void tile(const int wide, uint steps,
                                                       __global const float *a, uint a_step,
                                                       __global const float *b, uint b_step,
                                                       __global float *c, uint ldc, float keep,
                                                       __global const float *bias, int activate)
{
    real lo[CM_MR], hi[CM_MR];

#pragma unroll
    for (int i = 0; i < CM_MR; i++)
        lo[i] = hi[i] = (real)(0.0f);
    for (uint s = 0; s < steps; s++) {
        real b0 = CM_VLOAD(b), b1 = wide ? CM_VLOAD(b + CM_V) : (real)(0.0f);
#pragma unroll
        for (int i = 0; i < CM_MR; i++) {
            real ai = (real)(a[i]);
            lo[i] = fma(ai, b0, lo[i]);
            if (wide) hi[i] = fma(ai, b1, hi[i]);
        }
        a += a_step;
        b += b_step;
    }
    real bias0 = bias ? CM_VLOAD(bias) : (real)(0.0f),
         bias1 = bias && wide ? CM_VLOAD(bias + CM_V) : (real)(0.0f);
#pragma unroll
    for (int i = 0; i < CM_MR; i++, c += ldc) {
        real r0 = lo[i] + bias0, r1 = hi[i] + bias1;
        if (keep != 0.0f) {
            r0 = fma((real)(keep), CM_VLOAD(c), r0);
            if (wide) r1 = fma((real)(keep), CM_VLOAD(c + CM_V), r1);
        }
        CM_VSTORE(activate ? CM_EPILOGUE(r0) : r0, c);
        if (wide) CM_VSTORE(activate ? CM_EPILOGUE(r1) : r1, c + CM_V);
    }
}

/* A tile that hangs over the edge of C: done in `edge` [CM_MR][CM_NR], behind which a row for the
 * bias lies, and copied. */
static void edge_tile(uint rows, uint columns, uint steps, __global const float *a, uint a_step,
                      __global const float *b, uint b_step, __global float *c, uint ldc, float keep,
                      __global const float *bias, int activate, __global float *edge)
{
    __global float *row_of_bias = edge + CM_MR * CM_NR;

    if (bias)
        for (uint j = 0; j < CM_NR; j++)
            row_of_bias[j] = j < columns ? bias[j] : 0.0f;
    if (keep != 0.0f)
        for (uint i = 0; i < CM_MR; i++)
            for (uint j = 0; j < CM_NR; j++)
                edge[i * CM_NR + j] = i < rows && j < columns ? c[(size_t)i * ldc + j] : 0.0f;
    if (columns > CM_V)
        tile(1, steps, a, a_step, b, b_step, edge, CM_NR, keep, bias ? row_of_bias : 0, activate);
    else
        tile(0, steps, a, a_step, b, b_step, edge, CM_NR, keep, bias ? row_of_bias : 0, activate);
    for (uint i = 0; i < rows; i++)
        for (uint j = 0; j < columns; j++)
            c[(size_t)i * ldc + j] = edge[i * CM_NR + j];
}

/* Work-item (i, j) of `down` x `across` owns rows [i*rows_each, ...) and columns [j*columns_each,
 * ...) of C, multiples of CM_MR and CM_NR, and writes only them.  `workspace` has `part` floats for
 * each: first A's block, mc * kc, then B's, kc * columns_each, then the edge tile.  k = 0 gives
 * act(beta C + bias). */
__kernel void gemm(uint m, uint n, uint k, uint transpose_a, uint transpose_b, uint rows_each,
                   uint columns_each, uint mc, uint kc, uint pack_a, uint pack_b, float beta,
                   uint has_bias, uint activate, uint part, __global const float *a, uint a_at,
                   __global const float *b, uint b_at, __global float *c, uint c_at,
                   __global const float *bias, uint bias_at, __global float *workspace,
                   uint workspace_at)
{
    uint across = (n + columns_each - 1) / columns_each, id = get_global_id(0);
    uint i0 = id / across * rows_each, j0 = (id % across) * columns_each;
    if (i0 >= m) return;
    uint i1 = min(i0 + rows_each, m), j1 = min(j0 + columns_each, n);
    __global float *packed_a = workspace + workspace_at + (size_t)id * part,
                   *packed_b = packed_a + mc * kc;
    __global float *edge = packed_b + kc * columns_each;
    uint lda = transpose_a ? m : k, ldb = transpose_b ? k : n;
    a += a_at;
    b += b_at;
    c += c_at;
    bias += bias_at;

    for (uint s0 = 0; s0 < k || s0 == 0; s0 += kc) {
        uint steps = min(k - s0, kc);
        int last = s0 + steps >= k;
        float keep = s0 ? 1.0f : beta;
        for (uint j = j0; j < j1; j += CM_NR) {
            uint count = min(j1 - j, (uint)CM_NR);
            __global float *to = packed_b + (size_t)(j - j0) * steps;
            if (transpose_b)
                pack_columns(b + (size_t)j * ldb + s0, ldb, count, CM_FILLED(count), CM_NR, steps,
                             to);
            else if (pack_b || count < CM_NR)
                pack_rows(b + (size_t)s0 * ldb + j, ldb, count, CM_FILLED(count), CM_NR, steps, to);
        }
        for (uint ic = i0; ic < i1; ic += mc) {
            uint ie = min(ic + mc, i1);
            for (uint i = ic; i < ie; i += CM_MR) {
                uint count = min(ie - i, (uint)CM_MR);
                __global float *to = packed_a + (size_t)(i - ic) * steps;
                if (!transpose_a)
                    pack_columns(a + (size_t)i * lda + s0, lda, count, CM_MR, CM_MR, steps, to);
                else if (pack_a || count < CM_MR)
                    pack_rows(a + (size_t)s0 * lda + i, lda, count, CM_MR, CM_MR, steps, to);
            }
            for (uint j = j0; j < j1; j += CM_NR) {
                uint columns = min(j1 - j, (uint)CM_NR);
                int b_there = !transpose_b && !pack_b && columns == CM_NR;
                __global const float *bp =
                    b_there ? b + (size_t)s0 * ldb + j : packed_b + (size_t)(j - j0) * steps;
                for (uint i = ic; i < ie; i += CM_MR) {
                    uint rows = min(ie - i, (uint)CM_MR);
                    int a_there = transpose_a && !pack_a && rows == CM_MR;
                    __global const float *ap =
                        a_there ? a + (size_t)s0 * lda + i : packed_a + (size_t)(i - ic) * steps;
                    uint a_step = a_there ? lda : CM_MR, b_step = b_there ? ldb : CM_NR;
                    __global float *to = c + (size_t)i * n + j;
                    __global const float *row = last && has_bias ? bias + j : 0;
                    if (rows == CM_MR && columns == CM_NR)
                        tile(1, steps, ap, a_step, bp, b_step, to, n, keep, row, last && activate);
                    else
                        edge_tile(rows, columns, steps, ap, a_step, bp, b_step, to, n, keep, row,
                                  last && activate, edge);
                }
            }
        }
    }
}
