/* optim_rmsprop.c - steps scaled by a running mean of squares (Tieleman and Hinton 2012); centered
 * takes the square of the running mean away (Graves 2013).
 *
 *     v = rho v + (1 - rho) g^2;  centered: a = rho a + (1 - rho) g
 *     i = lr g / sqrt(v [- a^2] + epsilon);  p -= i,  with momentum: b = momentum b + i, p -= b
 *
 * h0 learning rate, h1 rho, h2 1 - rho, h3 epsilon, h4 momentum.  Slots in Keras' order: v, then b
 * if there is momentum, then a if centered.  scalars is called by each worker. */
#include "nn/optim.h"

typedef struct rmsprop {
    cmi_optim_common common;
    double rho, momentum, epsilon;
    bool centered;
} rmsprop;

static const cmi_field fields[] = {
    {"rho", CMI_FIELD_FLOAT, offsetof(rmsprop, rho), "0.9", 0, 1,
     "how much of the mean of squares stays per step", NULL},
    {"momentum", CMI_FIELD_FLOAT, offsetof(rmsprop, momentum), "0.0", 0, 1,
     "part of the last step that goes on", NULL},
    {"epsilon", CMI_FIELD_FLOAT, offsetof(rmsprop, epsilon), "1e-07", 0, 1e30,
     "added inside the root", NULL},
    {"centered", CMI_FIELD_BOOL, offsetof(rmsprop, centered), "false", 0, 0,
     "divide by the deviation, not the root of the mean of squares", NULL},
    CMI_OPTIM_FIELDS(rmsprop, "0.001", "None"),
    CMI_FIELDS_END};

static int slots(const void *config)
{
    const rmsprop *c = config;

    return 1 + (c->momentum > 0) + c->centered;
}

#define SQUARES  "s0 = h1 * s0 + h2 * (g * g); "
#define PLAIN    "h0 * g / sqrt(s0 + h3)"
#define MEAN(s)  #s " = h1 * " #s " + h2 * g; "
#define ROOT(s)  "h0 * g / sqrt(s0 - " #s " * " #s " + h3)"
#define CARRY(i) "s1 = h4 * s1 + " i "; p -= s1;"

static const char *body(const void *config)
{
    const rmsprop *c = config;

    if (c->momentum > 0)
        return c->centered ? SQUARES MEAN(s2) CARRY(ROOT(s2)) : SQUARES CARRY(PLAIN);
    return c->centered ? SQUARES MEAN(s1) "p -= " ROOT(s1) ";" : SQUARES "p -= " PLAIN ";";
}

static void scalars(const void *config, uint64_t step, double rate, float h[8])
{
    const rmsprop *c = config;

    (void)step;
    h[0] = (float)rate;
    h[1] = (float)c->rho;
    h[2] = (float)(1.0 - c->rho);
    h[3] = (float)c->epsilon;
    h[4] = (float)c->momentum;
}

extern const cmi_optim cmi_optim_rmsprop;
const cmi_optim cmi_optim_rmsprop = {
    .entry = {"rmsprop", "steps scaled by a running mean of squares", sizeof(rmsprop), fields},
    .slots = slots,
    .body = body,
    .scalars = scalars};
