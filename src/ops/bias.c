/* bias.c - sums over rows; mirrors cl/bias.cl (the other kernel of that file belongs to
 * device/gemm.c). */
#include "ops/ops.h"

cm_status cmi_op_column_sums(cmi_stream *stream, size_t rows, size_t columns, float beta,
                             cmi_view dy, cmi_view db)
{
    static const cmi_kernel kernel = {.source = "bias", .name = "column_sums"};
    size_t vector = cmi_device_get_facts(cmi_stream_device(stream))->vector;

    return CMI_LAUNCH(stream, &kernel, ((cmi_range){.items = (columns + vector - 1) / vector}),
                      cmi_uint(rows), cmi_uint(columns), cmi_float((double)beta), cmi_buf(dy),
                      cmi_buf(db));
}
