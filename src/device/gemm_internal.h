/* gemm_internal.h - the two implementations behind gemm.c; m, n > 0 in both, k > 0 in CLBlast. */
#ifndef CMI_DEVICE_GEMM_INTERNAL_H
#define CMI_DEVICE_GEMM_INTERNAL_H

#include "device/gemm.h"

cm_status cmi_gemm_packed(cmi_stream *stream, const cmi_gemm *gemm);
/* Rows of its tile where the choice table names none. */
size_t cmi_gemm_default_rows(size_t vector);
/* Products run so far by this process with tiles of this many rows: tests of the choice. */
uint64_t cmi_gemm_tile_count(size_t rows);
/* Without bias and activation, which gemm.c adds. */
cm_status cmi_gemm_clblast(cmi_stream *stream, const cmi_gemm *gemm);

#endif
