/* oracle.h - what the kernels must compute, in plain loops over doubles.
 *
 * No tricks: shapes in comments, one loop per axis.  Results are rounded to float once, so they are
 * as right as a float can be. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* C [m,n] = op(A) op(B) + bias [n] + beta C; bias NULL: none.  `bound` [m,n], may be NULL: sum of
 * |a b| + |bias| + |beta c|, which limits the rounding error. */
typedef struct oracle_gemm {
    bool transpose_a, transpose_b;
    size_t m, n, k;
    const float *a, *b, *bias;
    float beta;
    float *c, *bound;
} oracle_gemm;
void oracle_gemm_run(const oracle_gemm *g);

/* db [columns] = sum over rows of dy [rows, columns] + beta db. */
void oracle_column_sums(size_t rows, size_t columns, float beta, const float *dy, float *db);

/* Over the last axis of x [rows, columns]. */
void oracle_softmax(bool logarithm, size_t rows, size_t columns, const float *x, float *y);
void oracle_softmax_gradient(bool logarithm, size_t rows, size_t columns, const float *y,
                             const float *dy, float *dx);

/* Row r is row first_row + r of the global batch. */
typedef struct oracle_dropout {
    size_t rows, columns;
    float rate;
    uint64_t seed;
    uint32_t layer, step, first_row;
} oracle_dropout;
void oracle_dropout_run(const oracle_dropout *d, const float *x, float *y);

/* Cross-entropy over classes: values [items] and gradients [items, classes], both times the item's
 * weight (NULL: 1), gradients also times scale.  Labels are class numbers or target vectors, the
 * other is NULL. */
typedef struct oracle_loss {
    size_t items, classes;
    bool logits;
    float smoothing, scale;
    const int32_t *class_label;
    const float *target, *pred, *weight;
    float *value, *gradient;
} oracle_loss;
void oracle_categorical(const oracle_loss *l);
/* Mean of (p - y)^2 over the item. */
void oracle_squared_error(const oracle_loss *l);

/* One Adam update of n elements, epsilon outside the root. */
typedef struct oracle_adam {
    double rate, beta_1, beta_2, epsilon, decay;
    uint64_t step;
} oracle_adam;
void oracle_adam_run(const oracle_adam *a, size_t n, const float *g, float *p, float *m, float *v);

#endif
