/* activation_softmax.c - the activations of whole rows: softmax and its logarithm over the last
 * axis.
 *
 * The kernels are in cl/softmax.cl.  Called by the owner of the stream. */
#include "nn/activation.h"

static cm_status softmax(cmi_stream *stream, size_t rows, size_t columns, cmi_view x, cmi_view y)
{
    return cmi_op_softmax(stream, false, rows, columns, x, y);
}

static cm_status softmax_gradient(cmi_stream *stream, size_t rows, size_t columns, cmi_view y,
                                  cmi_view dy, cmi_view dx)
{
    return cmi_op_softmax_gradient(stream, false, rows, columns, y, dy, dx);
}

static cm_status log_softmax(cmi_stream *stream, size_t rows, size_t columns, cmi_view x,
                             cmi_view y)
{
    return cmi_op_softmax(stream, true, rows, columns, x, y);
}

static cm_status log_softmax_gradient(cmi_stream *stream, size_t rows, size_t columns, cmi_view y,
                                      cmi_view dy, cmi_view dx)
{
    return cmi_op_softmax_gradient(stream, true, rows, columns, y, dy, dx);
}

extern const cmi_activation cmi_activation_softmax, cmi_activation_log_softmax;

const cmi_activation cmi_activation_softmax = {
    .entry = {"softmax", "exp(x) / sum of exp(x), over the last axis", 0, NULL},
    .needs_y = true,
    .forward = softmax,
    .backward = softmax_gradient};

const cmi_activation cmi_activation_log_softmax = {
    .entry = {"log_softmax", "x - log of the sum of exp(x), over the last axis", 0, NULL},
    .needs_y = true,
    .forward = log_softmax,
    .backward = log_softmax_gradient};
