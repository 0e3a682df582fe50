/* test_loss.c - values and gradients of the loss kernels, and the accuracies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops/ops_tests.h"

enum { MOST = 40 * 100 };

static const size_t shapes[][2] = {{1, 1}, {1, 2}, {5, 3}, {9, 10}, {17, 16}, {40, 17}, {33, 100}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static float pred[MOST], target[MOST], weight[MOST], value[MOST], gradient[MOST], got_value[MOST],
    got_gradient[MOST];
static int32_t label[MOST];

/* Predictions: logits from -6 to 6, or positive numbers, some at and beyond the limits of the
 * clip. */
static void fill(const oracle_loss *l)
{
    fill_real(pred, l->items * l->classes, 11);
    fill_real(target, l->items * l->classes, 12);
    fill_real(weight, l->items, 13);
    for (size_t i = 0; i < l->items * l->classes; i++) {
        pred[i] = l->logits ? 6 * pred[i] : fabsf(pred[i]);
        if (!l->logits && i % 11 == 3) pred[i] = i % 2 ? 0.0f : 1.0f;
        target[i] = fabsf(target[i]);
    }
    for (size_t i = 0; i < l->items; i++)
        label[i] = (int32_t)((i * 7) % l->classes);
}

/* Puts the inputs of an oracle's run on the device; outputs are new. */
static cmi_loss_run prepare(pick *p, const oracle_loss *l, bool want_gradient)
{
    cmi_loss_run run = {.items = l->items, .classes = l->classes, .scale = l->scale};
    size_t n = l->items * l->classes;

    ck_assert_cm_ok(l->class_label ? pick_put_ints(p, l->class_label, l->items, &run.label)
                                   : pick_put(p, l->target, n, &run.label));
    ck_assert_cm_ok(pick_put(p, l->pred, n, &run.pred));
    if (l->weight) ck_assert_cm_ok(pick_put(p, l->weight, l->items, &run.weight));
    ck_assert_cm_ok(pick_new(p, l->items, &run.value));
    if (want_gradient) ck_assert_cm_ok(pick_new(p, n, &run.dpred));
    return run;
}

static void categorical_case(size_t items, size_t classes, int kind)
{
    bool sparse = kind & 1, weighted = kind & 4, want_gradient = !(kind & 8);
    oracle_loss l = {.items = items,
                     .classes = classes,
                     .logits = (kind & 2) != 0,
                     .smoothing = sparse ? 0 : 0.1f,
                     .scale = 0.25f,
                     .class_label = sparse ? label : NULL,
                     .target = sparse ? NULL : target,
                     .pred = pred,
                     .weight = weighted ? weight : NULL,
                     .value = value,
                     .gradient = gradient};
    pick *p = fresh();

    fill(&l);
    oracle_categorical(&l);
    cmi_loss_run run = prepare(p, &l, want_gradient);
    ck_assert_cm_ok(cmi_op_loss_categorical(p->stream, sparse, l.logits, l.smoothing, &run));
    ck_assert_cm_ok(pick_get(p, run.value, got_value));
    ck_assert_floats_close(got_value, value, items, 1e-5, 1e-5);
    if (want_gradient) {
        ck_assert_cm_ok(pick_get(p, run.dpred, got_gradient));
        ck_assert_floats_close(got_gradient, gradient, items * classes, 2e-6, 2e-5);
    }
    ck_assert_cm_ok(pick_check(p));
}

START_TEST(categorical)
{
    for (int kind = 0; kind < 16; kind++)
        categorical_case(shapes[_i][0], shapes[_i][1], kind);
}
END_TEST

START_TEST(elementwise)
{
    static const cmi_loss_formula formula = {"(p - y) * (p - y)", "2.0f * (p - y)"};
    static const float h[2];
    oracle_loss l = {.items = shapes[_i][0],
                     .classes = shapes[_i][1],
                     .scale = 0.5f,
                     .target = target,
                     .pred = pred,
                     .value = value,
                     .gradient = gradient};

    for (int weighted = 0; weighted < 2; weighted++) {
        pick *p = fresh();
        l.weight = weighted ? weight : NULL;
        fill(&l);
        oracle_squared_error(&l);
        cmi_loss_run run = prepare(p, &l, true);
        ck_assert_cm_ok(cmi_op_loss_elementwise(p->stream, &formula, h, &run));
        ck_assert_cm_ok(pick_get(p, run.value, got_value));
        ck_assert_cm_ok(pick_get(p, run.dpred, got_gradient));
        ck_assert_floats_close(got_value, value, l.items, 1e-6, 1e-5);
        ck_assert_floats_close(got_gradient, gradient, l.items * l.classes, 1e-7, 1e-5);
        ck_assert_cm_ok(pick_check(p));
    }
}
END_TEST

