/* test_cases.c - the re-enacted reports of group A whose right values are known: one table for
 * all of them.
 *
 * A row of the table is a training of M1 (or none) on D, with the numbers that double precision
 * gives: loss and accuracy of the last epoch, both after it, and the sum of |w| of the four
 * tensors.  It must hold for every number of replicas. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

enum { DEVICES = 6 };

static const char *device_text(int i)
{
    static const int parts[DEVICES] = {0, 0, 2, 3, 4, 8};

    return i == 0 ? RIG_ONE : i == 1 ? RIG_ALL : rig_parts(parts[i]);
}

/* ---- the table ------------------------------------------------------------------------------- */

typedef struct numbers {
    double loss, accuracy, loss_after, accuracy_after, sums[4];
} numbers;

static const struct row {
    const char *id;
    int64_t rows, batch;
    int epochs;
    const char *optimizer; /* NULL: sgd with momentum */
    numbers want;
} rows[] = {{"A01",
             65,
             64,
             1,
             NULL,
             {1.387513, 0.261538, 1.363078, 0.323077, {10.329267, 0.096005, 5.120779, 0.179486}}},
            {"A02 r=1",
             201,
             100,
             1,
             NULL,
             {1.382170, 0.313433, 1.342465, 0.328358, {10.340300, 0.132976, 5.138341, 0.272709}}},
            {"A02 r=50",
             250,
             100,
             1,
             NULL,
             {1.377451, 0.316000, 1.340795, 0.324000, {10.323961, 0.088577, 5.122487, 0.273430}}},
            {"A02 r=99",
             299,
             100,
             1,
             NULL,
             {1.374786, 0.324415, 1.340857, 0.327759, {10.321691, 0.084671, 5.121046, 0.273389}}},
            {"A03 r=1",
             33,
             16,
             1,
             NULL,
             {1.380971, 0.181818, 1.337183, 0.333333, {10.343438, 0.162485, 5.128682, 0.272826}}},
            {"A03 r=7",
             39,
             16,
             1,
             NULL,
             {1.378286, 0.230769, 1.338493, 0.333333, {10.324783, 0.098999, 5.119602, 0.272969}}},
            {"A06",
             20,
             4,
             3,
             NULL,
             {1.114339, 0.550000, 1.059538, 0.650000, {11.596653, 1.303017, 6.393466, 2.687327}}},
            {"A07", 10, 4, 0, NULL, {0, 0, 1.389846, 0.100000, {10.320312, 0, 5.117188, 0}}},
            {"A08", 1000, 32, 0, NULL, {0, 0, 1.385654, 0.333000, {10.320312, 0, 5.117188, 0}}},
            {"A12, A20",
             64,
             16,
             1,
             NULL,
             {1.369599, 0.281250, 1.318765, 0.328125, {10.302048, 0.132852, 5.101984, 0.433440}}},
            {"A20 batch 32",
             64,
             32,
             1,
             NULL,
             {1.383805, 0.265625, 1.363258, 0.281250, {10.315202, 0.039419, 5.113217, 0.143197}}},
            {"A13",
             160,
             64,
             2,
             NULL,
             {1.321626, 0.331250, 1.269162, 0.350000, {10.358422, 0.262734, 5.154128, 0.817465}}},
            {"A15",
             64,
             16,
             5,
             NULL,
             {1.127133, 0.468750, 1.114793, 0.468750, {10.469514, 0.947422, 5.709335, 3.486640}}},
            {"A19 no clip",
             9,
             9,
             1,
             "sgd learning_rate=0.1",
             {1.390531, 0.111111, 1.380132, 0.111111, {10.320448, 0.031759, 5.112298, 0.049533}}},
            {"A19 clipnorm",
             9,
             9,
             1,
             "sgd learning_rate=0.1 clipnorm=0.05",
             {1.390531, 0.111111, 1.387789, 0.111111, {10.320380, 0.017888, 5.113911, 0.008660}}},
            {"A19 global_clipnorm",
             9,
             9,
             1,
             "sgd learning_rate=0.1 global_clipnorm=0.1",
             {1.390531, 0.111111, 1.387296, 0.111111, {10.320354, 0.009782, 5.115681, 0.015257}}},
            {"A19 clipvalue",
             9,
             9,
             1,
             "sgd learning_rate=0.1 clipvalue=0.01",
             {1.390531, 0.111111, 1.388567, 0.111111, {10.318626, 0.014807, 5.116022, 0.004000}}}};

