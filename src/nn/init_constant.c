/* init_constant.c - initialisers that draw nothing: zeros, ones, and a given value.  Main
 * thread. */
#include "nn/init.h"

typedef struct constant {
    double value;
} constant;

static const cmi_field fields[] = {{"value", CMI_FIELD_FLOAT, offsetof(constant, value), "0", 0, 0,
                                    "the value of every element", NULL},
                                   CMI_FIELDS_END};

static cm_status fill_with(float value, const cmi_shape *shape, float *values)
{
    int64_t count = 0;
    bool counted = cmi_shape_count(shape, &count);

    CM_ASSERT(counted);
    for (int64_t i = 0; i < count; i++)
        values[i] = value;
    return CM_OK;
}

static cm_status fill_zeros(const void *config, const cmi_shape *shape, cmi_rng *rng, float *values)
{
    (void)config;
    (void)rng;
    return fill_with(0.0f, shape, values);
}

static cm_status fill_ones(const void *config, const cmi_shape *shape, cmi_rng *rng, float *values)
{
    (void)config;
    (void)rng;
    return fill_with(1.0f, shape, values);
}

static cm_status fill_constant(const void *config, const cmi_shape *shape, cmi_rng *rng,
                               float *values)
{
    (void)rng;
    return fill_with((float)((const constant *)config)->value, shape, values);
}

extern const cmi_init cmi_init_zeros, cmi_init_ones, cmi_init_constant;

const cmi_init cmi_init_zeros = {.entry = {"zeros", "0 everywhere", 0, NULL}, .fill = fill_zeros};
const cmi_init cmi_init_ones = {.entry = {"ones", "1 everywhere", 0, NULL}, .fill = fill_ones};
const cmi_init cmi_init_constant = {
    .entry = {"constant", "one value everywhere", sizeof(constant), fields}, .fill = fill_constant};
