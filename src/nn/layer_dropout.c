/* layer_dropout.c - in training, sets a part of the elements to 0 and scales the rest by 1/(1 -
 * rate).
 *
 * The mask is drawn from a counter that names seed, layer, step, row of the global batch and
 * element (cl/dropout.cl), so it is the same on any number of replicas and is drawn again in
 * backward instead of kept.
 *
 * infer on the main thread, forward and backward on the owner of the stream. */
#include "nn/layer.h"

typedef struct dropout {
    cmi_layer_common common;
    double rate;
    int64_t seed;
} dropout;

static const cmi_field fields[] = {{"rate", CMI_FIELD_FLOAT, offsetof(dropout, rate), NULL, 0, 1,
                                    "part of the elements that is dropped", NULL},
                                   {"seed", CMI_FIELD_INT, offsetof(dropout, seed), "None", 0, 0,
                                    "own seed instead of the model's", NULL},
                                   CMI_LAYER_FIELDS(dropout),
                                   CMI_FIELDS_END};

static const cmi_formula copy = {"x", "dy"};
static const float no_parameters[4];

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    spec->out = *in;
    spec->alias = ((const dropout *)config)->rate == 0;
    return CM_OK;
}

/* Forward and backward are the same map: the mask times the scale. */
static cm_status drop(const cmi_pass *pass, cmi_view from, cmi_view to)
{
    const dropout *c = pass->config;
    cmi_draw draw = pass->draw;
    int64_t columns = 0;
    bool counted = cmi_shape_count(&pass->in, &columns);

    CM_ASSERT(counted);
    if (!pass->training)
        return cmi_op_map(pass->stream, &copy, no_parameters, pass->rows * (size_t)columns, from,
                          to);
    if (c->seed != CMI_INT_NONE) draw.seed = (uint64_t)c->seed;
    return cmi_op_dropout(pass->stream, pass->rows, (size_t)columns, (float)c->rate, draw, from,
                          to);
}

static cm_status forward(const cmi_pass *pass)
{
    return drop(pass, pass->x, pass->y);
}

static cm_status backward(const cmi_pass *pass)
{
    return pass->want_dx ? drop(pass, pass->dy, pass->dx) : CM_OK;
}

static const struct cmi_specimen specimens[] = {{"dropout rate=0.5", "13"},
                                                {"dropout rate=0.1 seed=7", "3,5"},
                                                {"dropout rate=1", "4"},
                                                {NULL, NULL}};

extern const cmi_layer cmi_layer_dropout;
const cmi_layer cmi_layer_dropout = {
    .entry = {"dropout", "drops a part of the elements in training", sizeof(dropout), fields},
    .class_name = "Dropout",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .specimens = specimens};
