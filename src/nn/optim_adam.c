/* optim_adam.c - Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015, algorithm
 * 1 with the bias correction moved into the step size, as in its section 2), AMSGrad (Reddi et al.
 * 2018) and AdamW (Loshchilov and Hutter 2019: the decay is taken from the weights, not added to
 * the gradient).
 *
 *     alpha = lr sqrt(1 - beta_2^t) / (1 - beta_1^t)
 *     m += (g - m)(1 - beta_1);  v += (g^2 - v)(1 - beta_2);  p -= m alpha / (sqrt(v) + epsilon)
 *
 * h0 alpha, h1 1 - beta_1, h2 1 - beta_2, h3 epsilon.  Keras rounds 1 - beta once, but takes powers
 * of the float32 beta and goes on in float32; the difference shows in the fifth digit of the first
 * step.
 *
 * Slots: m, v and, with amsgrad, the largest v.  scalars is called by each worker, all get the
 * same. */
#include <math.h>
#include "nn/optim.h"

typedef struct adam {
    cmi_optim_common common;
    double beta_1, beta_2, epsilon;
    bool amsgrad;
} adam;

/* beta stays below 1: at 1 the correction divides by zero. */
#define ADAM_FIELDS(decay)                                                                         \
    {                                                                                              \
        {"beta_1",                                                                                 \
         CMI_FIELD_FLOAT,                                                                          \
         offsetof(adam, beta_1),                                                                   \
         "0.9",                                                                                    \
         0,                                                                                        \
         0.9999999,                                                                                \
         "how much of the mean of gradients stays per step",                                       \
         NULL},                                                                                    \
            {"beta_2",                                                                             \
             CMI_FIELD_FLOAT,                                                                      \
             offsetof(adam, beta_2),                                                               \
             "0.999",                                                                              \
             0,                                                                                    \
             0.9999999,                                                                            \
             "how much of the mean of squares stays per step",                                     \
             NULL},                                                                                \
            {"epsilon",                                                                            \
             CMI_FIELD_FLOAT,                                                                      \
             offsetof(adam, epsilon),                                                              \
             "1e-07",                                                                              \
             0,                                                                                    \
             1e30,                                                                                 \
             "added to the root, against division by zero",                                        \
             NULL},                                                                                \
            {"amsgrad",                                                                            \
             CMI_FIELD_BOOL,                                                                       \
             offsetof(adam, amsgrad),                                                              \
             "false",                                                                              \
             0,                                                                                    \
             0,                                                                                    \
             "divide by the largest mean of squares so far",                                       \
             NULL},                                                                                \
            CMI_OPTIM_FIELDS(adam, "0.001", decay),                                                \
        {                                                                                          \
            NULL, CMI_FIELD_INT, 0, NULL, 0, 0, NULL, NULL                                         \
        }                                                                                          \
    }

static const cmi_field adam_fields[] = ADAM_FIELDS("None");
static const cmi_field adamw_fields[] = ADAM_FIELDS("0.004");

static int slots(const void *config)
{
    const adam *c = config;

    return c->amsgrad ? 3 : 2;
}

static const char *body(const void *config)
{
    const adam *c = config;

    return c->amsgrad
               ? "s0 += (g - s0) * h1; s1 += (g * g - s1) * h2; s2 = (s2 < s1) ? s1 : s2; "
                 "p -= s0 * h0 / (sqrt(s2) + h3);"
               : "s0 += (g - s0) * h1; s1 += (g * g - s1) * h2; p -= s0 * h0 / (sqrt(s1) + h3);";
}

static float power(double beta, uint64_t step)
{
    return (float)pow((double)(float)beta, (double)step);
}

static void scalars(const void *config, uint64_t step, double rate, float h[8])
{
    const adam *c = config;

    h[0] = (float)rate * sqrtf(1.0f - power(c->beta_2, step)) / (1.0f - power(c->beta_1, step));
    h[1] = (float)(1.0 - c->beta_1);
    h[2] = (float)(1.0 - c->beta_2);
    h[3] = (float)c->epsilon;
}

extern const cmi_optim cmi_optim_adam, cmi_optim_adamw;

const cmi_optim cmi_optim_adam = {
    .entry = {"adam", "steps scaled by running means of gradients and squares", sizeof(adam),
              adam_fields},
    .slots = slots,
    .body = body,
    .scalars = scalars};

const cmi_optim cmi_optim_adamw = {
    .entry = {"adamw", "adam with weight decay", sizeof(adam), adamw_fields},
    .slots = slots,
    .body = body,
    .scalars = scalars};
