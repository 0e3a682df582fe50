/* init.h - what an initialiser is: fills the host copy of a new parameter from a random stream.
 *
 * Values depend on (seed, position of the tensor in the model) and the shape alone, not on the
 * number of devices. */
#ifndef CMI_NN_INIT_H
#define CMI_NN_INIT_H

#include "base/registry.h"
#include "base/rng.h"
#include "base/shape.h"

typedef struct cmi_init {
    cmi_entry entry;
    cm_status (*fill)(const void *config, const cmi_shape *shape, cmi_rng *rng, float *values);
} cmi_init;

extern const cmi_registry cmi_init_registry;

/* Parses `spec` and fills `values` (as many as the shape counts). */
cm_status cmi_init_fill(const char *spec, const cmi_shape *shape, cmi_rng *rng, float *values);
/* Fans of a shape as Keras takes them: rank 1 both n; rank 2 rows, columns; else last two axes
 * times the leading. */
void cmi_init_fans(const cmi_shape *shape, double *fan_in, double *fan_out);

#endif
