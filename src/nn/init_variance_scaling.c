/* init_variance_scaling.c - values whose variance is scale / fan, and the six named cases of it.
 *
 * Glorot and Bengio 2010 (fan_avg), He et al. 2015 (fan_in, scale 2), LeCun et al. 1998 (fan_in,
 * scale 1).  A uniform distribution on [-l,l] has variance l^2/3, hence l = sqrt(3 s).  A normal
 * one cut at two standard deviations has 0.8796^2 of the variance of the whole one, hence the
 * division.
 *
 * Main thread. */
#include <math.h>
#include "nn/init.h"

enum { FAN_IN, FAN_OUT, FAN_AVG };
enum { TRUNCATED_NORMAL, UNIFORM, UNTRUNCATED_NORMAL };

static const char *const modes[] = {"fan_in", "fan_out", "fan_avg", NULL};
static const char *const distributions[] = {"truncated_normal", "uniform", "untruncated_normal",
                                            NULL};

/* Deviation of a standard normal distribution cut at +-2. */
#define CUT_DEVIATION 0.87962566103423978

typedef struct scaling {
    int64_t seed;
    double scale;
    int mode, distribution;
} scaling;

#define SEED_FIELD                                                                                 \
    {                                                                                              \
        "seed", CMI_FIELD_INT, offsetof(scaling, seed), "None", 0, 0,                              \
            "own seed instead of the model's and the position in it", NULL                         \
    }

static const cmi_field fields[] = {{"scale", CMI_FIELD_FLOAT, offsetof(scaling, scale), "1.0",
                                    1e-30, 1e30, "factor of the variance", NULL},
                                   {"mode", CMI_FIELD_ENUM, offsetof(scaling, mode), "fan_in", 0, 0,
                                    "what the variance is divided by", modes},
                                   {"distribution", CMI_FIELD_ENUM, offsetof(scaling, distribution),
                                    "truncated_normal", 0, 0, "shape of the distribution",
                                    distributions},
                                   SEED_FIELD,
                                   CMI_FIELDS_END};

static const cmi_field named_fields[] = {SEED_FIELD,
                                         CMI_FIELDS_END};

static double normal(cmi_rng *rng, bool cut)
{
    double z = cmi_rng_normal(rng);

    while (cut && fabs(z) > 2.0)
        z = cmi_rng_normal(rng);
    return z;
}

static cm_status fill_as(const scaling *c, const cmi_shape *shape, cmi_rng *rng, float *values)
{
    cmi_rng own;
    double fan_in, fan_out;
    int64_t count = 0;

    if (c->seed != CMI_INT_NONE) {
        cmi_rng_init(&own, (uint64_t)c->seed, CMI_RNG_WEIGHTS, 0);
        rng = &own;
    }
    cmi_init_fans(shape, &fan_in, &fan_out);
    double fan = c->mode == FAN_IN ? fan_in : c->mode == FAN_OUT ? fan_out : (fan_in + fan_out) / 2;
    double variance = c->scale / (fan > 1 ? fan : 1), limit = sqrt(3 * variance),
           deviation = sqrt(variance);
    bool cut = c->distribution == TRUNCATED_NORMAL;
    if (cut) deviation /= CUT_DEVIATION;
    bool counted = cmi_shape_count(shape, &count);
    CM_ASSERT(counted);
    for (int64_t i = 0; i < count; i++) {
        if (c->distribution == UNIFORM)
            values[i] = (float)(limit * (2 * (double)cmi_rng_float(rng) - 1));
        else
            values[i] = (float)(deviation * normal(rng, cut));
    }
    return CM_OK;
}

static cm_status fill(const void *config, const cmi_shape *shape, cmi_rng *rng, float *values)
{
    return fill_as(config, shape, rng, values);
}

extern const cmi_init cmi_init_variance_scaling;
const cmi_init cmi_init_variance_scaling = {
    .entry = {"variance_scaling", "variance scale / fan", sizeof(scaling), fields}, .fill = fill};

/* The named cases have a seed only; the rest of their config is put in here. */
#define NAMED(symbol, text, factor, over, shape_of_it)                                             \
    static cm_status fill_##symbol(const void *config, const cmi_shape *shape, cmi_rng *rng,       \
                                   float *values)                                                  \
    {                                                                                              \
        scaling c = {.seed = ((const scaling *)config)->seed,                                      \
                     .scale = (factor),                                                            \
                     .mode = (over),                                                               \
                     .distribution = (shape_of_it)};                                               \
        return fill_as(&c, shape, rng, values);                                                    \
    }                                                                                              \
    extern const cmi_init cmi_init_##symbol;                                                       \
    const cmi_init cmi_init_##symbol = {.entry = {#symbol, text, sizeof(scaling), named_fields},   \
                                        .fill = fill_##symbol}

NAMED(glorot_uniform, "U(-l,l), l = sqrt(6 / (fan_in + fan_out))", 1.0, FAN_AVG, UNIFORM);
NAMED(glorot_normal, "truncated normal, variance 2 / (fan_in + fan_out)", 1.0, FAN_AVG,
      TRUNCATED_NORMAL);
NAMED(he_uniform, "U(-l,l), l = sqrt(6 / fan_in)", 2.0, FAN_IN, UNIFORM);
NAMED(he_normal, "truncated normal, variance 2 / fan_in", 2.0, FAN_IN, TRUNCATED_NORMAL);
NAMED(lecun_uniform, "U(-l,l), l = sqrt(3 / fan_in)", 1.0, FAN_IN, UNIFORM);
NAMED(lecun_normal, "truncated normal, variance 1 / fan_in", 1.0, FAN_IN, TRUNCATED_NORMAL);
