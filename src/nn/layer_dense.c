/* layer_dense.c - y = act(x W + b), on the last axis.
 *
 * Shapes.  The input of one sample is [..., D], the output [..., U]; with all leading axes
 * multiplied into N the layer is a product of matrices: x [N,D], W [D,U], b [U], y [N,U].  One
 * product does everything when the activation is a formula whose derivative can be told from y:
 * bias and activation are part of its store.  An activation whose derivative needs its input z = x
 * W + b gets z kept as saved[0].
 *
 * infer on the main thread, forward and backward on the owner of the stream. */
#include "nn/activation.h"
#include "nn/layer.h"

typedef struct dense {
    cmi_layer_common common;
    int64_t units;
    char *activation;
    bool use_bias;
    char *kernel_initializer, *bias_initializer;
} dense;

static const cmi_field fields[] = {
    {"units", CMI_FIELD_INT, offsetof(dense, units), NULL, 1, 2147483647, "number of outputs",
     NULL},
    {"activation", CMI_FIELD_TEXT, offsetof(dense, activation), "None", 0, 0,
     "function of the outputs; None: linear", NULL},
    {"use_bias", CMI_FIELD_BOOL, offsetof(dense, use_bias), "true", 0, 0,
     "add a bias to each output", NULL},
    {"kernel_initializer", CMI_FIELD_SPEC, offsetof(dense, kernel_initializer), "glorot_uniform", 0,
     0, "first values of the kernel", NULL},
    {"bias_initializer", CMI_FIELD_SPEC, offsetof(dense, bias_initializer), "zeros", 0, 0,
     "first values of the bias", NULL},
    CMI_LAYER_FIELDS(dense),
    CMI_FIELDS_END};

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    const dense *c = config;
    const cmi_activation *activation = NULL;
    int64_t count = 0;
    char text[128];

    CM_TRY_CTX(cmi_activation_find(c->activation, &activation), "activation");
    if (in->rank < 1)
        return cmi_error(
            CM_E_SHAPE,
            "a dense layer needs an input with at least one axis beside the batch, not %s",
            cmi_shape_text(in, true, text, sizeof text));
    spec->out = *in;
    spec->out.dim[in->rank - 1] = c->units;
    spec->param[0] = (cmi_param_spec){.name = "kernel",
                                      .shape = {2, {in->dim[in->rank - 1], c->units}},
                                      .initializer = c->kernel_initializer ? c->kernel_initializer
                                                                           : "glorot_uniform"};
    spec->param[1] =
        (cmi_param_spec){.name = "bias",
                         .shape = {1, {c->units}},
                         .initializer = c->bias_initializer ? c->bias_initializer : "zeros"};
    spec->params = c->use_bias ? 2 : 1;
    if (!cmi_shape_count(&spec->out, &count) || !cmi_shape_count(&spec->param[0].shape, &count))
        return cmi_error(CM_E_SHAPE, "%lld outputs for the input %s are too many to count",
                         (long long)c->units, cmi_shape_text(in, true, text, sizeof text));
    spec->needs_x = true; /* for the gradient of the kernel */
    spec->needs_y = activation->needs_y;
    if (activation->needs_x) {
        (void)cmi_shape_count(&spec->out, &spec->saved_count[0]);
        spec->saved = 1;
    }
    return CM_OK;
}

/* N, D, U and the activation in force. */
typedef struct sizes {
    size_t rows, inputs, units;
    const cmi_activation *activation;
    bool linear;
} sizes;

static sizes sizes_of(const cmi_pass *pass)
{
    const dense *c = pass->config;
    sizes s = {.rows = pass->rows,
               .inputs = (size_t)pass->in.dim[pass->in.rank - 1],
               .units = (size_t)c->units};
    cm_status status = cmi_activation_find(c->activation, &s.activation);

    CM_ASSERT(!status); /* infer has found it */
    for (int i = 0; i + 1 < pass->in.rank; i++)
        s.rows *= (size_t)pass->in.dim[i];
    s.linear = pass->linear || cmi_activation_is_linear(s.activation);
    return s;
}

static cm_status forward(const cmi_pass *pass)
{
    const dense *c = pass->config;
    sizes s = sizes_of(pass);
    bool keeps = !s.linear && s.activation->needs_x;
    bool fused = !s.linear && !keeps && s.activation->formula.map;
    cmi_gemm product = {.m = s.rows,
                        .n = s.units,
                        .k = s.inputs,
                        .a = pass->x,
                        .b = pass->params[0],
                        .c = keeps ? pass->saved[0] : pass->y,
                        .activation = fused ? s.activation->formula.map : NULL};

    if (c->use_bias) product.bias = pass->params[1];
    CM_TRY(cmi_gemm_run(pass->stream, &product));
    if (s.linear || fused) return CM_OK;
    return cmi_activation_forward(s.activation, pass->stream, s.rows, s.units, product.c, pass->y);
}

/* dz = act'(dy); db = sum over N of dz, dW = x' dz, dx = dz W'. */
static cm_status backward(const cmi_pass *pass)
{
    const dense *c = pass->config;
    sizes s = sizes_of(pass);
    cmi_view dz = pass->dy; /* in place: dy is not needed afterwards */

    if (!s.linear)
        CM_TRY(cmi_activation_backward(s.activation, pass->stream, s.rows, s.units, pass->dy,
                                       s.activation->needs_x ? pass->saved[0] : pass->dy, pass->y,
                                       dz));
    if (pass->want_grads && c->use_bias)
        CM_TRY(
            cmi_op_column_sums(pass->stream, s.rows, s.units, pass->grad_beta, dz, pass->grads[1]));
    if (pass->want_grads)
        CM_TRY(cmi_gemm_run(pass->stream, &(cmi_gemm){.transpose_a = true,
                                                      .m = s.inputs,
                                                      .n = s.units,
                                                      .k = s.rows,
                                                      .a = pass->x,
                                                      .b = dz,
                                                      .c = pass->grads[0],
                                                      .beta = pass->grad_beta}));
    if (!pass->want_dx) return CM_OK;
    return cmi_gemm_run(pass->stream, &(cmi_gemm){.transpose_b = true,
                                                  .m = s.rows,
                                                  .n = s.inputs,
                                                  .k = s.units,
                                                  .a = dz,
                                                  .b = pass->params[0],
                                                  .c = pass->dx});
}

static const char *final_activation(const void *config)
{
    const dense *c = config;
    const cmi_activation *activation = NULL;

    return cmi_activation_find(c->activation, &activation) ? NULL : activation->entry.name;
}

static const struct cmi_specimen specimens[] = {
    {"dense units=5", "7"},
    {"dense units=3 activation=tanh use_bias=false", "4"},
    {"dense units=9 activation=gelu", "2,3,5"},
    {"dense units=6 activation=softmax", "11"},
    {"dense units=1 activation=sigmoid", "19"},
    {"dense units=33 activation=relu", "17"},
    {NULL, NULL}};

extern const cmi_layer cmi_layer_dense;
const cmi_layer cmi_layer_dense = {
    .entry = {"dense", "act(x W + b) on the last axis", sizeof(dense), fields},
    .class_name = "Dense",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .final_activation = final_activation,
    .specimens = specimens};
