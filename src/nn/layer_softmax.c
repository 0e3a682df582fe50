/* layer_softmax.c - softmax over the last axis as a layer of its own.
 *
 * LIMIT: only the last axis; another one would need a kernel with strides.  infer on the main
 * thread, forward and backward on the owner of the stream. */
#include "nn/layer.h"

typedef struct softmax {
    cmi_layer_common common;
    int64_t axis;
} softmax;

static const cmi_field fields[] = {{"axis", CMI_FIELD_INT, offsetof(softmax, axis), "-1", 0, 0,
                                    "axis of the sum: the last one", NULL},
                                   CMI_LAYER_FIELDS(softmax),
                                   CMI_FIELDS_END};

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    const softmax *c = config;
    char text[128];

    /* Axis 0 is the batch, so the last axis of a sample of rank r has number r. */
    if (in->rank < 1 || (c->axis != -1 && c->axis != in->rank))
        return cmi_error(CM_E_UNSUPPORTED,
                         "axis=%lld of the input %s; only the last axis is possible: axis=-1",
                         (long long)c->axis, cmi_shape_text(in, true, text, sizeof text));
    spec->out = *in;
    spec->needs_y = true;
    return CM_OK;
}

static size_t columns_of(const cmi_pass *pass)
{
    return (size_t)pass->in.dim[pass->in.rank - 1];
}

static size_t rows_of(const cmi_pass *pass)
{
    size_t rows = pass->rows;

    for (int i = 0; i + 1 < pass->in.rank; i++)
        rows *= (size_t)pass->in.dim[i];
    return rows;
}

static const cmi_formula copy = {"x", "dy"};
static const float no_parameters[4];

static cm_status forward(const cmi_pass *pass)
{
    size_t rows = rows_of(pass), columns = columns_of(pass);

    if (pass->linear)
        return cmi_op_map(pass->stream, &copy, no_parameters, rows * columns, pass->x, pass->y);
    return cmi_op_softmax(pass->stream, false, rows, columns, pass->x, pass->y);
}

static cm_status backward(const cmi_pass *pass)
{
    size_t rows = rows_of(pass), columns = columns_of(pass);

    if (!pass->want_dx) return CM_OK;
    if (pass->linear)
        return cmi_op_map(pass->stream, &copy, no_parameters, rows * columns, pass->dy, pass->dx);
    return cmi_op_softmax_gradient(pass->stream, false, rows, columns, pass->y, pass->dy, pass->dx);
}

static const char *final_activation(const void *config)
{
    (void)config;
    return "softmax";
}

static const struct cmi_specimen specimens[] = {
    {"softmax", "5"}, {"softmax axis=3", "2,3,17"}, {"softmax", "1"}, {NULL, NULL}};

extern const cmi_layer cmi_layer_softmax;
const cmi_layer cmi_layer_softmax = {
    .entry = {"softmax", "softmax over the last axis", sizeof(softmax), fields},
    .class_name = "Softmax",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .final_activation = final_activation,
    .specimens = specimens};
