/* loss.h - what a loss is.
 *
 * A loss turns every item of the output (a vector along its last axis) into one number and, in
 * training, into the gradient of its part of the total, already divided by the global divisor. */
#ifndef CMI_NN_LOSS_H
#define CMI_NN_LOSS_H

#include "base/registry.h"
#include "base/shape.h"
#include "ops/ops.h"

/* How labels lie in memory. */
typedef enum cmi_label_kind {
    CMI_LABEL_CLASS, /* int32, one per item, 0 ... classes-1 */
    CMI_LABEL_VECTOR /* float32, the shape of the output */
} cmi_label_kind;

typedef enum cmi_reduction {
    CMI_REDUCE_MEAN,         /* sum_over_batch_size, mean: D = items of the global batch */
    CMI_REDUCE_SUM,          /* D = 1 */
    CMI_REDUCE_WEIGHTED_MEAN /* mean_with_sample_weight: D = sum of the weights of the global batch */
} cmi_reduction;

/* The first member of every loss's config. */
typedef struct cmi_loss_common {
    int reduction; /* cmi_reduction, through cmi_reduction_of */
    char *name;
} cmi_loss_common;

extern const char
    *const cmi_reduction_names[]; /* sum_over_batch_size, mean, sum, mean_with_sample_weight */
cmi_reduction cmi_reduction_of(const cmi_loss_common *common);

#define CMI_LOSS_FIELDS(config)                                                                    \
    {"reduction",                                                                                  \
     CMI_FIELD_ENUM,                                                                               \
     offsetof(config, common.reduction),                                                           \
     "sum_over_batch_size",                                                                        \
     0,                                                                                            \
     0,                                                                                            \
     "how items become one number",                                                                \
     cmi_reduction_names},                                                                         \
    {                                                                                              \
        "name", CMI_FIELD_TEXT, offsetof(config, common.name), "None", 0, 0, "name of the loss",   \
            NULL                                                                                   \
    }

#define CMI_FROM_LOGITS_FIELD(config)                                                              \
    {                                                                                              \
        "from_logits", CMI_FIELD_BOOL, offsetof(config, from_logits), "false", 0, 0,               \
            "the output holds logits, not probabilities", NULL                                     \
    }

typedef struct cmi_loss {
    cmi_entry entry;
    cmi_label_kind labels;
    /* Activation whose result the loss would take the logarithm of: when the model's output comes
     * directly from it, the loss works on its input instead, without clipping ("softmax",
     * "sigmoid"; NULL: never). */
    const char *logits_of;
    /* Enqueues values and gradients; `logits` overrides from_logits with true. */
    cm_status (*run)(cmi_stream *stream, const void *config, bool logits, const cmi_loss_run *run);
} cmi_loss;

extern const cmi_registry cmi_loss_registry;

#endif
