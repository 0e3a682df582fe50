/* optim_sgd.c - gradient descent, with momentum (Polyak 1964) and Nesterov's look ahead (Sutskever
 * et al. 2013, in the form that needs the gradient at p only).
 *
 *     v = momentum v - lr g;  p += v,  nesterov: p += momentum v - lr g
 *
 * h0 learning rate, h1 momentum.  Slot: v, if there is momentum.  scalars is called by each
 * worker. */
#include "nn/optim.h"

typedef struct sgd {
    cmi_optim_common common;
    double momentum;
    bool nesterov;
} sgd;

static const cmi_field fields[] = {{"momentum", CMI_FIELD_FLOAT, offsetof(sgd, momentum), "0.0", 0,
                                    1, "part of the last step that goes on", NULL},
                                   {"nesterov", CMI_FIELD_BOOL, offsetof(sgd, nesterov), "false", 0,
                                    0, "look ahead along the momentum", NULL},
                                   CMI_OPTIM_FIELDS(sgd, "0.01", "None"),
                                   CMI_FIELDS_END};

static int slots(const void *config)
{
    return ((const sgd *)config)->momentum > 0;
}

static const char *body(const void *config)
{
    const sgd *c = config;

    if (!(c->momentum > 0)) return "p -= h0 * g;";
    return c->nesterov ? "s0 = h1 * s0 - h0 * g; p += h1 * s0 - h0 * g;"
                       : "s0 = h1 * s0 - h0 * g; p += s0;";
}

static void scalars(const void *config, uint64_t step, double rate, float h[8])
{
    (void)step;
    h[0] = (float)rate;
    h[1] = (float)((const sgd *)config)->momentum;
}

extern const cmi_optim cmi_optim_sgd;
const cmi_optim cmi_optim_sgd = {
    .entry = {"sgd", "gradient descent, with momentum", sizeof(sgd), fields},
    .slots = slots,
    .body = body,
    .scalars = scalars};
