/* init_random.c - draws from a fixed distribution, whatever the shape: normal, truncated normal,
 * uniform.
 *
 * Main thread. */
#include <math.h>
#include "nn/init.h"

typedef struct draw {
    double mean, stddev, minval, maxval;
    int64_t seed;
} draw;

#define SEED_FIELD                                                                                 \
    {                                                                                              \
        "seed", CMI_FIELD_INT, offsetof(draw, seed), "None", 0, 0,                                 \
            "own seed instead of the model's and the position in it", NULL                         \
    }
static const cmi_field normal_fields[] = {
    {"mean", CMI_FIELD_FLOAT, offsetof(draw, mean), "0.0", 0, 0, "mean", NULL},
    {"stddev", CMI_FIELD_FLOAT, offsetof(draw, stddev), "0.05", 0, 1e30, "standard deviation",
     NULL},
    SEED_FIELD,
    CMI_FIELDS_END};

static const cmi_field uniform_fields[] = {
    {"minval", CMI_FIELD_FLOAT, offsetof(draw, minval), "-0.05", 0, 0, "lower end", NULL},
    {"maxval", CMI_FIELD_FLOAT, offsetof(draw, maxval), "0.05", 0, 0, "upper end", NULL},
    SEED_FIELD,
    CMI_FIELDS_END};

/* The stream to draw from, and how many values. */
static cmi_rng *begin(const draw *c, const cmi_shape *shape, cmi_rng *given, cmi_rng *own,
                      int64_t *count)
{
    bool counted = cmi_shape_count(shape, count);

    CM_ASSERT(counted);
    if (c->seed == CMI_INT_NONE) return given;
    cmi_rng_init(own, (uint64_t)c->seed, CMI_RNG_WEIGHTS, 0);
    return own;
}

static cm_status random_normal(const void *config, const cmi_shape *shape, cmi_rng *rng,
                               float *values)
{
    const draw *c = config;
    cmi_rng own;
    int64_t count = 0;

    rng = begin(c, shape, rng, &own, &count);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(c->mean + c->stddev * cmi_rng_normal(rng));
    return CM_OK;
}

/* Cut at two standard deviations by drawing again; the deviation is not corrected for the cut. */
static cm_status truncated_normal(const void *config, const cmi_shape *shape, cmi_rng *rng,
                                  float *values)
{
    const draw *c = config;
    cmi_rng own;
    int64_t count = 0;

    rng = begin(c, shape, rng, &own, &count);
    for (int64_t i = 0; i < count; i++) {
        double z = cmi_rng_normal(rng);
        while (fabs(z) > 2.0)
            z = cmi_rng_normal(rng);
        values[i] = (float)(c->mean + c->stddev * z);
    }
    return CM_OK;
}

static cm_status random_uniform(const void *config, const cmi_shape *shape, cmi_rng *rng,
                                float *values)
{
    const draw *c = config;
    cmi_rng own;
    int64_t count = 0;

    rng = begin(c, shape, rng, &own, &count);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(c->minval + (c->maxval - c->minval) * (double)cmi_rng_float(rng));
    return CM_OK;
}

extern const cmi_init cmi_init_random_normal, cmi_init_truncated_normal, cmi_init_random_uniform;

const cmi_init cmi_init_random_normal = {
    .entry = {"random_normal", "normal distribution", sizeof(draw), normal_fields},
    .fill = random_normal};
const cmi_init cmi_init_truncated_normal = {.entry = {"truncated_normal",
                                                      "normal distribution cut at two deviations",
                                                      sizeof(draw), normal_fields},
                                            .fill = truncated_normal};
const cmi_init cmi_init_random_uniform = {
    .entry = {"random_uniform", "uniform distribution", sizeof(draw), uniform_fields},
    .fill = random_uniform};