/* Six digits are printed, and float gives them to about 1e-6. */
static void check(const char *id, const char *devices, const char *what, double got, double want)
{
    double tolerance = 1e-6 * fmax(1.0, fabs(want)) + 5e-7;

    ck_assert_msg(fabs(got - want) <= tolerance, "%s on %s: %s is %.9g, expected %.6f", id, devices,
                  what, got, want);
}

static void check_after(const char *id, const char *devices, cm_model *model, const cm_data *data,
                        const numbers *want)
{
    static const char *const names[] = {"kernel 1", "bias 1", "kernel 2", "bias 2"};
    cm_logs logs;

    ck_assert_cm_ok(
        cm_model_evaluate(model, data, &(cm_evaluate_options){.batch_size = 32}, &logs));
    check(id, devices, "loss after", cm_logs_get(&logs, "loss"), want->loss_after);
    check(id, devices, "accuracy after", cm_logs_get(&logs, "accuracy"), want->accuracy_after);
    for (int t = 0; t < 4; t++)
        check(id, devices, names[t], rig_abs_sum(model, t), want->sums[t]);
}

START_TEST(a_row_of_the_table)
{
    const struct row *row = &rows[_i / DEVICES];
    const char *devices = device_text(_i % DEVICES);
    cm_data data = RIG_DATA(row->rows);
    rig r = rig_open(&(rig_spec){.devices = devices, .optimizer = row->optimizer});
    int64_t steps = 0, done = 0;

    if (row->epochs) {
        cm_history *history = NULL;
        ck_assert_cm_ok(cm_model_fit(
            r.model, &data,
            &(cm_fit_options){.epochs = row->epochs, .batch_size = row->batch, .no_shuffle = true},
            &history));
        ck_assert_int_eq(cm_history_epochs(history), row->epochs);
        check(row->id, devices, "loss", cm_history_last(history, "loss"), row->want.loss);
        check(row->id, devices, "accuracy", cm_history_last(history, "accuracy"),
              row->want.accuracy);
        cm_history_destroy(history);
        steps = row->rows * row->epochs;
    }
    for (int q = 0; q < r.replicas; q++)
        done += cm_model_replica_rows(r.model, q);
    ck_assert_int_eq(done, steps);
    check_after(row->id, devices, r.model, &data, &row->want);
    rig_assert_replicas_agree(&r);
    rig_close(&r);
}
END_TEST

/* ---- neighbours of the rows ------------------------------------------------------------------ */

static float alone[RIG_WEIGHTS];

/* Trains one epoch on one device and on `devices`, and compares weights, loss and hits. */
static void compare_epoch(const char *devices, int64_t count, int64_t batch)
{
    cm_data data = RIG_DATA(count);
    cm_fit_options options = {.batch_size = batch, .no_shuffle = true};
    double loss = 0, accuracy = 0;
    char what[96];

    snprintf(what, sizeof what, "batch %d of %d rows on %s", (int)batch, (int)count, devices);
    for (int run = 0; run < 2; run++) {
        cm_history *history = NULL;
        rig r = rig_open(&(rig_spec){.devices = run ? devices : RIG_ONE});
        ck_assert_cm_ok(cm_model_fit(r.model, &data, &options, &history));
        if (!run) {
            (void)rig_weights(r.model, 0, alone);
            loss = cm_history_last(history, "loss");
            accuracy = cm_history_last(history, "accuracy");
        } else {
            rig_assert_close(r.model, alone, what);
            rig_assert_replicas_agree(&r);
            ck_assert_close(cm_history_last(history, "loss"), loss, 2e-5 * loss);
            ck_assert_close(cm_history_last(history, "accuracy"), accuracy, 1e-9);
        }
        cm_history_destroy(history);
        rig_close(&r);
    }
}

/* A02: two batches of 100 and every rest; one of the device lists in turn. */
START_TEST(a02_every_rest)
{
    for (int rest = _i; rest < 100; rest += 10)
        compare_epoch(device_text(1 + rest % (DEVICES - 1)), 200 + rest, 100);
}
END_TEST

/* A03: in the last step 8 - r replicas are empty. */
START_TEST(a03_fewer_samples_than_replicas)
{
    compare_epoch(rig_parts(8), 32 + _i, 16);
}
END_TEST

