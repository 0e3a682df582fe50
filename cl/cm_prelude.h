/* cm_prelude.h - put before every kernel file: the vector type, loads and stores with a tail,
 * fixed-order sums, Philox.
 *
 * CM_V    floats in an explicit vector (1, 4, 8, 16); `real` is that vector, or float for 1
 * CM_CPU  1: a work-item runs over a strip of elements or rows, groups have one item;
 *         0: a work-item takes one element or row, groups share sums through local memory
 * Both are right on every device.  Sizes and offsets are uint, in elements. */
#ifndef CM_PRELUDE
#define CM_PRELUDE

#ifndef CM_V
#define CM_V 1
#endif
#ifndef CM_CPU
#define CM_CPU 0
#endif
#ifdef CM_EXACT
#pragma OPENCL FP_CONTRACT OFF
#endif

#define CM_JOIN2(a, b) a##b
#define CM_JOIN(a, b)  CM_JOIN2(a, b)
#if CM_V == 1
typedef float real;
typedef int whole;
typedef uint uwhole;
#define CM_VLOAD(p)     (*(p))
#define CM_VSTORE(v, p) (*(p) = (v))
#define CM_AS_WHOLE(x)  as_int(x)
#define CM_TO_REAL(x)   convert_float(x)
#else
typedef CM_JOIN(float, CM_V) real;
typedef CM_JOIN(int, CM_V) whole;
typedef CM_JOIN(uint, CM_V) uwhole;
#define CM_VLOAD(p)     CM_JOIN(vload, CM_V)(0, p)
#define CM_VSTORE(v, p) CM_JOIN(vstore, CM_V)(v, 0, p)
#define CM_AS_WHOLE(x)  CM_JOIN(as_int, CM_V)(x)
#define CM_TO_REAL(x)   CM_JOIN(convert_float, CM_V)(x)
#endif

/* Elements i ... i+CM_V-1 of p, `fill` from `end` on. */
static inline real cm_load_or(__global const float *p, uint i, uint end, float fill)
{
#if CM_V > 1
    if (i + CM_V > end) {
        float t[CM_V];
        for (uint k = 0; k < CM_V; k++)
            t[k] = i + k < end ? p[i + k] : fill;
        return CM_VLOAD(t);
    }
#endif
    return CM_VLOAD(p + i);
}

static inline real cm_load(__global const float *p, uint i, uint end)
{
    return cm_load_or(p, i, end, 0.0f);
}

/* Writes those elements that lie before `end`. */
static inline void cm_store(real v, __global float *p, uint i, uint end)
{
#if CM_V > 1
    if (i + CM_V > end) {
        float t[CM_V];
        CM_VSTORE(v, t);
        for (uint k = 0; i + k < end; k++)
            p[i + k] = t[k];
        return;
    }
#endif
    CM_VSTORE(v, p + i);
}

/* Lanes added, or compared, pairwise in a fixed order. */
#if CM_V == 1
static inline float cm_sum(real v)
{
    return v;
}
static inline float cm_max(real v)
{
    return v;
}
#else
static inline float cm_sum4(float4 v)
{
    return (v.x + v.z) + (v.y + v.w);
}
static inline float cm_max4(float4 v)
{
    return fmax(fmax(v.x, v.z), fmax(v.y, v.w));
}
#if CM_V == 4
static inline float cm_sum(real v)
{
    return cm_sum4(v);
}
static inline float cm_max(real v)
{
    return cm_max4(v);
}
#elif CM_V == 8
static inline float cm_sum(real v)
{
    return cm_sum4(v.lo + v.hi);
}
static inline float cm_max(real v)
{
    return cm_max4(fmax(v.lo, v.hi));
}
#else
static inline float cm_sum(real v)
{
    float8 h = v.lo + v.hi;
    return cm_sum4(h.lo + h.hi);
}
static inline float cm_max(real v)
{
    float8 h = fmax(v.lo, v.hi);
    return cm_max4(fmax(h.lo, h.hi));
}
#endif
#endif

/* Maximum of a row, and the sum of exp(x - top) over it. */
static inline float cm_row_max(__global const float *x, uint columns)
{
    real top = (real)(-INFINITY);
    for (uint c = 0; c < columns; c += CM_V)
        top = fmax(top, cm_load_or(x, c, columns, -INFINITY));
    return cm_max(top);
}

static inline float cm_row_sum_exp(__global const float *x, uint columns, float top)
{
    real sum = (real)(0.0f);
    for (uint c = 0; c < columns; c += CM_V)
        sum += exp(cm_load_or(x, c, columns, -INFINITY) - top);
    return cm_sum(sum);
}

/* Adds x to the unevaluated sum s = (high, low): Knuth's two-sum, exact whatever the sizes.  The
 * pair carries about 48 bits, so counts are exact far beyond any epoch. */
static inline float2 cm_add2(float2 s, float x)
{
    volatile float t = s.x + x;
    volatile float b = t - s.x;
    volatile float e = (s.x - (t - b)) + (x - b);
    return (float2)(t, s.y + e);
}

/* Philox4x32-10 (Salmon et al. 2011), the same numbers as src/base/rng.c. */
static inline uint4 cm_philox(uint4 c, uint2 k)
{
    for (int i = 0; i < 10; i++) {
        uint h0 = mul_hi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        uint h1 = mul_hi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = (uint4)(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
        k += (uint2)(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

#endif