/* Labels outside the classes are checked on the host; the kernel must stay in bounds all the
 * same. */
START_TEST(label_out_of_range)
{
    const int32_t wild[3] = {1, 3, -1};
    float p3[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

    for (int logits = 0; logits < 2; logits++) {
        pick *p = fresh();
        oracle_loss l = {.items = 3, .classes = 3, .class_label = wild, .pred = p3, .scale = 1};
        cmi_loss_run run = prepare(p, &l, true);
        ck_assert_cm_ok(cmi_op_loss_categorical(p->stream, true, logits, 0, &run));
        ck_assert_cm_ok(pick_get(p, run.value, got_value));
        ck_assert_cm_ok(pick_get(p, run.dpred, got_gradient));
        ck_assert_cm_ok(pick_check(p));
        ck_assert(isfinite(got_value[0]) && isnan(got_value[1]) && isnan(got_value[2]));
        ck_assert(isfinite(got_gradient[2]) && isnan(got_gradient[3]) && isnan(got_gradient[8]));
    }
}
END_TEST

/* A diverged model must not look healthy: not-a-number goes through clipping. */
START_TEST(not_a_number)
{
    const int32_t class0[1] = {0};
    float bad[2] = {NAN, 0.5f}, hot[2] = {1, 0};

    for (int kind = 0; kind < 4; kind++) {
        pick *p = fresh();
        oracle_loss l = {.items = 1, .classes = 2, .pred = bad, .scale = 1};
        if (kind & 1) l.class_label = class0;
        if (!(kind & 1)) l.target = hot;
        cmi_loss_run run = prepare(p, &l, true);
        ck_assert_cm_ok(cmi_op_loss_categorical(p->stream, kind & 1, kind >> 1, 0, &run));
        ck_assert_cm_ok(pick_get(p, run.value, got_value));
        ck_assert_msg(isnan(got_value[0]), "kind %d: %g", kind, (double)got_value[0]);
    }
}
END_TEST

START_TEST(accuracies)
{
    /* The first maximum wins in rows 1 and 2. */
    float p4[12] = {0.1f, 0.7f, 0.2f, 0.4f, 0.4f, 0.2f, 0.3f, 0.35f, 0.35f, 0.6f, 0.5f, 0.5f};
    float one_hot[12] = {0, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0};
    const int32_t classes[4] = {1, 0, 2, 0};
    const float sparse_want[4] = {1, 1, 0, 1}, categorical_want[4] = {1, 0, 0, 1};
    const float binary_want[4] = {1, 2.0f / 3, 2.0f / 3, 1};
    pick *p = fresh();
    cmi_view vp, vl, vc, vv[3];

    ck_assert_cm_ok(pick_put(p, p4, 12, &vp));
    ck_assert_cm_ok(pick_put(p, one_hot, 12, &vl));
    ck_assert_cm_ok(pick_put_ints(p, classes, 4, &vc));
    for (int i = 0; i < 3; i++)
        ck_assert_cm_ok(pick_new(p, 4, &vv[i]));
    ck_assert_cm_ok(cmi_op_accuracy(p->stream, CMI_ACCURACY_SPARSE, 4, 3, 0, vc, vp, vv[0]));
    ck_assert_cm_ok(cmi_op_accuracy(p->stream, CMI_ACCURACY_CATEGORICAL, 4, 3, 0, vl, vp, vv[1]));
    ck_assert_cm_ok(cmi_op_accuracy(p->stream, CMI_ACCURACY_BINARY, 4, 3, 0.5f, vl, vp, vv[2]));
    ck_assert_cm_ok(pick_get(p, vv[0], got_value));
    ck_assert_floats_equal(got_value, sparse_want, 4);
    ck_assert_cm_ok(pick_get(p, vv[1], got_value));
    ck_assert_floats_equal(got_value, categorical_want, 4);
    ck_assert_cm_ok(pick_get(p, vv[2], got_value));
    ck_assert_floats_ulp(got_value, binary_want, 4, 1);
    ck_assert_cm_ok(pick_check(p));
}
END_TEST

Suite *loss_suite(void)
{
    Suite *suite = suite_create("loss");
    TCase *tcase = tcase_create("loss");

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, categorical, 0, SHAPES);
    tcase_add_loop_test(tcase, elementwise, 0, SHAPES);
    tcase_add_test(tcase, label_out_of_range);
    tcase_add_test(tcase, not_a_number);
    tcase_add_test(tcase, accuracies);
    suite_add_tcase(suite, tcase);
    return suite;
}
