/* layer.h - what a layer is.
 *
 * A layer is a constant descriptor in its own file plus one line in registry.def.  `infer` is pure
 * and tells shapes; `forward` and `backward` only enqueue.  Shapes never contain the batch axis.
 * See src/README.md for how to add one. */
#ifndef CMI_NN_LAYER_H
#define CMI_NN_LAYER_H

#include "base/registry.h"
#include "base/shape.h"
#include "ops/ops.h"

/* Keys that every layer has; the first member of every layer's config struct. */
typedef struct cmi_layer_common {
    char *name;           /* NULL: automatic */
    cmi_ints input_shape; /* without the batch axis; count 0: not given */
    bool trainable;
} cmi_layer_common;

#define CMI_LAYER_FIELDS(config)                                                                   \
    {"name", CMI_FIELD_TEXT, offsetof(config, common.name), "None", 0, 0, "name of the layer",     \
     NULL},                                                                                        \
        {"input_shape",                                                                            \
         CMI_FIELD_INTS,                                                                           \
         offsetof(config, common.input_shape),                                                     \
         "None",                                                                                   \
         1,                                                                                        \
         2147483647,                                                                               \
         "shape of one sample, for the first layer",                                               \
         NULL},                                                                                    \
    {                                                                                              \
        "trainable", CMI_FIELD_BOOL, offsetof(config, common.trainable), "true", 0, 0,             \
            "false: parameters stay as they are", NULL                                             \
    }

enum { CMI_MAX_PARAMS = 8, CMI_MAX_SAVED = 4 };

typedef struct cmi_param_spec {
    const char *name; /* "kernel", "bias" */
    cmi_shape shape;
    const char *initializer; /* a spec; borrowed from the config, or static */
} cmi_param_spec;

/* What `infer` fills in; zeroed before. */
typedef struct cmi_layer_spec {
    cmi_shape out;
    int params;
    cmi_param_spec param[CMI_MAX_PARAMS];
    int saved;                          /* tensors kept from forward to backward */
    int64_t saved_count[CMI_MAX_SAVED]; /* floats per row */
    int64_t scratch_count;              /* floats per row, content lost after each call */
    bool alias;            /* y is x under another shape: forward and backward are not called */
    bool needs_x, needs_y; /* what backward reads */
} cmi_layer_spec;

/* One call of forward or backward.  Reads and writes are listed at the descriptor. */
typedef struct cmi_pass {
    cmi_stream *stream;
    const void *config;
    cmi_shape in, out; /* of one row */
    size_t rows;       /* > 0 */
    bool training;
    bool linear;   /* last layer only: leave the final activation out (the loss works on logits) */
    cmi_draw draw; /* names the random numbers of this layer and step */
    cmi_view x, y, dx, dy;
    const cmi_view *params, *grads, *saved;
    cmi_view scratch;
    float grad_beta; /* grads = grad_beta * grads + gradient; 0: grads are not read */
    bool want_dx;    /* false for the first layer, dx is not there then */
    bool want_grads; /* false for a layer that is not trainable */
} cmi_pass;

/* Elements of x in this call; of y too where a layer keeps the shape. */
static inline size_t cmi_pass_count(const cmi_pass *pass)
{
    int64_t count = 0;
    bool counted = cmi_shape_count(&pass->in, &count);

    CM_ASSERT(counted);
    return (size_t)count * pass->rows;
}

typedef struct cmi_layer {
    cmi_entry entry;
    const char *class_name; /* Keras' spelling: "Dense" */
    /* Pure.  CM_E_SHAPE or CM_E_INVALID says what does not fit; the caller adds the layer's name.
     */
    cm_status (*infer)(const void *config, const cmi_shape *in, cmi_layer_spec *spec);
    /* Reads x, params; writes y, saved. */
    cm_status (*forward)(const cmi_pass *pass);
    /* Reads dy, params, saved, x if needs_x, y if needs_y; writes dx if want_dx and grads if
     * want_grads.  dy may be destroyed. */
    cm_status (*backward)(const cmi_pass *pass);
    /* Name of the activation that makes the output ("softmax", "sigmoid", ...), which `linear`
     * leaves out; NULL function: none. */
    const char *(*final_activation)(const void *config);
    /* Configurations on which every layer is checked by the tests: {spec, shape of one row as text
     * "4,3"}, ended by a NULL spec. */
    const struct cmi_specimen {
        const char *spec, *in;
    } * specimens;
} cmi_layer;

extern const cmi_registry cmi_layer_registry;

#endif
