/* loss_categorical_crossentropy.c - cross-entropy against target vectors.
 *
 * Probabilities are divided by their sum and clipped to [1e-7, 1 - 1e-7]: -sum of t log p.  Logits:
 * -sum of t log softmax(z).  Smoothed targets: t (1 - s) + s / classes.  The kernel is in
 * cl/loss.cl. */
#include "nn/loss.h"

typedef struct categorical {
    cmi_loss_common common;
    bool from_logits;
    double label_smoothing;
} categorical;

static const cmi_field fields[] = {CMI_FROM_LOGITS_FIELD(categorical),
                                   {"label_smoothing", CMI_FIELD_FLOAT,
                                    offsetof(categorical, label_smoothing), "0.0", 0, 1,
                                    "part of each target that is spread over all classes", NULL},
                                   CMI_LOSS_FIELDS(categorical),
                                   CMI_FIELDS_END};

static cm_status run(cmi_stream *stream, const void *config, bool logits, const cmi_loss_run *run)
{
    const categorical *c = config;

    return cmi_op_loss_categorical(stream, false, logits || c->from_logits,
                                   (float)c->label_smoothing, run);
}

extern const cmi_loss cmi_loss_categorical_crossentropy;
const cmi_loss cmi_loss_categorical_crossentropy = {
    .entry = {"categorical_crossentropy", "cross-entropy against target vectors",
              sizeof(categorical), fields},
    .labels = CMI_LABEL_VECTOR,
    .logits_of = "softmax",
    .run = run};
