/* gemm.c - picks the implementation of a product and adds the epilogue where the implementation has
 * none.
 *
 * CLBlast on GPUs and accelerators, where it is tuned per vendor; our packed kernel on CPU devices,
 * where CLBlast reaches only a few percent of a CPU BLAS; unless the choice table knows better
 * (choice.h).  CLMIRROR_GEMM forces one. Zero sizes are decided here: CLBlast refuses them.
 *
 * Called by the owner of the stream. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/knob.h"
#include "device/gemm_internal.h"
#include "device/internal.h"

static _Atomic uint64_t counts[3];

uint64_t cmi_gemm_count(cmi_gemm_choice choice)
{
    return atomic_load(&counts[choice]);
}

cmi_gemm_choice cmi_gemm_choose(const cmi_stream *stream, const cmi_gemm *gemm)
{
    const char *wish = cmi_knob_text(CMI_KNOB_GEMM);

    if (!gemm->k) return CMI_GEMM_PACKED;
    if (!strcmp(wish, "packed")) return CMI_GEMM_PACKED;
    if (!strcmp(wish, "clblast")) return CMI_GEMM_CLBLAST;
    cmi_gemm_choice tuned = cmi_choice_gemm(stream->device, gemm).implementation;
    if (tuned != CMI_GEMM_AUTO) return tuned;
    return stream->device->facts.info.kind == CM_DEVICE_CPU ? CMI_GEMM_PACKED : CMI_GEMM_CLBLAST;
}

/* c = act(c + bias) as a pass over C. */
static cm_status epilogue(cmi_stream *stream, const cmi_gemm *gemm)
{
    char defines[512];
    cmi_kernel kernel = {.source = "bias", .name = "bias_activation", .defines = defines};
    size_t strip = 0;
    cmi_range range = cmi_row_strips(stream, gemm->m, &strip);

    snprintf(defines, sizeof defines, "#define CM_EPILOGUE(x) (%s)\n",
             gemm->activation ? gemm->activation : "x");
    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(gemm->m), cmi_uint(gemm->n), cmi_uint(strip),
                      cmi_uint(gemm->bias.buffer != NULL),
                      cmi_buf(gemm->bias.buffer ? gemm->bias : gemm->c), cmi_buf(gemm->c));
}

cm_status cmi_gemm_run_as(cmi_stream *stream, const cmi_gemm *gemm, cmi_gemm_choice choice)
{
    if (!gemm->m || !gemm->n) return CM_OK;
    if (choice == CMI_GEMM_AUTO || !gemm->k) choice = cmi_gemm_choose(stream, gemm);
    atomic_fetch_add(&counts[choice], 1);
    if (choice == CMI_GEMM_PACKED) return cmi_gemm_packed(stream, gemm);
    CM_TRY(cmi_gemm_clblast(stream, gemm));
    if (gemm->bias.buffer || gemm->activation) return epilogue(stream, gemm);
    return CM_OK;
}

cm_status cmi_gemm_run(cmi_stream *stream, const cmi_gemm *gemm)
{
    return cmi_gemm_run_as(stream, gemm, CMI_GEMM_AUTO);
}
