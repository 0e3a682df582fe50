/* metric.c - hits of the accuracies and the sums of an epoch; mirrors cl/metric.cl. */
#include "ops/ops.h"

/* All kernels of the file are asked for in one form, so that they share a program. */
cm_status cmi_op_accuracy(cmi_stream *stream, cmi_accuracy kind, size_t items, size_t classes,
                          float threshold, cmi_view label, cmi_view pred, cmi_view value)
{
    static const cmi_kernel kernels[] = {
        [CMI_ACCURACY_SPARSE] = {.source = "metric", .name = "sparse_accuracy", .exact = true},
        [CMI_ACCURACY_CATEGORICAL] = {.source = "metric",
                                      .name = "categorical_accuracy",
                                      .exact = true},
        [CMI_ACCURACY_BINARY] = {.source = "metric", .name = "binary_accuracy", .exact = true}};
    size_t strip = 0;
    cmi_range range = cmi_row_strips(stream, items, &strip);

    if (kind == CMI_ACCURACY_BINARY)
        return CMI_LAUNCH(stream, &kernels[kind], range, cmi_uint(items), cmi_uint(classes),
                          cmi_uint(strip), cmi_float((double)threshold), cmi_buf(label),
                          cmi_buf(pred), cmi_buf(value));
    return CMI_LAUNCH(stream, &kernels[kind], range, cmi_uint(items), cmi_uint(classes),
                      cmi_uint(strip), cmi_buf(label), cmi_buf(pred), cmi_buf(value));
}

cm_status cmi_op_fold(cmi_stream *stream, size_t items, size_t arrays, size_t stride, float factor0,
                      float control_scale, cmi_view value, cmi_view sums, cmi_view control)
{
    static const cmi_kernel kernel = {.source = "metric", .name = "fold", .exact = true};

    return CMI_LAUNCH(stream, &kernel, ((cmi_range){.groups = arrays}), cmi_uint(arrays),
                      cmi_uint(items), cmi_uint(stride), cmi_float((double)factor0),
                      cmi_float((double)control_scale), cmi_buf(value), cmi_buf(sums),
                      cmi_buf(control));
}
