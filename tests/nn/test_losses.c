/* test_losses.c - gradients of every registered loss against central differences of its value, in
 * all variants that its keys allow; reductions; what is refused. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "nn/loss.h"
#include "nn/nn_tests.h"

enum { ITEMS = 5, CLASSES = 4, COUNT = ITEMS * CLASSES };

typedef struct problem {
    const cmi_loss *loss;
    const char *spec;
    void *config;
    float pred[COUNT], target[COUNT], weight[ITEMS], value[ITEMS], gradient[COUNT];
    int32_t label[ITEMS];
} problem;

static void run(problem *q, bool want_gradient)
{
    pick *p = fresh();
    cmi_loss_run r = {.items = ITEMS, .classes = CLASSES, .scale = 0.5f};

    ck_assert_cm_ok(q->loss->labels == CMI_LABEL_CLASS ? pick_put_ints(p, q->label, ITEMS, &r.label)
                                                       : pick_put(p, q->target, COUNT, &r.label));
    ck_assert_cm_ok(pick_put(p, q->pred, COUNT, &r.pred));
    ck_assert_cm_ok(pick_put(p, q->weight, ITEMS, &r.weight));
    ck_assert_cm_ok(pick_new(p, ITEMS, &r.value));
    if (want_gradient) ck_assert_cm_ok(pick_new(p, COUNT, &r.dpred));
    ck_assert_msg(!q->loss->run(p->stream, q->config, false, &r), "%s: %s", q->spec,
                  cm_last_message());
    ck_assert_cm_ok(pick_get(p, r.value, q->value));
    if (want_gradient) ck_assert_cm_ok(pick_get(p, r.dpred, q->gradient));
    ck_assert_msg(!pick_check(p), "%s: %s", q->spec, cm_last_message());
}

/* scale x the sum of weighted values: what the gradient is of. */
static double moved(problem *q, size_t at, float by)
{
    float kept = q->pred[at];
    double sum = 0;

    q->pred[at] = kept + by;
    run(q, false);
    q->pred[at] = kept;
    for (size_t i = 0; i < ITEMS; i++)
        sum += 0.5 * (double)q->value[i];
    return sum;
}

/* Predictions from 0.15 to 0.85 serve as probabilities, as logits and as plain outputs; a step of
 * 1/64 keeps away from the clip. */
static void check(const char *spec)
{
    const float h = 0x1p-6f;
    const cmi_entry *entry = NULL;
    problem q = {.spec = spec};

    ck_assert_cm_ok(cmi_registry_parse(&cmi_loss_registry, spec, &entry, &q.config));
    q.loss = (const cmi_loss *)(const void *)entry;
    fill_range(q.pred, COUNT, 0.15, 0.85, 1);
    fill_range(q.target, COUNT, 0, 1, 2);
    fill_range(q.weight, ITEMS, 0.5, 2, 3);
    for (size_t i = 0; i < COUNT; i++) {
        q.pred[i] = rintf(q.pred[i] * 256) / 256;
        /* Not near the kink at pred = target. */
        if (fabsf(q.pred[i] - q.target[i]) < 4 * h) q.target[i] = q.pred[i] > 0.5f ? 0.0f : 1.0f;
    }
    for (int i = 0; i < ITEMS; i++)
        q.label[i] = (i * 3) % CLASSES;
    run(&q, true);
    for (size_t i = 0; i < COUNT; i++) {
        double want = (8 * (moved(&q, i, h) - moved(&q, i, -h)) -
                       (moved(&q, i, 2 * h) - moved(&q, i, -2 * h))) /
                      (12 * (double)h);
        ck_assert_msg(fabs((double)q.gradient[i] - want) <= 1e-3 * fmax(1, fabs(want)),
                      "%s: gradient of element %zu is %.6g, by differences %.6g", spec, i,
                      (double)q.gradient[i], want);
    }
    cmi_config_free(entry, q.config);
}

static bool has_key(const cmi_entry *entry, const char *key)
{
    for (const cmi_field *field = entry->fields; field && field->key; field++)
        if (!strcmp(field->key, key)) return true;
    return false;
}

START_TEST(gradients)
{
    static const char *const variants[][2] = {
        {"from_logits", "true"}, {"label_smoothing", "0.2"}, {"delta", "0.3"}};
    const cmi_entry *entry = cmi_loss_registry.entries[_i];
    char spec[128];

    check(entry->name);
    for (size_t v = 0; v < sizeof variants / sizeof variants[0]; v++) {
        if (!has_key(entry, variants[v][0])) continue;
        snprintf(spec, sizeof spec, "%s %s=%s", entry->name, variants[v][0], variants[v][1]);
        check(spec);
    }
    if (has_key(entry, "from_logits") && has_key(entry, "label_smoothing")) {
        snprintf(spec, sizeof spec, "%s from_logits=true label_smoothing=0.3", entry->name);
        check(spec);
    }
}
END_TEST

START_TEST(reductions)
{
    static const struct {
        const char *spec;
        cmi_reduction reduction;
    } cases[] = {{"mse", CMI_REDUCE_MEAN},
                 {"mse reduction=mean", CMI_REDUCE_MEAN},
                 {"mse reduction=sum", CMI_REDUCE_SUM},
                 {"mse reduction=mean_with_sample_weight", CMI_REDUCE_WEIGHTED_MEAN}};
    const cmi_entry *entry = NULL;
    void *config = NULL;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_cm_ok(cmi_registry_parse(&cmi_loss_registry, cases[i].spec, &entry, &config));
        ck_assert_int_eq(cmi_reduction_of(config), cases[i].reduction);
        cmi_config_free(entry, config);
    }
    ck_assert_cm_status(
        cmi_registry_parse(&cmi_loss_registry, "mse reduction=median", &entry, &config),
        CM_E_INVALID);
    ck_assert_message_has("sum_over_batch_size");
    ck_assert_cm_status(cmi_registry_parse(&cmi_loss_registry,
                                           "sparse_categorical_crossentropy ignore_class=1", &entry,
                                           &config),
                        CM_E_INVALID);
    ck_assert_message_has("unknown key");
}
END_TEST

/* Probabilities at and beyond the ends of the clip: gradient 0 outside, values finite. */
START_TEST(clipped)
{
    const cmi_entry *entry = NULL;
    problem q = {.spec = "binary_crossentropy"};

    ck_assert_cm_ok(cmi_registry_parse(&cmi_loss_registry, q.spec, &entry, &q.config));
    q.loss = (const cmi_loss *)(const void *)entry;
    for (size_t i = 0; i < COUNT; i++) {
        q.pred[i] = i % 2 ? 0.0f : 1.0f;
        q.target[i] = i % 3 ? 1.0f : 0.0f;
    }
    for (size_t i = 0; i < ITEMS; i++)
        q.weight[i] = 1;
    q.pred[0] = NAN;
    run(&q, true);
    ck_assert(isnan(q.value[0]));
    for (size_t i = 1; i < ITEMS; i++)
        ck_assert(isfinite(q.value[i]) && q.value[i] > 1);
    for (size_t i = 1; i < COUNT; i++)
        ck_assert_close(q.gradient[i], 0, 0);
    cmi_config_free(entry, q.config);
}
END_TEST

Suite *loss_suite(void)
{
    Suite *suite = suite_create("losses");
    TCase *tcase = tcase_create("losses");

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, gradients, 0, (int)cmi_loss_registry.count);
    tcase_add_test(tcase, reductions);
    tcase_add_test(tcase, clipped);
    suite_add_tcase(suite, tcase);
    return suite;
}
