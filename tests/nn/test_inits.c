/* test_inits.c - fans, constants, seeds and limits of the initialisers; their statistics are
 * compared with Keras by the golden runner. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nn/init.h"
#include "nn/nn_tests.h"

static void draw(const char *spec, const cmi_shape *shape, uint64_t seed, float *values)
{
    cmi_rng rng;

    cmi_rng_init(&rng, seed, CMI_RNG_WEIGHTS, 0);
    ck_assert_msg(!cmi_init_fill(spec, shape, &rng, values), "%s: %s", spec, cm_last_message());
}

START_TEST(fans)
{
    static const struct {
        cmi_shape shape;
        double in, out;
    } cases[] = {
        {{0, {0}}, 1, 1}, {{1, {7}}, 7, 7}, {{2, {3, 5}}, 3, 5}, {{4, {2, 3, 4, 5}}, 24, 30}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double in, out;
        cmi_init_fans(&cases[i].shape, &in, &out);
        ck_assert_close(in, cases[i].in, 0);
        ck_assert_close(out, cases[i].out, 0);
    }
}
END_TEST

/* Every initialiser: the same values for the same stream; another stream other values, unless it
 * draws nothing or has a seed of its own. */
START_TEST(streams)
{
    enum { COUNT = 30 };
    const cmi_shape shape = {2, {5, 6}};
    const cmi_entry *entry = cmi_init_registry.entries[_i];
    float a[COUNT], b[COUNT], c[COUNT];
    bool draws = entry->fields != NULL, seeded = false;

    draw(entry->name, &shape, 1, a);
    draw(entry->name, &shape, 1, b);
    draw(entry->name, &shape, 2, c);
    ck_assert_floats_bits(a, b, COUNT);
    for (const cmi_field *field = entry->fields; field && field->key; field++)
        seeded = seeded || !strcmp(field->key, "seed");
    draws = draws && seeded;
    ck_assert_int_eq(draws, a[0] != c[0]);
    if (!draws) return;
    char spec[64];
    snprintf(spec, sizeof spec, "%s seed=9", entry->name);
    draw(spec, &shape, 1, a);
    draw(spec, &shape, 2, b);
    ck_assert_floats_bits(a, b, COUNT);
}
END_TEST

START_TEST(constants)
{
    const cmi_shape shape = {1, {3}};
    const float zeros[3] = {0, 0, 0}, ones[3] = {1, 1, 1}, half[3] = {0.5f, 0.5f, 0.5f};
    float values[3];

    draw("zeros", &shape, 0, values);
    ck_assert_floats_bits(values, zeros, 3);
    draw("ones", &shape, 0, values);
    ck_assert_floats_bits(values, ones, 3);
    draw("constant value=0.5", &shape, 0, values);
    ck_assert_floats_bits(values, half, 3);
    draw("constant", &shape, 0, values);
    ck_assert_floats_bits(values, zeros, 3);
}
END_TEST

START_TEST(limits)
{
    enum { COUNT = 20000 };
    const cmi_shape shape = {2, {100, 200}};
    float *values = malloc(COUNT * sizeof *values);
    const double glorot = sqrt(6.0 / 300), cut = 2 * sqrt(2.0 / 100) / 0.87962566103423978;

    ck_assert_ptr_nonnull(values);
    draw("glorot_uniform", &shape, 3, values);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(fabs((double)values[i]) <= glorot * (1 + 1e-7));
    draw("he_normal", &shape, 3, values);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(fabs((double)values[i]) <= cut * (1 + 1e-7));
    draw("random_uniform minval=2 maxval=3", &shape, 3, values);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(values[i] >= 2 && values[i] <= 3);
    draw("truncated_normal mean=1 stddev=0.5", &shape, 3, values);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert(values[i] >= 0 && values[i] <= 2);
    free(values);
}
END_TEST

START_TEST(refusals)
{
    const cmi_shape shape = {1, {3}};
    float values[3];
    cmi_rng rng;

    cmi_rng_init(&rng, 0, CMI_RNG_WEIGHTS, 0);
    ck_assert_cm_status(cmi_init_fill("glorot", &shape, &rng, values), CM_E_NOT_FOUND);
    ck_assert_cm_status(cmi_init_fill("variance_scaling mode=fan", &shape, &rng, values),
                        CM_E_INVALID);
    ck_assert_message_has("fan_avg");
    ck_assert_cm_status(cmi_init_fill("variance_scaling scale=0", &shape, &rng, values),
                        CM_E_INVALID);
}
END_TEST

Suite *init_suite(void)
{
    Suite *suite = suite_create("inits");
    TCase *tcase = tcase_create("inits");

    tcase_add_test(tcase, fans);
    tcase_add_loop_test(tcase, streams, 0, (int)cmi_init_registry.count);
    tcase_add_test(tcase, constants);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, refusals);
    suite_add_tcase(suite, tcase);
    return suite;
}
