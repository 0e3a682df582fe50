/* layer_rescaling.c - y = scale x + offset, for inputs such as bytes of an image.
 *
 * infer on the main thread, forward and backward on the owner of the stream. */
#include "nn/layer.h"

typedef struct rescaling {
    cmi_layer_common common;
    double scale, offset;
} rescaling;

static const cmi_field fields[] = {{"scale", CMI_FIELD_FLOAT, offsetof(rescaling, scale), NULL, 0,
                                    0, "factor, such as 1/255", NULL},
                                   {"offset", CMI_FIELD_FLOAT, offsetof(rescaling, offset), "0.0",
                                    0, 0, "added after the factor", NULL},
                                   CMI_LAYER_FIELDS(rescaling),
                                   CMI_FIELDS_END};

static const cmi_formula formula = {"x * h0 + h1", "dy * h0"};

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    (void)config;
    spec->out = *in;
    return CM_OK;
}

static cm_status forward(const cmi_pass *pass)
{
    const rescaling *c = pass->config;
    const float h[4] = {(float)c->scale, (float)c->offset, 0, 0};

    return cmi_op_map(pass->stream, &formula, h, cmi_pass_count(pass), pass->x, pass->y);
}

static cm_status backward(const cmi_pass *pass)
{
    const rescaling *c = pass->config;
    const float h[4] = {(float)c->scale, 0, 0, 0};

    if (!pass->want_dx) return CM_OK;
    return cmi_op_map_gradient(pass->stream, &formula, h, cmi_pass_count(pass), pass->dy, pass->dy,
                               pass->dy, pass->dx);
}

static const struct cmi_specimen specimens[] = {
    {"rescaling scale=0.5 offset=-1", "5"}, {"rescaling scale=1/255", "3,3,2"}, {NULL, NULL}};

extern const cmi_layer cmi_layer_rescaling;
const cmi_layer cmi_layer_rescaling = {
    .entry = {"rescaling", "scale x + offset", sizeof(rescaling), fields},
    .class_name = "Rescaling",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .specimens = specimens};
