/* gemm.h - the matrix product, one function with two implementations (gemm.c says how one is
 * chosen).
 *
 *     C [m,n] = act(op(A) [m,k] op(B) [k,n] + bias [n] + beta C)        row-major float32
 *
 * op(A) is A [m,k] or, transposed, A [k,m]; the same for B.  Matrices are dense (leading dimension
 * = columns). With beta 0 the old content of C is never read.  k = 0 gives act(bias + beta C); m or
 * n = 0 is nothing. */
#ifndef CMI_DEVICE_GEMM_H
#define CMI_DEVICE_GEMM_H

#include "device/stream.h"

typedef struct cmi_gemm {
    bool transpose_a, transpose_b;
    size_t m, n, k;
    cmi_view a, b, c;
    float beta;
    cmi_view bias; /* buffer NULL: none */
    /* Formula of the activation over `x` as OpenCL text ("fmax(x, (real)(0.0f))"), NULL: none.
     * Fused into the store of the packed kernel, a pass of its own after CLBlast. */
    const char *activation;
} cmi_gemm;

typedef enum cmi_gemm_choice { CMI_GEMM_AUTO, CMI_GEMM_PACKED, CMI_GEMM_CLBLAST } cmi_gemm_choice;

/* Enqueues; never blocks, but the first product of a kind on a device compiles. */
cm_status cmi_gemm_run(cmi_stream *stream, const cmi_gemm *gemm);
/* The same with an implementation forced: benches and tests. */
cm_status cmi_gemm_run_as(cmi_stream *stream, const cmi_gemm *gemm, cmi_gemm_choice choice);
/* What AUTO means for this device and shape. */
cmi_gemm_choice cmi_gemm_choose(const cmi_stream *stream, const cmi_gemm *gemm);
/* Products run so far by this process with an implementation: tests of the choice. */
uint64_t cmi_gemm_count(cmi_gemm_choice choice);
/* To be called when the last device of the process is closed. */
void cmi_gemm_clear_cache(void);

#endif
