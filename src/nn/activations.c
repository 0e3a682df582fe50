/* activations.c - finds an activation by its name and runs it: a formula over elements, or a
 * function of rows.
 *
 * Layers with an `activation` key and the activation layer itself come through here, so that
 * neither has to know which of the two kinds it holds.  Called by the owner of the stream; the
 * lookup by any thread. */
#include <string.h>
#include "nn/activation.h"

static const float no_parameters[4];

cm_status cmi_activation_find(const char *name, const cmi_activation **activation)
{
    const cmi_entry *entry = NULL;

    *activation = NULL;
    if (!name || !strcmp(name, "None")) name = "linear";
    CM_TRY(cmi_registry_find(&cmi_activation_registry, name, &entry));
    *activation = (const cmi_activation *)(const void *)entry; /* the entry is the first member */
    return CM_OK;
}

bool cmi_activation_is_linear(const cmi_activation *activation)
{
    return !strcmp(activation->entry.name, "linear");
}

cm_status cmi_activation_forward(const cmi_activation *activation, cmi_stream *stream, size_t rows,
                                 size_t columns, cmi_view x, cmi_view y)
{
    if (activation->forward) return activation->forward(stream, rows, columns, x, y);
    return cmi_op_map(stream, &activation->formula, no_parameters, rows * columns, x, y);
}

cm_status cmi_activation_backward(const cmi_activation *activation, cmi_stream *stream, size_t rows,
                                  size_t columns, cmi_view dy, cmi_view x, cmi_view y, cmi_view dx)
{
    if (activation->backward) return activation->backward(stream, rows, columns, y, dy, dx);
    /* A kernel argument must be a buffer even where the formula does not read it. */
    return cmi_op_map_gradient(stream, &activation->formula, no_parameters, rows * columns, dy,
                               activation->needs_x ? x : dy, activation->needs_y ? y : dy, dx);
}
