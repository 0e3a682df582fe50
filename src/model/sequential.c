/* sequential.c - the ordered list of configured layers.
 *
 * Layers come as specs ("dense units=64 activation=relu").  Automatic names are Keras': the layer's
 * name, then name_1, name_2, ... per model.  When the input shape is known, all shapes are, and
 * every later add is checked at once; without it the first fit or predict supplies it.
 *
 * Called by the thread that owns the model. */
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "model/model.h"

cm_status cmi_sequential_init(cmi_sequential *model, const char *name)
{
    memset(model, 0, sizeof *model);
    return cmi_strdup(name, &model->name);
}

static void free_node(cmi_node *node)
{
    if (node->layer) cmi_config_free(&node->layer->entry, node->config);
    cmi_free(node->name);
}

void cmi_sequential_free(cmi_sequential *model)
{
    for (int i = 0; i < model->count; i++)
        free_node(&model->nodes[i]);
    cmi_free(model->nodes);
    cmi_free(model->name);
    memset(model, 0, sizeof *model);
}

static bool name_taken(const cmi_sequential *model, const char *name)
{
    for (int i = 0; i < model->count; i++)
        if (!strcmp(model->nodes[i].name, name)) return true;
    return false;
}

static cm_status choose_name(const cmi_sequential *model, cmi_node *node)
{
    const cmi_layer_common *common = node->config;
    char name[128];

    if (common->name) {
        if (name_taken(model, common->name))
            return cmi_error(CM_E_INVALID, "the model has a layer named \"%s\" already",
                             common->name);
        return cmi_strdup(common->name, &node->name);
    }
    snprintf(name, sizeof name, "%s", node->layer->entry.name);
    for (int i = 1; name_taken(model, name); i++)
        snprintf(name, sizeof name, "%s_%d", node->layer->entry.name, i);
    return cmi_strdup(name, &node->name);
}

static cm_status infer_node(cmi_node *node, const cmi_shape *in)
{
    char text[160];

    node->in = *in;
    memset(&node->spec, 0, sizeof node->spec);
    CM_TRY_CTX(node->layer->infer(node->config, in, &node->spec), "layer \"%s\" with input %s",
               node->name, cmi_shape_text(in, true, text, sizeof text));
    node->out = node->spec.out;
    return CM_OK;
}

const cmi_shape *cmi_sequential_output(const cmi_sequential *model)
{
    return model->count ? &model->nodes[model->count - 1].out : &model->input;
}

/* The shape that a first layer's input_shape (or an input layer's shape) gives. */
static bool given_shape(const cmi_node *node, cmi_shape *shape)
{
    const cmi_layer_common *common = node->config;

    if (!common->input_shape.count || common->input_shape.count > CMI_MAX_RANK) return false;
    shape->rank = common->input_shape.count;
    for (int i = 0; i < shape->rank; i++)
        shape->dim[i] = common->input_shape.value[i];
    return true;
}

cm_status cmi_sequential_add(cmi_sequential *model, const char *spec)
{
    cmi_node node = {0};
    const cmi_entry *entry = NULL;
    cm_status status = CM_OK;
    cmi_shape shape;

    CM_TRY(cmi_realloc((size_t)model->count + 1, sizeof *model->nodes, (void **)&model->nodes));
    CM_TRY(cmi_registry_parse(&cmi_layer_registry, spec, &entry, &node.config));
    node.layer = (const cmi_layer *)entry;
    CM_TRY_GOTO(fail, choose_name(model, &node));
    bool given = given_shape(&node, &shape);
    if (given && model->count &&
        !(model->has_input && cmi_shape_equal(&shape, cmi_sequential_output(model)))) {
        char wanted[160];
        status =
            cmi_error(CM_E_SHAPE, "layer \"%s\" says input_shape %s, but it is not the first layer",
                      node.name, cmi_shape_text(&shape, true, wanted, sizeof wanted));
        goto fail;
    }
    if (given && !model->count) {
        model->input = shape;
        model->has_input = true;
    }
    if (model->has_input) {
        status = infer_node(&node, model->count ? cmi_sequential_output(model) : &model->input);
        if (status && !model->count) model->has_input = false;
        if (status) goto fail;
    }
    model->nodes[model->count++] = node;
    return CM_OK;
fail:
    free_node(&node);
    return status;
}

cm_status cmi_sequential_infer(cmi_sequential *model, const cmi_shape *input)
{
    const cmi_shape *in = input;

    for (int i = 0; i < model->count; i++) {
        CM_TRY(infer_node(&model->nodes[i], in));
        in = &model->nodes[i].out;
    }
    model->input = *input;
    model->has_input = true;
    return CM_OK;
}

const char *cmi_sequential_final_activation(const cmi_sequential *model)
{
    const cmi_node *last = model->count ? &model->nodes[model->count - 1] : NULL;

    return last && last->layer->final_activation ? last->layer->final_activation(last->config)
                                                 : NULL;
}

bool cmi_node_trainable(const cmi_node *node)
{
    return ((const cmi_layer_common *)node->config)->trainable;
}