/* A04: each step divides by its own size. */
START_TEST(a04_changing_batch_sizes)
{
    static const numbers want = {
        1.374252, 0.117647, 1.316400, 0.294118, {10.359241, 0.286828, 5.141024, 0.431881}};
    static const int64_t sizes[] = {8, 3, 1, 5};
    const char *devices = device_text(_i);
    cm_data data = RIG_DATA(17);
    rig r = rig_open(&(rig_spec){.devices = devices});
    double loss = 0, hits = 0;
    int64_t at = 0;

    for (int s = 0; s < CM_TEST_COUNT(sizes); s++) {
        cm_data batch = cm_data_slice(&data, at, at + sizes[s]);
        cm_logs logs, test;
        ck_assert_cm_ok(cm_model_test_on_batch(r.model, &batch, &test));
        ck_assert_cm_ok(cm_model_train_on_batch(r.model, &batch, &logs));
        /* A16: the loss of a batch is the same whether or not it is trained on. */
        ck_assert_close(cm_logs_get(&test, "loss"), cm_logs_get(&logs, "loss"), 1e-6);
        loss += cm_logs_get(&logs, "loss") * (double)sizes[s];
        hits += cm_logs_get(&logs, "accuracy") * (double)sizes[s];
        at += sizes[s];
    }
    check("A04", devices, "loss", loss / 17, want.loss);
    check("A04", devices, "accuracy", hits / 17, want.accuracy);
    check_after("A04", devices, r.model, &data, &want);
    rig_assert_replicas_agree(&r);
    rig_close(&r);
}
END_TEST

/* A05: every batch on every n, what each replica gets, and that nothing is refused. */
START_TEST(a05_any_batch_on_any_n)
{
    static const int parts[] = {1, 2, 3, 4, 8};
    const int n = parts[_i];
    static float out[70 * RIG_CLASSES];

    for (int64_t batch = 1; batch <= 2 * n + 1; batch++) {
        int64_t count = 2 * batch + 1;
        cm_data data = RIG_DATA(count);
        compare_epoch(n == 1 ? RIG_ALL : rig_parts(n), count, batch);
        rig r = rig_open(&(rig_spec){.devices = rig_parts(n)});
        cm_evaluate_options options = {.batch_size = batch};
        ck_assert_cm_ok(cm_model_evaluate(r.model, &data, &options, NULL));
        for (int q = 0; q < n; q++) {
            /* Two full batches and one row, which is replica 0's. */
            int64_t want = 2 * (batch / n + (q < batch % n)) + (q == 0);
            ck_assert_int_eq(cm_model_replica_rows(r.model, q), want);
        }
        ck_assert_cm_ok(
            cm_model_predict(r.model, &data, &options, out, (size_t)(count * RIG_CLASSES)));
        rig_close(&r);
    }
}
END_TEST

/* A07: every batch size, also those that leave replicas without rows. */
START_TEST(a07_evaluate_short_last_batch)
{
    cm_data data = RIG_DATA(10);
    rig r = rig_open(&(rig_spec){.devices = device_text(_i)});

    for (int64_t batch = 1; batch <= 10; batch++) {
        cm_logs logs;
        ck_assert_cm_ok(
            cm_model_evaluate(r.model, &data, &(cm_evaluate_options){.batch_size = batch}, &logs));
        check("A07", device_text(_i), "loss", cm_logs_get(&logs, "loss"), 1.389846);
        ck_assert_close(cm_logs_get(&logs, "accuracy"), 0.1, 1e-12);
    }
    rig_close(&r);
}
END_TEST

Suite *suite_cases(void)
{
    Suite *suite = suite_create("cases");
    TCase *tests = tcase_create("cases");

    tcase_add_loop_test(tests, a_row_of_the_table, 0, CM_TEST_COUNT(rows) * DEVICES);
    tcase_add_loop_test(tests, a02_every_rest, 0, 10);
    tcase_add_loop_test(tests, a03_fewer_samples_than_replicas, 1, 8);
    tcase_add_loop_test(tests, a04_changing_batch_sizes, 0, DEVICES);
    tcase_add_loop_test(tests, a05_any_batch_on_any_n, 0, 5);
    tcase_add_loop_test(tests, a07_evaluate_short_last_batch, 0, DEVICES);
    suite_add_tcase(suite, tests);
    return suite;
}
