/* test_metrics.c - how a word of `metrics=` is resolved, and running a metric and a loss as a
 * metric. */
#include <string.h>
#include "nn/metric.h"
#include "nn/nn_tests.h"

static void resolves(const char *spec, int64_t last, bool classes, const char *to, const char *name)
{
    cmi_shape out = {1, {last}};
    cmi_metric_use use;

    ck_assert_cm_ok(cmi_metric_resolve(spec, &out, classes, &use));
    ck_assert_str_eq(use.metric ? use.metric->entry.name : use.loss->entry.name, to);
    ck_assert_str_eq(use.name, name);
    cmi_metric_use_free(&use);
}

START_TEST(words)
{
    resolves("accuracy", 10, true, "sparse_categorical_accuracy", "accuracy");
    resolves("accuracy", 10, false, "categorical_accuracy", "accuracy");
    resolves("acc", 1, false, "binary_accuracy", "acc");
    resolves("acc", 1, true, "binary_accuracy", "acc");
    resolves("crossentropy", 10, true, "sparse_categorical_crossentropy", "crossentropy");
    resolves("ce", 10, false, "categorical_crossentropy", "ce");
    resolves("ce", 1, false, "binary_crossentropy", "ce");
    resolves("mse", 3, false, "mean_squared_error", "mse");
    resolves("binary_accuracy threshold=0.7", 1, false, "binary_accuracy", "binary_accuracy");
    resolves("accuracy name=hits", 10, true, "sparse_categorical_accuracy", "hits");
}
END_TEST

/* A loss found after the metrics were asked leaves no error behind, and failures free all they
 * had. */
START_TEST(records)
{
    cmi_shape out = {1, {3}};
    cmi_metric_use use;

    cmi_error_clear();
    ck_assert_cm_ok(cmi_metric_resolve("huber", &out, false, &use));
    ck_assert_int_eq(cm_last_status(), CM_OK);
    cmi_metric_use_free(&use);
    ck_assert_cm_status(cmi_metric_resolve("acuracy", &out, false, &use), CM_E_NOT_FOUND);
    ck_assert_message_has("\"accuracy\"");
    ck_assert_message_has("huber");
    ck_assert_cm_status(cmi_metric_resolve("accuracy threshold=1", &out, false, &use),
                        CM_E_INVALID);
    ck_assert_cm_status(cmi_metric_resolve("", &out, false, &use), CM_E_INVALID);
    ck_assert_ptr_null(use.name);
}
END_TEST

START_TEST(properties)
{
    cmi_shape out = {1, {3}};
    cmi_metric_use use;

    ck_assert_cm_ok(cmi_metric_resolve("accuracy", &out, true, &use));
    ck_assert_int_eq(cmi_metric_use_labels(&use), CMI_LABEL_CLASS);
    ck_assert_str_eq(cmi_metric_use_logits_of(&use), "softmax");
    ck_assert_close(cmi_metric_use_finish(&use, 3, 4), 0.75, 0);
    ck_assert_close(cmi_metric_use_finish(&use, 0, 0), 0, 0);
    cmi_metric_use_free(&use);
    ck_assert_cm_ok(cmi_metric_resolve("binary_accuracy", &out, false, &use));
    ck_assert_ptr_null(cmi_metric_use_logits_of(&use));
    ck_assert_int_eq(cmi_metric_use_labels(&use), CMI_LABEL_VECTOR);
    cmi_metric_use_free(&use);
}
END_TEST

/* Logits, when the caller hands them over in place of probabilities. */
START_TEST(cross_entropy_of_logits)
{
    float logits[4] = {0, 0, 10, -10}, value[2], want[2] = {0.69314718f, 20.0f};
    const int32_t labels[2] = {0, 1};
    cmi_shape out = {1, {2}};
    cmi_metric_use use;
    pick *p = fresh();
    cmi_metric_run run = {.items = 2, .classes = 2, .logits = true};

    ck_assert_cm_ok(cmi_metric_resolve("ce", &out, true, &use));
    ck_assert_cm_ok(pick_put_ints(p, labels, 2, &run.label));
    ck_assert_cm_ok(pick_put(p, logits, 4, &run.pred));
    ck_assert_cm_ok(pick_new(p, 2, &run.value));
    ck_assert_cm_ok(cmi_metric_use_run(&use, p->stream, &run));
    ck_assert_cm_ok(pick_get(p, run.value, value));
    ck_assert_floats_close(value, want, 2, 1e-6, 1e-6);
    ck_assert_cm_ok(pick_check(p));
    cmi_metric_use_free(&use);
}
END_TEST

Suite *metric_suite(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tcase = tcase_create("metrics");

    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, words);
    tcase_add_test(tcase, records);
    tcase_add_test(tcase, properties);
    tcase_add_test(tcase, cross_entropy_of_logits);
    suite_add_tcase(suite, tcase);
    return suite;
}
