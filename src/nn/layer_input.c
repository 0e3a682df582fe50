/* layer_input.c - states the shape of one sample.  Nothing is launched.
 *
 * Its key `shape` fills the member that other layers fill by `input_shape`, so that a model looks
 * in one place.
 *
 * Main thread. */
#include "nn/layer.h"

typedef struct input {
    cmi_layer_common common;
} input;

static const cmi_field fields[] = {
    {"shape", CMI_FIELD_INTS, offsetof(input, common.input_shape), NULL, 1, 2147483647,
     "shape of one sample", NULL},
    {"name", CMI_FIELD_TEXT, offsetof(input, common.name), "None", 0, 0, "name of the layer", NULL},
    {"trainable", CMI_FIELD_BOOL, offsetof(input, common.trainable), "true", 0, 0,
     "without effect here", NULL},
    CMI_FIELDS_END};

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    const cmi_ints *stated = &((const input *)config)->common.input_shape;
    cmi_shape shape = {.rank = stated->count};
    char from[128], to[128];

    if (stated->count > CMI_MAX_RANK)
        return cmi_error(CM_E_SHAPE, "shape has %d axes; at most %d are possible", stated->count,
                         CMI_MAX_RANK);
    for (int i = 0; i < stated->count; i++)
        shape.dim[i] = stated->value[i];
    if (!cmi_shape_equal(&shape, in))
        return cmi_error(CM_E_SHAPE, "the input is %s, but the layer says %s",
                         cmi_shape_text(in, true, from, sizeof from),
                         cmi_shape_text(&shape, true, to, sizeof to));
    spec->out = *in;
    spec->alias = true;
    return CM_OK;
}

static const struct cmi_specimen specimens[] = {{"input shape=3,4", "3,4"}, {NULL, NULL}};

extern const cmi_layer cmi_layer_input;
const cmi_layer cmi_layer_input = {
    .entry = {"input", "states the shape of one sample", sizeof(input), fields},
    .class_name = "InputLayer",
    .infer = infer,
    .specimens = specimens};
