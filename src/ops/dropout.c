/* dropout.c - drops elements by a counter-based draw; mirrors cl/dropout.cl. */
#include "ops/ops.h"

cm_status cmi_op_dropout(cmi_stream *stream, size_t rows, size_t columns, float rate, cmi_draw draw,
                         cmi_view x, cmi_view y)
{
    static const cmi_kernel kernel = {.source = "dropout", .name = "dropout"};
    size_t strip = 0;
    cmi_range range = cmi_row_strips(stream, rows, &strip);
    double scale = rate < 1.0f ? 1.0 / (1.0 - (double)rate) : 0.0;

    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(rows), cmi_uint(columns), cmi_uint(strip),
                      cmi_uint(draw.first_row), cmi_uint((uint32_t)draw.seed),
                      cmi_uint((uint32_t)(draw.seed >> 32)), cmi_uint(draw.step),
                      cmi_uint(draw.layer), cmi_float((double)rate), cmi_float(scale), cmi_buf(x),
                      cmi_buf(y));
}
