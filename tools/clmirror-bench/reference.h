/* reference.h - OpenBLAS, opened at run time: what a matrix product may cost on the same cores. */
#ifndef CLMIRROR_BENCH_REFERENCE_H
#define CLMIRROR_BENCH_REFERENCE_H

#include <stdbool.h>

/* Opens the library, which then stays open, and sets its threads; prints path, configuration and
 * threads.  False after a message. */
bool reference_open(int threads);
/* C = op(A) op(B), row-major, dense. */
void reference_gemm(bool transpose_a, bool transpose_b, int m, int n, int k, const float *a,
                    const float *b, float *c);

#endif
