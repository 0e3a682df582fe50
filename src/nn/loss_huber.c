/* loss_huber.c - square for small errors, absolute value for large ones (Huber 1964); delta is the
 * border.
 *
 *     d = p - y:  |d| <= delta: d^2 / 2      else: delta |d| - delta^2 / 2 */
#include "nn/loss.h"

typedef struct huber {
    cmi_loss_common common;
    double delta;
} huber;

static const cmi_field fields[] = {{"delta", CMI_FIELD_FLOAT, offsetof(huber, delta), "1.0", 0,
                                    1e30, "border between square and line", NULL},
                                   CMI_LOSS_FIELDS(huber),
                                   CMI_FIELDS_END};

static const cmi_loss_formula formula = {
    "fabs(p - y) > h0 ? h0 * fabs(p - y) - 0.5f * h0 * h0 : 0.5f * (p - y) * (p - y)",
    "(fabs(p - y) > h0 ? h0 * sign(p - y) : p - y)"};

static cm_status run(cmi_stream *stream, const void *config, bool logits, const cmi_loss_run *run)
{
    const float h[2] = {(float)((const huber *)config)->delta, 0.0f};

    (void)logits;
    return cmi_op_loss_elementwise(stream, &formula, h, run);
}

extern const cmi_loss cmi_loss_huber;
const cmi_loss cmi_loss_huber = {.entry = {"huber",
                                           "square of small errors, absolute value of large ones",
                                           sizeof(huber), fields},
                                 .labels = CMI_LABEL_VECTOR,
                                 .run = run};
