/* gemm_internal.h - the two implementations behind gemm.c; m, n > 0 in both, k > 0 in CLBlast. */
#ifndef CMI_DEVICE_GEMM_INTERNAL_H
#define CMI_DEVICE_GEMM_INTERNAL_H

#include "device/gemm.h"

cm_status cmi_gemm_packed(cmi_stream *stream, const cmi_gemm *gemm);
/* Without bias and activation, which gemm.c adds. */
cm_status cmi_gemm_clblast(cmi_stream *stream, const cmi_gemm *gemm);

#endif
