/* test_bits.c - where results are equal byte for byte: repeated runs, buckets of any size, the
 * collectives.
 *
 * Two replicas add two numbers, and a + b = b + a: every collective and every bucket size gives
 * the same bits.  With more, `naive` adds in rank order whatever the buckets are; `ring` begins
 * each chunk at another rank, so it is only as near as rounding. */
#include <stdio.h>
#include <string.h>
#include "base/knob.h"
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"
#include "train/train.h"

/* Six tensors, from the last to the first 16 B, 1 KiB, 256 B, 16 KiB, 256 B, 2 KiB: a limit of
 * 4096 makes two buckets. */
#define WIDE                                                                                       \
    "dense units=64 activation=relu; dropout rate=0.2; dense units=64 activation=tanh; dense "     \
    "units=4 activation=softmax"

enum { EPOCHS = 3, ROWS = 65, BATCH = 16, STEPS = 5 * EPOCHS };

typedef struct outcome {
    float weights[RIG_WEIGHTS];
    double loss[EPOCHS];
    int buckets;
    bool sharded;
} outcome;

static void train(const char *devices, const char *options, const char *optimizer, outcome *out)
{
    cm_history *history = NULL;
    cm_data data = RIG_DATA(ROWS);
    rig r = rig_open(&(rig_spec){
        .devices = devices, .options = options, .layers = WIDE, .optimizer = optimizer, .seed = 7});
    uint64_t before = cmi_comm_reduced(r.strategy->comm);
    int count = 0;

    memset(out, 0, sizeof *out);
    ck_assert_cm_ok(cm_model_fit(
        r.model, &data, &(cm_fit_options){.epochs = EPOCHS, .batch_size = BATCH}, &history));
    const double *loss = cm_history_values(history, "loss", &count);
    ck_assert_int_eq(count, EPOCHS);
    memcpy(out->loss, loss, sizeof out->loss);
    cm_history_destroy(history);
    (void)rig_weights(r.model, 0, out->weights);
    rig_assert_replicas_agree(&r);
    out->buckets = r.model->plan.bucket_count;
    out->sharded = r.model->sharded;
    if (r.replicas > 1)
        ck_assert_uint_eq(cmi_comm_reduced(r.strategy->comm) - before,
                          out->sharded ? 0 : (uint64_t)(STEPS * out->buckets));
    rig_close(&r);
}

static void assert_same(const outcome *got, const outcome *want, const char *what)
{
    ck_assert_msg(!memcmp(got->weights, want->weights, sizeof got->weights), "%s: weights differ",
                  what);
    ck_assert_msg(!memcmp(got->loss, want->loss, sizeof got->loss), "%s: losses differ", what);
}

static outcome first, second;

static const char *const optimizers[] = {M1_SGD, "adam", "sgd learning_rate=0.1 clipnorm=0.05"};

/* D06: the same devices, the same bits, whatever the threads do. */
START_TEST(d06_two_runs_one_result)
{
    const char *devices[] = {RIG_ONE, RIG_ALL, rig_parts(2), rig_parts(5)};

    train(devices[_i % 4], NULL, optimizers[_i / 4], &first);
    for (int again = 0; again < 3; again++) {
        train(devices[_i % 4], NULL, optimizers[_i / 4], &second);
        assert_same(&second, &first, devices[_i % 4]);
    }
}
END_TEST

static const struct cut {
    const char *option;
    int buckets;
} cuts[] = {{"bucket_bytes=1", 6}, {"bucket_bytes=4096", 2}, {"", 1}};

/* A25 as far as it exists: the size of the buckets does not matter. */
START_TEST(a25_buckets_do_not_matter)
{
    const char *devices[] = {RIG_ALL, rig_parts(5)};
    char options[96];

    for (int c = 0; c < CM_TEST_COUNT(cuts); c++) {
        snprintf(options, sizeof options, "collective=%s %s", _i ? "naive" : "ring",
                 cuts[c].option);
        train(devices[_i], options, "adam", c ? &second : &first);
        ck_assert_int_eq((c ? &second : &first)->buckets, cuts[c].buckets);
        ck_assert_str_eq(cm_strategy_collective(rig_strategy(devices[_i], options)),
                         _i ? "naive" : "ring");
        if (c) assert_same(&second, &first, options);
    }
}
END_TEST

/* A26: for two replicas bits, for more the rule "=1". */
START_TEST(a26_ring_equals_naive)
{
    const char *devices[] = {RIG_ALL, rig_parts(2), rig_parts(5)};
    const int64_t rows[] = {1, 2, 65};

    for (int i = 0; i < CM_TEST_COUNT(rows); i++) {
        cm_data data = RIG_DATA(rows[i]);
        const char *const options[] = {"collective=naive", "collective=ring",
                                       "collective=ring(segment=64)"};
        for (int o = 0; o < CM_TEST_COUNT(options); o++) {
            rig r = rig_open(&(rig_spec){.devices = devices[_i], .options = options[o]});
            ck_assert_cm_ok(cm_model_fit(r.model, &data,
                                         &(cm_fit_options){.epochs = 4, .batch_size = 64}, NULL));
            rig_assert_replicas_agree(&r);
            ck_assert_str_eq(cm_strategy_collective(r.strategy), o ? "ring" : "naive");
            if (!o)
                (void)rig_weights(r.model, 0, first.weights);
            else if (r.replicas == 2)
                rig_assert_bits(r.model, first.weights, options[o]);
            else
                rig_assert_close(r.model, first.weights, options[o]);
            rig_close(&r);
        }
    }
}
END_TEST

