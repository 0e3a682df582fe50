/* gemm_clblast.c - the product by CLBlast.
 *
 * CLBlast fills a static parameter table and compiles kernels at the first call of each kind,
 * without a lock in the versions that distributions ship.  So the first product on each device runs
 * under one process-wide mutex; later ones need none.  Its temporary memory is passed in from the
 * stream's workspace, so that no product allocates.
 *
 * Called by the owner of the stream. */
#include <pthread.h>
#include <stdatomic.h>
#include "device/gemm_internal.h"
#include "device/internal.h"
#include <clblast_c.h>

static pthread_mutex_t first_call = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool used;

static cm_status product(cmi_stream *stream, const cmi_gemm *g)
{
    CLBlastTranspose ta = g->transpose_a ? CLBlastTransposeYes : CLBlastTransposeNo;
    CLBlastTranspose tb = g->transpose_b ? CLBlastTransposeYes : CLBlastTransposeNo;
    size_t lda = g->transpose_a ? g->m : g->k, ldb = g->transpose_b ? g->k : g->n, bytes = 0;
    cl_mem a = g->a.buffer->handle, b = g->b.buffer->handle, c = g->c.buffer->handle;
    cmi_buffer *workspace = NULL;

    CLBlastStatusCode code = CLBlastSGemmTempBufferSize(CLBlastLayoutRowMajor, ta, tb, g->m, g->n,
                                                        g->k, g->a.offset, lda, g->b.offset, ldb,
                                                        g->c.offset, g->n, &stream->queue, &bytes);
    if (code != CLBlastSuccess) return cmi_cl_error(code, "CLBlastSGemmTempBufferSize");
    if (bytes) CM_TRY(cmi_stream_workspace(stream, bytes, &workspace));
    code = CLBlastSgemmWithTempBuffer(CLBlastLayoutRowMajor, ta, tb, g->m, g->n, g->k, 1.0f, a,
                                      g->a.offset, lda, b, g->b.offset, ldb, g->beta, c,
                                      g->c.offset, g->n, &stream->queue, NULL,
                                      workspace ? workspace->handle : NULL);
    cmi_stream_beat(stream);
    if (code != CLBlastSuccess) return cmi_cl_error(code, "CLBlastSgemmWithTempBuffer");
    stream->launches++;
    return CM_OK;
}

cm_status cmi_gemm_clblast(cmi_stream *stream, const cmi_gemm *gemm)
{
    cm_status status = CM_OK;

    cmi_stream_assert_owner(stream);
    if (stream->device->clblast_used) {
        status = product(stream, gemm);
    } else {
        cmi_device_building(stream->device, true);
        pthread_mutex_lock(&first_call);
        atomic_store(&used, true);
        status = product(stream, gemm);
        stream->device->clblast_used = !status;
        pthread_mutex_unlock(&first_call);
        cmi_device_building(stream->device, false);
    }
    if (status)
        cmi_error_prefix("product %zu x %zu x %zu%s%s", gemm->m, gemm->n, gemm->k,
                         gemm->transpose_a ? ", A'" : "", gemm->transpose_b ? ", B'" : "");
    return status;
}

void cmi_gemm_clear_cache(void)
{
    /* Cached programs hold contexts, which static destructors would release after the driver is
     * gone. */
    pthread_mutex_lock(&first_call);
    if (atomic_exchange(&used, false)) CLBlastClearCache();
    pthread_mutex_unlock(&first_call);
}
