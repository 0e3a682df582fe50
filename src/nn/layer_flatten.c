/* layer_flatten.c - all axes of a sample become one.  Only the shape changes; nothing is launched.
 *
 * Main thread. */
#include "nn/layer.h"

typedef struct flatten {
    cmi_layer_common common;
} flatten;

static const cmi_field fields[] = {CMI_LAYER_FIELDS(flatten), CMI_FIELDS_END};

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    int64_t count = 0;
    char text[128];

    (void)config;
    if (!cmi_shape_count(in, &count))
        return cmi_error(CM_E_SHAPE, "the input %s has too many elements to count",
                         cmi_shape_text(in, true, text, sizeof text));
    spec->out = (cmi_shape){1, {count}};
    spec->alias = true;
    return CM_OK;
}

static const struct cmi_specimen specimens[] = {
    {"flatten", "3,2,4"}, {"flatten", "5"}, {NULL, NULL}};

extern const cmi_layer cmi_layer_flatten;
const cmi_layer cmi_layer_flatten = {
    .entry = {"flatten", "all axes of a sample become one", sizeof(flatten), fields},
    .class_name = "Flatten",
    .infer = infer,
    .specimens = specimens};
