/* inits.c - runs an initialiser given as text, and the fans that its scale may depend on.
 *
 * Main thread. */
#include "nn/init.h"

cm_status cmi_init_fill(const char *spec, const cmi_shape *shape, cmi_rng *rng, float *values)
{
    const cmi_entry *entry = NULL;
    void *config = NULL;

    CM_TRY(cmi_registry_parse(&cmi_init_registry, spec, &entry, &config));
    const cmi_init *init =
        (const cmi_init *)(const void *)entry; /* the entry is the first member */
    cm_status status = init->fill(config, shape, rng, values);
    cmi_config_free(entry, config);
    return status;
}

void cmi_init_fans(const cmi_shape *shape, double *fan_in, double *fan_out)
{
    int rank = shape->rank;
    double field = 1; /* size of a convolution's window */

    *fan_in = *fan_out = rank == 1 ? (double)shape->dim[0] : 1.0;
    if (rank < 2) return;
    for (int i = 0; i + 2 < rank; i++)
        field *= (double)shape->dim[i];
    *fan_in = (double)shape->dim[rank - 2] * field;
    *fan_out = (double)shape->dim[rank - 1] * field;
}
