/* loss_mean_absolute_error.c - mean of |p - y| over the last axis.  The derivative at 0 is 0. */
#include "nn/loss.h"

typedef struct mean_absolute {
    cmi_loss_common common;
} mean_absolute;

static const cmi_field fields[] = {CMI_LOSS_FIELDS(mean_absolute),
                                   CMI_FIELDS_END};

static const cmi_loss_formula formula = {"fabs(p - y)", "sign(p - y)"};

static cm_status run(cmi_stream *stream, const void *config, bool logits, const cmi_loss_run *run)
{
    static const float h[2];

    (void)config;
    (void)logits;
    return cmi_op_loss_elementwise(stream, &formula, h, run);
}

extern const cmi_loss cmi_loss_mean_absolute_error;
const cmi_loss cmi_loss_mean_absolute_error = {
    .entry = {"mean_absolute_error", "mean of |p - y|", sizeof(mean_absolute), fields},
    .labels = CMI_LABEL_VECTOR,
    .run = run};
