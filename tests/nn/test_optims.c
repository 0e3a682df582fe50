/* test_optims.c - slots, scalars and checks of the optimisers, and that every update compiles and
 * converges; the numbers themselves are compared with Keras by the golden runner. */
#include <math.h>
#include <stdio.h>
#include "nn/nn_tests.h"
#include "nn/optim.h"

static const cmi_optim *parse(const char *spec, void **config)
{
    const cmi_entry *entry = NULL;

    ck_assert_cm_ok(cmi_registry_parse(&cmi_optim_registry, spec, &entry, config));
    return (const cmi_optim *)(const void *)entry;
}

static const struct {
    const char *spec;
    int slots;
} cases[] = {{"sgd learning_rate=0.1", 0},
             {"sgd learning_rate=0.05 momentum=0.5", 1},
             {"sgd learning_rate=0.05 momentum=0.5 nesterov=true", 1},
             {"adam learning_rate=0.1", 2},
             {"adam learning_rate=0.1 amsgrad=true", 3},
             {"adamw learning_rate=0.1", 2},
             {"rmsprop learning_rate=0.05", 1},
             {"rmsprop learning_rate=0.02 momentum=0.5", 2},
             {"rmsprop learning_rate=0.05 centered=true", 2},
             {"rmsprop learning_rate=0.02 centered=true momentum=0.5", 3}};

/* Minimises the sum of (p - 1)^2 / 2, whose gradient is p - 1. */
START_TEST(converges)
{
    enum { COUNT = 21, STEPS = 150 };
    static const int32_t table[4] = {0, COUNT, 0, 0};
    void *config = NULL;
    const cmi_optim *optim = parse(cases[_i].spec, &config);
    float params[COUNT], grads[COUNT], zeros[COUNT] = {0};
    pick *p = fresh();
    cmi_update u = {.body = optim->body(config), .slots = optim->slots(config), .blocks = 1};

    ck_assert_int_eq(u.slots, cases[_i].slots);
    fill_range(params, COUNT, -1, 2, 4);
    ck_assert_cm_ok(pick_put_ints(p, table, 4, &u.table));
    u.table.offset /= 4;
    ck_assert_cm_ok(pick_put(p, params, COUNT, &u.params));
    ck_assert_cm_ok(pick_put(p, zeros, COUNT, &u.grads));
    for (int i = 0; i < u.slots; i++)
        ck_assert_cm_ok(pick_put(p, zeros, COUNT, &u.slot[i]));
    for (uint64_t step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COUNT; i++)
            grads[i] = params[i] - 1;
        cmi_stream_rewind(p->stream, CMI_TRACK_OTHER);
        ck_assert_cm_ok(cmi_buffer_write(p->stream, u.grads.buffer, u.grads.offset * sizeof(float),
                                         sizeof grads, grads));
        optim->scalars(config, step, ((const cmi_optim_common *)config)->learning_rate, u.h);
        ck_assert_cm_ok(cmi_op_update(p->stream, &u));
        ck_assert_cm_ok(pick_get(p, u.params, params));
    }
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(fabsf(params[i] - 1) < 0.1f, "%s: element %d ended at %g", cases[_i].spec, i,
                      (double)params[i]);
    ck_assert_cm_ok(pick_check(p));
    cmi_config_free(&optim->entry, config);
}
END_TEST

START_TEST(clips)
{
    void *config = NULL;
    const cmi_optim *optim = parse("adam clipnorm=1", &config);

    ck_assert_cm_ok(cmi_optim_check(optim, config));
    cmi_config_free(&optim->entry, config);
    optim = parse("adam clipnorm=1 clipvalue=0.5", &config);
    ck_assert_cm_status(cmi_optim_check(optim, config), CM_E_INVALID);
    ck_assert_message_has("clipvalue");
    cmi_config_free(&optim->entry, config);
}
END_TEST

START_TEST(defaults)
{
    void *config = NULL;
    const cmi_optim *optim = parse("adamw", &config);
    const cmi_optim_common *common = config;
    float h[8] = {0};

    ck_assert_close(common->learning_rate, 0.001, 0);
    ck_assert_close(common->weight_decay, 0.004, 0);
    /* Step 1 of adam: alpha = lr sqrt(1 - beta_2)/(1 - beta_1). */
    optim->scalars(config, 1, 0.001, h);
    ck_assert_close(h[0], 0.001 * sqrt(0.001) / 0.1, 1e-8);
    ck_assert_close(h[2], (float)0.001, 1e-11);
    cmi_config_free(&optim->entry, config);
    optim = parse("sgd", &config);
    common = config;
    ck_assert(isnan(common->weight_decay) && isnan(common->clipnorm));
    ck_assert_close(common->learning_rate, 0.01, 0);
    cmi_config_free(&optim->entry, config);
}
END_TEST

Suite *optim_suite(void)
{
    Suite *suite = suite_create("optims");
    TCase *tcase = tcase_create("optims");

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, converges, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(tcase, clips);
    tcase_add_test(tcase, defaults);
    suite_add_tcase(suite, tcase);
    return suite;
}
