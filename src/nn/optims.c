/* optims.c - what all optimisers share: one kind of clipping at most.  Main thread. */
#include <math.h>
#include "nn/optim.h"

cm_status cmi_optim_check(const cmi_optim *optim, const void *config)
{
    const cmi_optim_common *c = config;
    int clips = (c->clipnorm > 0) + (c->global_clipnorm > 0) + (c->clipvalue > 0);

    if (clips <= 1) return CM_OK;
    return cmi_error(
        CM_E_INVALID,
        "%s: %d of clipnorm, global_clipnorm and clipvalue are given; at most one can be used",
        optim->entry.name, clips);
}
