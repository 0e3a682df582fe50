/* loss_mean_squared_error.c - mean of (p - y)^2 over the last axis. */
#include "nn/loss.h"

typedef struct mean_squared {
    cmi_loss_common common;
} mean_squared;

static const cmi_field fields[] = {CMI_LOSS_FIELDS(mean_squared),
                                   CMI_FIELDS_END};

static const cmi_loss_formula formula = {"(p - y) * (p - y)", "2.0f * (p - y)"};

static cm_status run(cmi_stream *stream, const void *config, bool logits, const cmi_loss_run *run)
{
    static const float h[2];

    (void)config;
    (void)logits;
    return cmi_op_loss_elementwise(stream, &formula, h, run);
}

extern const cmi_loss cmi_loss_mean_squared_error;
const cmi_loss cmi_loss_mean_squared_error = {
    .entry = {"mean_squared_error", "mean of (p - y)^2", sizeof(mean_squared), fields},
    .labels = CMI_LABEL_VECTOR,
    .run = run};
