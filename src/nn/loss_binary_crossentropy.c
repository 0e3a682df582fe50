/* loss_binary_crossentropy.c - each element of the output is the probability of a yes.
 *
 * Probabilities p, clipped to [1e-7, 1 - 1e-7]: -t log p - (1 - t) log(1 - p).  Logits z: max(z, 0)
 * - z t + log(1 + exp(-|z|)), which does not overflow.  Smoothed targets: t = y (1 - s) + s / 2,
 * with s in h0. */
#include "nn/loss.h"

typedef struct binary {
    cmi_loss_common common;
    bool from_logits;
    double label_smoothing;
} binary;

static const cmi_field fields[] = {CMI_FROM_LOGITS_FIELD(binary),
                                   {"label_smoothing", CMI_FIELD_FLOAT,
                                    offsetof(binary, label_smoothing), "0.0", 0, 1,
                                    "moves targets this part of the way to 1/2", NULL},
                                   CMI_LOSS_FIELDS(binary),
                                   CMI_FIELDS_END};

#define TARGET "((y) * (1.0f - h0) + 0.5f * h0)"
#define LOW    "1e-7f"
#define HIGH   "(1.0f - 1e-7f)"
/* Not clamp(): its result for not-a-number is not defined, and a diverged model must be seen. */
#define CLIPPED "((p) < " LOW " ? " LOW " : (p) > " HIGH " ? " HIGH " : (p))"

static const cmi_loss_formula of_logits = {"fmax(p, 0.0f) - p * " TARGET " + log1p(exp(-fabs(p)))",
                                           "1.0f / (1.0f + exp(-(p))) - " TARGET};

static const cmi_loss_formula of_probabilities = {
    "-(" TARGET " * log(" CLIPPED ") + (1.0f - " TARGET ") * log(1.0f - " CLIPPED "))",
    "((p) < " LOW " || (p) > " HIGH " ? 0.0f : (1.0f - " TARGET ") / (1.0f - (p)) - " TARGET
    " / (p))"};

static cm_status run(cmi_stream *stream, const void *config, bool logits, const cmi_loss_run *run)
{
    const binary *c = config;
    const float h[2] = {(float)c->label_smoothing, 0.0f};

    return cmi_op_loss_elementwise(
        stream, logits || c->from_logits ? &of_logits : &of_probabilities, h, run);
}

extern const cmi_loss cmi_loss_binary_crossentropy;
const cmi_loss cmi_loss_binary_crossentropy = {
    .entry = {"binary_crossentropy", "cross-entropy of yes and no, element by element",
              sizeof(binary), fields},
    .labels = CMI_LABEL_VECTOR,
    .logits_of = "sigmoid",
    .run = run};
