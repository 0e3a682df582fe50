/* weights.c - initial values of the parameters, computed once on the host and copied to every
 * replica. */
#include <string.h>
#include "base/mem.h"
#include "model/model.h"

cm_status cmi_weights_init(const cmi_sequential *model, const cmi_plan *plan, uint64_t seed,
                           float *arena)
{
    for (int t = 0; t < plan->tensor_count; t++) {
        const cmi_tensor_place *tensor = &plan->tensors[t];
        const cmi_node *node = &model->nodes[tensor->node];
        const cmi_param_spec *spec = &node->spec.param[tensor->param];
        cmi_rng rng;

        /* One stream per tensor, named by its position, so that no tensor depends on the sizes of
         * others. */
        cmi_rng_init(&rng, seed, CMI_RNG_WEIGHTS,
                     (uint64_t)tensor->node * CMI_MAX_PARAMS + (uint64_t)tensor->param);
        CM_TRY_CTX(cmi_init_fill(spec->initializer, &spec->shape, &rng, arena + tensor->offset),
                   "layer \"%s\": parameter \"%s\"", node->name, spec->name);
    }
    return CM_OK;
}
