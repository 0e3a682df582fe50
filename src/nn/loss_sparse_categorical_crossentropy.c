/* loss_sparse_categorical_crossentropy.c - minus the logarithm of the probability of the labelled
 * class.
 *
 * Labels are class numbers.  Probabilities are clipped to [1e-7, 1 - 1e-7] and their logarithms
 * then taken as logits, as Keras does: -log p_y + log sum p.  Logits: -log softmax(z)_y.  The
 * kernel is in cl/loss.cl. */
#include "nn/loss.h"

typedef struct sparse {
    cmi_loss_common common;
    bool from_logits;
} sparse;

static const cmi_field fields[] = {CMI_FROM_LOGITS_FIELD(sparse),
                                   CMI_LOSS_FIELDS(sparse),
                                   CMI_FIELDS_END};

static cm_status run(cmi_stream *stream, const void *config, bool logits, const cmi_loss_run *run)
{
    const sparse *c = config;

    return cmi_op_loss_categorical(stream, true, logits || c->from_logits, 0.0f, run);
}

extern const cmi_loss cmi_loss_sparse_categorical_crossentropy;
const cmi_loss cmi_loss_sparse_categorical_crossentropy = {
    .entry = {"sparse_categorical_crossentropy", "cross-entropy against class numbers",
              sizeof(sparse), fields},
    .labels = CMI_LABEL_CLASS,
    .logits_of = "softmax",
    .run = run};
