/* activation.h - what an activation function is: a formula over elements, or a function of whole
 * rows. */
#ifndef CMI_NN_ACTIVATION_H
#define CMI_NN_ACTIVATION_H

#include "base/registry.h"
#include "ops/ops.h"

typedef struct cmi_activation {
    cmi_entry entry;
    cmi_formula
        formula; /* pointwise; map is over x, gradient over dy, x, y; texts NULL for row functions */
    bool needs_x, needs_y; /* what the gradient reads */
    /* Row functions (softmax): over x [rows, columns]; y may be x, dx may be dy. */
    cm_status (*forward)(cmi_stream *stream, size_t rows, size_t columns, cmi_view x, cmi_view y);
    cm_status (*backward)(cmi_stream *stream, size_t rows, size_t columns, cmi_view y, cmi_view dy,
                          cmi_view dx);
} cmi_activation;

extern const cmi_registry cmi_activation_registry;

/* CM_E_NOT_FOUND lists the names; NULL and "linear" and "None" give the identity. */
cm_status cmi_activation_find(const char *name, const cmi_activation **activation);
/* y = act(x); y may be x when the gradient does not need x. */
cm_status cmi_activation_forward(const cmi_activation *activation, cmi_stream *stream, size_t rows,
                                 size_t columns, cmi_view x, cmi_view y);
/* dx = dy * act'(x); views of x or y that the gradient does not read may be empty; dx may be dy. */
cm_status cmi_activation_backward(const cmi_activation *activation, cmi_stream *stream, size_t rows,
                                  size_t columns, cmi_view dy, cmi_view x, cmi_view y, cmi_view dx);
bool cmi_activation_is_linear(const cmi_activation *activation);

#endif
