/* layer_relu.c - the rectifier as a layer, with a slope below, a threshold and a ceiling.
 *
 *     x > threshold: min(x, max_value)      else: negative_slope (x - threshold)
 *
 * The kinks follow Keras, which composes the layer from other functions: at the threshold the
 * derivative is 0, but negative_slope where Keras uses its leaky relu (no ceiling, threshold 0); at
 * the ceiling it is 1, but 0 where Keras uses relu6.
 *
 * infer on the main thread, forward and backward on the owner of the stream. */
#include <math.h>
#include "nn/layer.h"

typedef struct relu {
    cmi_layer_common common;
    double max_value, negative_slope, threshold;
} relu;

static const cmi_field fields[] = {{"max_value", CMI_FIELD_FLOAT, offsetof(relu, max_value), "None",
                                    0, 1e30, "ceiling of the result", NULL},
                                   {"negative_slope", CMI_FIELD_FLOAT,
                                    offsetof(relu, negative_slope), "0", 0, 1e30,
                                    "slope below the threshold", NULL},
                                   {"threshold", CMI_FIELD_FLOAT, offsetof(relu, threshold), "0", 0,
                                    1e30, "where the function begins to rise", NULL},
                                   CMI_LAYER_FIELDS(relu),
                                   CMI_FIELDS_END};

/* h0 ceiling, h1 slope, h2 threshold, h3 derivative at the threshold.  Without a slope the left
 * side is a plain zero, since 0 times minus infinity is not a number. */
static const cmi_formula flat = {"(x <= h2) ? (real)(0.0f) : (x > h0) ? (real)(h0) : x",
                                 "(x <= h2) ? (real)(0.0f) : (x > h0) ? (real)(0.0f) : dy"};
static const cmi_formula sloped = {
    "(x <= h2) ? h1 * (x - h2) : (x > h0) ? (real)(h0) : x",
    "(x < h2) ? h1 * dy : (x <= h2) ? h3 * dy : (x > h0) ? (real)(0.0f) : dy"};

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    (void)config;
    spec->out = *in;
    spec->needs_x = true;
    return CM_OK;
}

static void parameters(const relu *c, bool derivative, float h[4])
{
    bool ceiling = !isnan(c->max_value);
    bool relu6 = ceiling && c->max_value == 6 && c->threshold == 0;

    h[0] = ceiling ? (float)c->max_value : INFINITY;
    if (derivative && relu6) h[0] = nextafterf(h[0], 0.0f);
    h[1] = (float)c->negative_slope;
    h[2] = (float)c->threshold;
    h[3] = !ceiling && c->threshold == 0 ? h[1] : 0.0f;
}

static cm_status forward(const cmi_pass *pass)
{
    const relu *c = pass->config;
    float h[4];

    parameters(c, false, h);
    return cmi_op_map(pass->stream, c->negative_slope > 0 ? &sloped : &flat, h, cmi_pass_count(pass),
                      pass->x, pass->y);
}

static cm_status backward(const cmi_pass *pass)
{
    const relu *c = pass->config;
    float h[4];

    if (!pass->want_dx) return CM_OK;
    parameters(c, true, h);
    return cmi_op_map_gradient(pass->stream, c->negative_slope > 0 ? &sloped : &flat, h,
                               cmi_pass_count(pass), pass->dy, pass->x, pass->dy, pass->dx);
}

static const struct cmi_specimen specimens[] = {
    {"relu", "9"},
    {"relu max_value=1.5 negative_slope=0.1 threshold=0.2", "3,7"},
    {"relu negative_slope=0.25", "2,3,3"},
    {NULL, NULL}};

extern const cmi_layer cmi_layer_relu;
const cmi_layer cmi_layer_relu = {
    .entry = {"relu", "rectifier with slope, threshold and ceiling", sizeof(relu), fields},
    .class_name = "ReLU",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .specimens = specimens};
