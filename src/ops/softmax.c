/* softmax.c - softmax over the last axis and its gradient; mirrors cl/softmax.cl. */
#include "ops/ops.h"

cm_status cmi_op_softmax(cmi_stream *stream, bool logarithm, size_t rows, size_t columns,
                         cmi_view x, cmi_view y)
{
    static const cmi_kernel kernel = {.source = "softmax", .name = "softmax"};
    size_t strip = 0;
    cmi_range range = cmi_row_strips(stream, rows, &strip);

    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(rows), cmi_uint(columns), cmi_uint(strip),
                      cmi_uint(logarithm), cmi_buf(x), cmi_buf(y));
}

cm_status cmi_op_softmax_gradient(cmi_stream *stream, bool logarithm, size_t rows, size_t columns,
                                  cmi_view y, cmi_view dy, cmi_view dx)
{
    static const cmi_kernel kernel = {.source = "softmax", .name = "softmax_gradient"};
    size_t strip = 0;
    cmi_range range = cmi_row_strips(stream, rows, &strip);

    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(rows), cmi_uint(columns), cmi_uint(strip),
                      cmi_uint(logarithm), cmi_buf(y), cmi_buf(dy), cmi_buf(dx));
}