/* D14 without a fault: the check finds nothing, and it does look (fault/ shows that it finds
 * what there is). */
START_TEST(d14_check_never_complains)
{
    const char *devices[] = {RIG_ALL, rig_parts(5)};

    train(devices[_i], NULL, "adam", &first);
    cmi_knob_override(CMI_KNOB_CHECK, "replicas");
    train(devices[_i], NULL, "adam", &second);
    cmi_knob_override(CMI_KNOB_CHECK, NULL);
    assert_same(&second, &first, devices[_i]);
}
END_TEST

static const char *const clipped[] = {M1_SGD, "adam amsgrad=true", "adamw clipvalue=0.01",
                                      "sgd learning_rate=0.1 clipnorm=0.05",
                                      "rmsprop centered=true momentum=0.5 global_clipnorm=0.1"};

/* A sharded update sums and updates in the same order as a replicated one with the direct
 * collective: the same bits, with slots, with norms that must be exchanged, in one bucket and in
 * many, with more ranks than some layers have blocks. */
START_TEST(sharded_equals_replicated)
{
    const char *devices[] = {RIG_ALL, rig_parts(2), rig_parts(5)};
    const char *optimizer = clipped[_i / 3];

    train(devices[_i % 3], "update=replicated collective=direct", optimizer, &first);
    ck_assert(!first.sharded);
    train(devices[_i % 3], "update=sharded", optimizer, &second);
    ck_assert(second.sharded);
    assert_same(&second, &first, optimizer);
    train(devices[_i % 3], "update=sharded bucket_bytes=4096", optimizer, &second);
    ck_assert(second.sharded);
    ck_assert_int_gt(second.buckets, first.buckets);
    assert_same(&second, &first, optimizer);
}
END_TEST

/* A collective that was asked for is used, whatever the size; otherwise a large model is sharded.
 */
START_TEST(a_named_collective_is_used)
{
    const char *large =
        "dense units=4096 activation=relu; dense units=16; dense units=4 activation=softmax";
    const char *options[] = {NULL, "collective=ring", "collective=naive"};

    for (int i = 0; i < CM_TEST_COUNT(options); i++) {
        cm_data data = RIG_DATA(16);
        rig r = rig_open(&(rig_spec){
            .devices = RIG_ALL, .options = options[i], .layers = large, .own_weights = true});
        uint64_t before = cmi_comm_reduced(r.strategy->comm);
        ck_assert_cm_ok(cm_model_fit(r.model, &data, NULL, NULL));
        ck_assert_int_eq(r.model->sharded, !i);
        ck_assert_int_eq(cmi_comm_reduced(r.strategy->comm) > before, i > 0);
        rig_close(&r);
    }
}
END_TEST

/* And the check has teeth: a weight of one replica is moved by hand. */
START_TEST(d14_check_sees_a_difference)
{
    /* A sharded update would mend the difference before it is looked for. */
    rig r = rig_open(&(rig_spec){.devices = rig_parts(5), .options = "update=replicated"});
    cm_data data = RIG_DATA(16);
    const cmi_tensor_place *place = &r.model->plan.tensors[r.model->plan.weight_order[2]];
    const float wrong = 3.0f;

    cmi_stream_own(
        r.strategy
            ->streams[1]); /* the worker is idle; it takes its stream back with the next job */
    ck_assert_cm_ok(cmi_replica_write_params(r.model->replicas[1], place->offset + 5, 1, &wrong));
    ck_assert_cm_ok(cmi_stream_finish(r.strategy->streams[1]));
    cmi_knob_override(CMI_KNOB_CHECK, "replicas");
    cm_status status = cm_model_fit(r.model, &data, &(cm_fit_options){.epochs = 1}, NULL);
    cmi_knob_override(CMI_KNOB_CHECK, NULL);
    ck_assert_cm_status(status, CM_E_REPLICAS);
    ck_assert_message_has("\"kernel\" of layer \"dense_1\", element 5");
    ck_assert_message_has("step 1");
    ck_assert_message_has("device 1");
    rig_close(&r);
}
END_TEST

Suite *suite_bits(void)
{
    Suite *suite = suite_create("bits");
    TCase *tests = tcase_create("bits");

    tcase_add_loop_test(tests, d06_two_runs_one_result, 0, 4 * CM_TEST_COUNT(optimizers));
    tcase_add_loop_test(tests, a25_buckets_do_not_matter, 0, 2);
    tcase_add_loop_test(tests, a26_ring_equals_naive, 0, 3);
    tcase_add_loop_test(tests, d14_check_never_complains, 0, 2);
    tcase_add_loop_test(tests, sharded_equals_replicated, 0, 3 * CM_TEST_COUNT(clipped));
    if (!strcmp(cmi_knob_text(CMI_KNOB_UPDATE), "auto"))
        tcase_add_test(tests, a_named_collective_is_used);
    tcase_add_test(tests, d14_check_sees_a_difference);
    suite_add_tcase(suite, tests);
    return suite;
}
