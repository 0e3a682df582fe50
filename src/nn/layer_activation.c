/* layer_activation.c - an activation as a layer of its own: y = act(x).
 *
 * infer on the main thread, forward and backward on the owner of the stream. */
#include "nn/activation.h"
#include "nn/layer.h"

typedef struct activation_layer {
    cmi_layer_common common;
    char *activation;
} activation_layer;

static const cmi_field fields[] = {{"activation", CMI_FIELD_TEXT,
                                    offsetof(activation_layer, activation), NULL, 0, 0,
                                    "name of the function", NULL},
                                   CMI_LAYER_FIELDS(activation_layer),
                                   CMI_FIELDS_END};

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    const activation_layer *c = config;
    const cmi_activation *activation = NULL;

    CM_TRY_CTX(cmi_activation_find(c->activation, &activation), "activation");
    if (activation->forward && in->rank < 1)
        return cmi_error(CM_E_SHAPE, "%s needs an input with at least one axis beside the batch",
                         activation->entry.name);
    spec->out = *in;
    spec->alias = cmi_activation_is_linear(activation);
    spec->needs_x = activation->needs_x;
    spec->needs_y = activation->needs_y;
    return CM_OK;
}

/* Rows and columns as the row functions see them; formulas only need their product. */
static const cmi_activation *prepare(const cmi_pass *pass, size_t *rows, size_t *columns)
{
    const cmi_activation *activation = NULL;
    cm_status status = cmi_activation_find(
        pass->linear ? "linear" : ((const activation_layer *)pass->config)->activation,
        &activation);

    CM_ASSERT(!status); /* infer has found it */
    *rows = pass->rows;
    *columns = pass->in.rank ? (size_t)pass->in.dim[pass->in.rank - 1] : 1;
    for (int i = 0; i + 1 < pass->in.rank; i++)
        *rows *= (size_t)pass->in.dim[i];
    return activation;
}

static cm_status forward(const cmi_pass *pass)
{
    size_t rows, columns;
    const cmi_activation *activation = prepare(pass, &rows, &columns);

    return cmi_activation_forward(activation, pass->stream, rows, columns, pass->x, pass->y);
}

static cm_status backward(const cmi_pass *pass)
{
    size_t rows, columns;
    const cmi_activation *activation = prepare(pass, &rows, &columns);

    if (!pass->want_dx) return CM_OK;
    return cmi_activation_backward(activation, pass->stream, rows, columns, pass->dy, pass->x,
                                   pass->y, pass->dx);
}

static const char *final_activation(const void *config)
{
    const cmi_activation *activation = NULL;

    return cmi_activation_find(((const activation_layer *)config)->activation, &activation)
               ? NULL
               : activation->entry.name;
}

static const struct cmi_specimen specimens[] = {
    {"activation activation=relu", "13"},         {"activation activation=relu6", "13"},
    {"activation activation=leaky_relu", "13"},   {"activation activation=elu", "13"},
    {"activation activation=selu", "13"},         {"activation activation=celu", "13"},
    {"activation activation=gelu", "13"},         {"activation activation=silu", "13"},
    {"activation activation=mish", "13"},         {"activation activation=softplus", "13"},
    {"activation activation=softsign", "13"},     {"activation activation=tanh", "2,7"},
    {"activation activation=hard_tanh", "13"},    {"activation activation=sigmoid", "13"},
    {"activation activation=hard_sigmoid", "13"}, {"activation activation=hard_silu", "13"},
    {"activation activation=exponential", "13"},  {"activation activation=log_sigmoid", "13"},
    {"activation activation=softmax", "3,11"},    {"activation activation=log_softmax", "3,11"},
    {"activation activation=linear", "5"},        {NULL, NULL}};

extern const cmi_layer cmi_layer_activation;
const cmi_layer cmi_layer_activation = {.entry = {"activation",
                                                  "an activation as a layer of its own",
                                                  sizeof(activation_layer), fields},
                                        .class_name = "Activation",
                                        .infer = infer,
                                        .forward = forward,
                                        .backward = backward,
                                        .final_activation = final_activation,
                                        .specimens = specimens};
