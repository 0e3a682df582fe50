/* layer_reshape.c - another shape for the same elements; one size may be -1 and is then computed.
 *
 * Nothing is launched.  Main thread. */
#include <inttypes.h>
#include "nn/layer.h"

typedef struct reshape {
    cmi_layer_common common;
    cmi_ints target_shape;
} reshape;

static const cmi_field fields[] = {{"target_shape", CMI_FIELD_INTS, offsetof(reshape, target_shape),
                                    NULL, -1, 2147483647, "shape of one sample; -1: what is left",
                                    NULL},
                                   CMI_LAYER_FIELDS(reshape),
                                   CMI_FIELDS_END};

static cm_status does_not_fit(const cmi_shape *in, const cmi_shape *out)
{
    char from[128], to[128];

    return cmi_error(CM_E_SHAPE, "target_shape %s does not hold the elements of the input %s",
                     cmi_shape_text(out, true, to, sizeof to),
                     cmi_shape_text(in, true, from, sizeof from));
}

static cm_status infer(const void *config, const cmi_shape *in, cmi_layer_spec *spec)
{
    const reshape *c = config;
    int64_t have = 0, want = 0;
    int open = -1;

    if (c->target_shape.count > CMI_MAX_RANK)
        return cmi_error(CM_E_SHAPE, "target_shape has %d axes; at most %d are possible",
                         c->target_shape.count, CMI_MAX_RANK);
    spec->out.rank = c->target_shape.count;
    for (int i = 0; i < spec->out.rank; i++) {
        spec->out.dim[i] = c->target_shape.value[i];
        if (spec->out.dim[i] == 0)
            return cmi_error(
                CM_E_SHAPE, "target_shape has a 0 at place %d; a sample would have no elements", i);
        if (spec->out.dim[i] != -1) continue;
        if (open >= 0)
            return cmi_error(
                CM_E_SHAPE,
                "target_shape has -1 at places %d and %d; only one size can be computed", open, i);
        open = i;
    }
    cmi_shape known = spec->out;
    if (open >= 0) known.dim[open] = 1;
    if (!cmi_shape_count(in, &have) || !cmi_shape_count(&known, &want) || have % want ||
        (open < 0 && have != want))
        return does_not_fit(in, &spec->out);
    if (open >= 0) spec->out.dim[open] = have / want;
    spec->alias = true;
    return CM_OK;
}

static const struct cmi_specimen specimens[] = {
    {"reshape target_shape=3,8", "4,6"}, {"reshape target_shape=-1,2", "3,4"}, {NULL, NULL}};

extern const cmi_layer cmi_layer_reshape;
const cmi_layer cmi_layer_reshape = {
    .entry = {"reshape", "another shape for the same elements", sizeof(reshape), fields},
    .class_name = "Reshape",
    .infer = infer,
    .specimens = specimens};
