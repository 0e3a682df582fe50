/* loss.c - per-item losses and gradients; mirrors cl/loss.cl. */
#include <stdio.h>
#include "ops/ops.h"

enum { DEFINES = 1024 };

/* An argument must be a buffer even where the kernel does not touch it. */
static cmi_view or_else(cmi_view view, cmi_view other)
{
    return view.buffer ? view : other;
}

cm_status cmi_op_loss_elementwise(cmi_stream *stream, const cmi_loss_formula *formula,
                                  const float h[2], const cmi_loss_run *run)
{
    char defines[DEFINES];
    cmi_kernel kernel = {.source = "loss", .name = "elementwise", .defines = defines};
    size_t strip = 0;
    cmi_range range = cmi_row_strips(stream, run->items, &strip);

    int length = snprintf(defines, DEFINES,
                          "#define CM_LOSS_VALUE(y, p) (%s)\n#define CM_LOSS_GRADIENT(y, p) (%s)\n",
                          formula->value, formula->gradient);
    CM_ASSERT(length < DEFINES);
    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(run->items), cmi_uint(run->classes),
                      cmi_uint(strip), cmi_float((double)h[0]), cmi_float((double)h[1]),
                      cmi_float((double)run->scale), cmi_uint(run->weight.buffer != NULL),
                      cmi_uint(run->dpred.buffer != NULL), cmi_buf(run->label), cmi_buf(run->pred),
                      cmi_buf(or_else(run->weight, run->pred)), cmi_buf(run->value),
                      cmi_buf(or_else(run->dpred, run->value)));
}

cm_status cmi_op_loss_categorical(cmi_stream *stream, bool sparse, bool logits, float smoothing,
                                  const cmi_loss_run *run)
{
    static const char *const defines[2][2] = {{"#define CM_SPARSE 0\n#define CM_LOGITS 0\n",
                                               "#define CM_SPARSE 0\n#define CM_LOGITS 1\n"},
                                              {"#define CM_SPARSE 1\n#define CM_LOGITS 0\n",
                                               "#define CM_SPARSE 1\n#define CM_LOGITS 1\n"}};
    cmi_kernel kernel = {
        .source = "loss", .name = "categorical", .defines = defines[sparse][logits]};
    size_t strip = 0;
    cmi_range range = cmi_row_strips(stream, run->items, &strip);

    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(run->items), cmi_uint(run->classes),
                      cmi_uint(strip), cmi_float((double)smoothing), cmi_float((double)run->scale),
                      cmi_uint(run->weight.buffer != NULL), cmi_uint(run->dpred.buffer != NULL),
                      cmi_buf(run->label), cmi_buf(run->pred),
                      cmi_buf(or_else(run->weight, run->pred)), cmi_buf(run->value),
                      cmi_buf(or_else(run->dpred, run->value)));
}
