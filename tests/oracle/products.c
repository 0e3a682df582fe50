/* products.c - matrix product and column sums.  See oracle.h. */
#include <math.h>
#include "oracle/oracle.h"

void oracle_gemm_run(const oracle_gemm *g)
{
    for (size_t i = 0; i < g->m; i++) {
        for (size_t j = 0; j < g->n; j++) {
            size_t at = i * g->n + j;
            double sum = g->bias ? (double)g->bias[j] : 0, bound = fabs(sum);
            if (g->beta != 0) {
                sum += (double)g->beta * (double)g->c[at];
                bound += fabs((double)g->beta * (double)g->c[at]);
            }
            for (size_t s = 0; s < g->k; s++) {
                double a = (double)(g->transpose_a ? g->a[s * g->m + i] : g->a[i * g->k + s]);
                double b = (double)(g->transpose_b ? g->b[j * g->k + s] : g->b[s * g->n + j]);
                sum += a * b;
                bound += fabs(a * b);
            }
            g->c[at] = (float)sum;
            if (g->bound) g->bound[at] = (float)bound;
        }
    }
}

void oracle_column_sums(size_t rows, size_t columns, float beta, const float *dy, float *db)
{
    for (size_t c = 0; c < columns; c++) {
        double sum = beta != 0 ? (double)beta * (double)db[c] : 0;
        for (size_t r = 0; r < rows; r++)
            sum += (double)dy[r * columns + c];
        db[c] = (float)sum;
    }
}
