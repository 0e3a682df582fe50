/* test_equality.c - the mirrored theorem: N replicas train like one.
 *
 * For every form of a step (dropout always; weights, clipping, optimisers), every batch size and
 * last batch, and every number of replicas: after 20 steps weights, losses and hits agree with
 * the run on one device, whatever its rows were cut into, and the replicas hold the same bits.
 * Shuffling is on: the order is part of the theorem.
 *
 * The run on one device is made once per form and size and kept for the other device lists. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

enum { MAX_EPOCHS = 10, FORMS = 9, SIZES = 12, PARTS = 7 };

static const struct form {
    const char *name, *optimizer, *loss;
    bool class_weights, sample_weights;
} forms[FORMS] = {
    {"momentum", M1_SGD, NULL, false, false},
    {"adam", "adam learning_rate=0.01 epsilon=1e-3", NULL, false, false},
    {"rmsprop", "rmsprop learning_rate=0.01 epsilon=1e-3 weight_decay=0.01", NULL, false, false},
    {"class weights", M1_SGD, NULL, true, false},
    {"sample weights", M1_SGD, NULL, false, true},
    {"clipnorm", "sgd learning_rate=0.1 momentum=0.9 clipnorm=0.05", NULL, false, false},
    {"global_clipnorm", "adam learning_rate=0.01 epsilon=1e-3 global_clipnorm=0.1", NULL, true,
     false},
    {"clipvalue", "sgd learning_rate=0.1 momentum=0.9 clipvalue=0.01", NULL, false, false},
    {"mean by weights", M1_SGD, "sparse_categorical_crossentropy reduction=mean_with_sample_weight",
     false, true}};

/* Four full batches and a last one of 1 or 5 rows, four times; and 64 rows followed by one, ten
 * times. */
static const struct size {
    int64_t batch, rows;
    int epochs;
} sizes[SIZES] = {{1, 5, 4},    {2, 9, 4},    {3, 13, 4},   {9, 37, 4},
                  {9, 41, 4},   {10, 41, 4},  {10, 45, 4},  {31, 125, 4},
                  {31, 129, 4}, {32, 129, 4}, {32, 133, 4}, {64, 65, MAX_EPOCHS}};

static const double class_weight[RIG_CLASSES] = {0.5, 2.0, 1.0, 0.25};

typedef struct outcome {
    bool known;
    float weights[512];
    double loss[MAX_EPOCHS], accuracy[MAX_EPOCHS];
} outcome;

static outcome expected[FORMS][SIZES];

static void keep(const cm_history *history, const char *name, int epochs, double *out)
{
    int count = 0;
    const double *values = cm_history_values(history, name, &count);

    ck_assert_int_eq(count, epochs);
    memcpy(out, values, sizeof *out * (size_t)count);
}

static rig train(const char *devices, const struct form *form, const struct size *size,
                 outcome *out)
{
    static float weight[200];
    cm_history *history = NULL;
    cm_data data = RIG_DATA(size->rows);
    rig r = rig_open(&(rig_spec){.devices = devices,
                                 .layers = M1_DROPOUT,
                                 .optimizer = form->optimizer,
                                 .loss = form->loss});

    for (int i = 0; i < 200; i++)
        weight[i] = (float)(i % 4) * 0.5f;
    if (form->sample_weights) data.sample_weight = CM_FLOAT32(weight, size->rows);
    ck_assert_cm_ok(
        cm_model_fit(r.model, &data,
                     &(cm_fit_options){.epochs = size->epochs,
                                       .batch_size = size->batch,
                                       .class_weight = form->class_weights ? class_weight : NULL,
                                       .class_weight_count = form->class_weights ? RIG_CLASSES : 0},
                     &history));
    keep(history, "loss", size->epochs, out->loss);
    keep(history, "accuracy", size->epochs, out->accuracy);
    cm_history_destroy(history);
    ck_assert_uint_le(rig_weights(r.model, 0, out->weights), 512);
    out->known = true;
    return r;
}

static const outcome *one_device(int form, int size)
{
    outcome *out = &expected[form][size];

    if (!out->known) {
        rig r = train(RIG_ONE, &forms[form], &sizes[size], out);
        ck_assert_int_eq(r.replicas, 1);
        rig_close(&r);
    }
    return out;
}

static void compare(const char *devices, int form, int size, int replicas)
{
    char what[128];
    outcome got;
    const outcome *want = one_device(form, size);
    rig r = train(devices, &forms[form], &sizes[size], &got);
    int64_t rows = 0;

    snprintf(what, sizeof what, "%s, batch %d of %d rows on %s", forms[form].name,
             (int)sizes[size].batch, (int)sizes[size].rows, devices);
    if (replicas) ck_assert_int_eq(r.replicas, replicas);
    for (int q = 0; q < r.replicas; q++)
        rows += cm_model_replica_rows(r.model, q);
    ck_assert_msg(rows == sizes[size].rows * sizes[size].epochs, "%s: %lld rows", what,
                  (long long)rows);
    rig_assert_close(r.model, want->weights, what);
    rig_assert_replicas_agree(&r);
    for (int e = 0; e < sizes[size].epochs; e++) {
        ck_assert_msg(fabs(got.loss[e] - want->loss[e]) <= 2e-5 * want->loss[e],
                      "%s: loss of epoch %d is %.9g, not %.9g", what, e, got.loss[e],
                      want->loss[e]);
        ck_assert_msg(fabs(got.accuracy[e] - want->accuracy[e]) < 1e-9,
                      "%s: accuracy of epoch %d is %.9g, not %.9g", what, e, got.accuracy[e],
                      want->accuracy[e]);
    }
    rig_close(&r);
}

/* The plain form meets every size, the others every second: odd and even ones in turn over the
 * device lists. */
static void compare_sizes(const char *devices, int form, int replicas)
{
    for (int size = 0; size < SIZES; size++)
        if (!form || (form + replicas + size) % 2) compare(devices, form, size, replicas);
}

/* The loop runs over forms times 2 ... 8 replicas on one device. */
START_TEST(replicas_train_like_one)
{
    int replicas = _i % PARTS + 2;

    compare_sizes(rig_parts(replicas), _i / PARTS, replicas);
}
END_TEST

/* All devices: two under CTest, other lists in variants. */
START_TEST(all_devices_train_like_one)
{
    compare_sizes(RIG_ALL, _i, 0);
}
END_TEST

/* A comparison of runs that learn nothing would prove nothing. */
START_TEST(training_does_something)
{
    outcome got;
    rig r = train(RIG_ONE, &forms[0], &sizes[9], &got);

    ck_assert_double_lt(got.loss[3], got.loss[0]);
    rig_close(&r);
    /* The forms differ from one another, else the table above would prove one thing nine times. */
    for (int form = 1; form < FORMS; form++)
        ck_assert(memcmp(one_device(form, 9)->weights, one_device(0, 9)->weights,
                         sizeof got.weights / 2));
}
END_TEST

Suite *suite_equality(void)
{
    Suite *suite = suite_create("equality");
    TCase *tests = tcase_create("equality"), *all = tcase_create("equality_all");

    tcase_add_test(tests, training_does_something);
    tcase_add_loop_test(tests, replicas_train_like_one, 0, FORMS * PARTS);
    suite_add_tcase(suite, tests);
    tcase_add_loop_test(all, all_devices_train_like_one, 0, FORMS);
    suite_add_tcase(suite, all);
    return suite;
}
