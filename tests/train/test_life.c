/* test_life.c - the life of strategies and models: made, used, destroyed, in any order; what a
 * process leaves behind; that steps allocate nothing; that nobody hears a word. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "device/device.h"
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/suites.h"

/* ---- create and destroy ---------------------------------------------------------------------- */

/* B10, B09 (a): the same devices again and again, one device, parts of one; nothing is left. */
START_TEST(b10_create_and_destroy_100_times)
{
    cm_data data = RIG_DATA(5);
    uint64_t objects = cmi_device_objects_live(), blocks = cmi_mem_live();

    for (int round = 0; round < 100; round++) {
        const char *devices = round % 3 == 0 ? RIG_ALL : round % 3 == 1 ? RIG_ONE : rig_parts(4);
        cm_strategy *strategy = NULL;
        cm_model *model = NULL;
        ck_assert_cm_ok(cm_mirrored_strategy_create(devices, NULL, &strategy));
        ck_assert_cm_ok(rig_make_m1(strategy, &model));
        /* Some are only created, some built, some trained. */
        if (round % 4) ck_assert_cm_ok(cm_model_build(model, (const int64_t[]){RIG_FEATURES}, 1));
        if (round % 8 == 5) ck_assert_cm_ok(cm_model_fit(model, &data, NULL, NULL));
        /* The strategy first, or the model first. */
        if (round % 2) cm_strategy_destroy(strategy);
        cm_model_destroy(model);
        if (round % 2 == 0) cm_strategy_destroy(strategy);
        ck_assert_uint_eq(cmi_device_objects_live(), objects);
        ck_assert_uint_eq(cmi_mem_live(), blocks);
    }
}
END_TEST

START_TEST(destroy_accepts_null_and_keeps_the_error)
{
    cm_strategy *strategy = NULL;

    ck_assert_cm_status(cm_mirrored_strategy_create("no such device", NULL, &strategy),
                        CM_E_NO_DEVICE);
    cm_strategy_destroy(NULL);
    cm_model_destroy(NULL);
    cm_history_destroy(NULL);
    cm_dataset_destroy(NULL);
    rig r = rig_open(&(rig_spec){.devices = RIG_ALL});
    ck_assert_cm_status(cm_model_set_seed(r.model, 1), CM_E_STATE);
    rig_close(&r);
    ck_assert_int_eq(cm_last_status(), CM_E_STATE);
    ck_assert_message_has("cm_model_set_seed");
}
END_TEST

/* Two models of one strategy, trained in turns, do not disturb one another. */
START_TEST(two_models_in_one_strategy)
{
    static float want[2][RIG_WEIGHTS];
    cm_data data = RIG_DATA(40);
    const rig_spec specs[] = {{.devices = RIG_ALL, .layers = M1_DROPOUT},
                              {.devices = RIG_ALL,
                               .layers = "dense units=33 activation=tanh; dense units=4",
                               .optimizer = "adam",
                               .loss = "sparse_categorical_crossentropy from_logits=true"}};

    for (int m = 0; m < 2; m++) {
        rig r = rig_open(&specs[m]);
        ck_assert_cm_ok(
            cm_model_fit(r.model, &data, &(cm_fit_options){.epochs = 3, .batch_size = 16}, NULL));
        (void)rig_weights(r.model, 0, want[m]);
        rig_close(&r);
    }
    rig a = rig_open(&specs[0]), b = rig_open(&specs[1]);
    for (int e = 0; e < 3; e++) {
        ck_assert_cm_ok(cm_model_fit(a.model, &data, &(cm_fit_options){.batch_size = 16}, NULL));
        ck_assert_cm_ok(cm_model_fit(b.model, &data, &(cm_fit_options){.batch_size = 16}, NULL));
    }
    rig_assert_bits(a.model, want[0], "first model");
    rig_assert_bits(b.model, want[1], "second model");
    rig_close(&a);
    ck_assert_cm_ok(cm_model_fit(b.model, &data, NULL, NULL));
    rig_close(&b);
}
END_TEST

/* ---- steps allocate nothing ------------------------------------------------------------------ */

typedef struct meter {
    uint64_t blocks[2], objects[2]; /* at the begin and the end of the present epoch */
} meter;

static void meter_begin(void *user, int epoch)
{
    meter *m = user;

    (void)epoch;
    m->blocks[0] = cmi_mem_total();
    m->objects[0] = cmi_device_objects_live();
}

static void meter_end(void *user, int epoch, const cm_logs *logs)
{
    meter *m = user;

    (void)epoch;
    (void)logs;
    m->blocks[1] = cmi_mem_total();
    m->objects[1] = cmi_device_objects_live();
}

static const char *const step_optimizers[] = {M1_SGD, "adam amsgrad=true weight_decay=0.01",
                                              "rmsprop clipnorm=0.1"};

/* B09: an epoch of 250 steps takes as many allocations as one of 2, and the same OpenCL objects. */
START_TEST(b09_no_allocation_in_a_step)
{
    meter m = {{0}, {0}};
    uint64_t blocks[2];
    cm_callbacks callbacks = {.user = &m, .epoch_begin = meter_begin, .epoch_end = meter_end};
    rig r = rig_open(
        &(rig_spec){.devices = RIG_ALL, .layers = M1_DROPOUT, .optimizer = step_optimizers[_i]});

    for (int run = 0; run < 2; run++) {
        cm_data data = RIG_DATA(run ? 1000 : 8);
        ck_assert_cm_ok(cm_model_fit(
            r.model, &data,
            &(cm_fit_options){
                .epochs = 3, .batch_size = 4, .callbacks = &callbacks, .callbacks_count = 1},
            NULL));
        blocks[run] = m.blocks[1] - m.blocks[0];
        ck_assert_uint_eq(m.objects[1], m.objects[0]);
    }
    ck_assert_uint_eq(blocks[1], blocks[0]);
    rig_close(&r);
}
END_TEST

static long resident_kib(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (!file) return -1;
    if (fscanf(file, "%ld %ld", &total, &resident) != 2) resident = -1;
    fclose(file);
    return resident < 0 ? -1 : resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* B09 (b): what the driver keeps per step would show over thousands of them. */
START_TEST(b09_resident_size_is_flat)
{
    cm_data data = RIG_DATA(1000);
    cm_fit_options epoch = {.epochs = 2, .batch_size = 2};
    rig r = rig_open(&(rig_spec){.devices = RIG_ALL});

    ck_assert_cm_ok(cm_model_fit(r.model, &data, &epoch, NULL));
    long before = resident_kib();
    if (before < 0) CM_TEST_SKIP("no /proc/self/statm");
    epoch.epochs = 18;
    ck_assert_cm_ok(cm_model_fit(r.model, &data, &epoch, NULL));
    long grown = resident_kib() - before;
    ck_assert_msg(grown < 1024, "9000 steps took %ld KiB", grown);
    rig_close(&r);
}
END_TEST

/* ---- quiet ----------------------------------------------------------------------------------- */

static void nothing(void *user, const char *text)
{
    *(size_t *)user += strlen(text);
}

static void work_quietly(rig *r, size_t *heard)
{
    static float out[33 * RIG_CLASSES];
    cm_data data = RIG_DATA(33);
    cm_logs logs;

    ck_assert_cm_ok(cm_model_fit(
        r->model, &data, &(cm_fit_options){.epochs = 2, .batch_size = 16, .validation_split = 0.2},
        NULL));
    ck_assert_cm_ok(cm_model_evaluate(r->model, &data, NULL, &logs));
    ck_assert_cm_ok(cm_model_predict(r->model, &data, NULL, out, 33 * RIG_CLASSES));
    ck_assert_cm_status(cm_model_predict(r->model, &data, NULL, out, 1), CM_E_SHAPE);
    /* What is asked for goes to the function that was given, and nowhere else. */
    for (int verbose = 1; verbose <= 2; verbose++) {
        ck_assert_cm_ok(cm_model_fit(
            r->model, &data,
            &(cm_fit_options){
                .epochs = 2, .verbose = verbose, .output = nothing, .output_user = heard},
            NULL));
        ck_assert_cm_ok(cm_model_evaluate(
            r->model, &data,
            &(cm_evaluate_options){.verbose = verbose, .output = nothing, .output_user = heard},
            &logs));
    }
    ck_assert_cm_ok(cm_model_summary(r->model, nothing, heard));
}

/* C12: not a byte on standard output or error.  Both are replaced by a file for the while. */
START_TEST(c12_quiet_by_default)
{
    char name[] = "/tmp/clmirror-quiet-XXXXXX";
    int file = mkstemp(name), out = dup(1), error = dup(2);
    size_t heard = 0;
    struct stat about;

    ck_assert(file >= 0 && out >= 0 && error >= 0);
    unlink(name);
    fflush(stdout);
    dup2(file, 1);
    dup2(file, 2);
    rig r = rig_open(&(rig_spec){.devices = _i ? rig_parts(4) : RIG_ALL, .layers = M1_DROPOUT});
    work_quietly(&r, &heard);
    rig_close(&r);
    fflush(stdout);
    dup2(out, 1);
    dup2(error, 2);
    close(out);
    close(error);
    int failed = fstat(file, &about);
    close(file);
    ck_assert_int_eq(failed, 0);
    ck_assert_int_eq(about.st_size, 0);
    ck_assert_uint_gt(heard, 100);
}
END_TEST

/* ---- B11: the end of a process --------------------------------------------------------------- */

/* A child asserts nothing: it is no test of Check. */
static cm_data zeros(int64_t rows)
{
    static const float x[200 * RIG_FEATURES];
    static const int32_t y[200];

    return (cm_data){.x = CM_FLOAT32(x, rows, RIG_FEATURES), .y = CM_INT32(y, rows)};
}

int child_exit_alive(void)
{
    cm_strategy *strategy = NULL;
    cm_model *model = NULL;
    cm_data data = zeros(40);

    if (cm_mirrored_strategy_create(RIG_ALL, NULL, &strategy) || rig_make_m1(strategy, &model) ||
        cm_model_fit(model, &data, NULL, NULL))
        printf("failed: %s\n", cm_last_message());
    return 0;
}

static void leave(void *user, int64_t batch, const cm_logs *logs)
{
    (void)user;
    (void)logs;
    if (batch == 1) exit(0);
}

int child_exit_callback(void)
{
    cm_strategy *strategy = NULL;
    cm_model *model = NULL;
    cm_data data = zeros(200);
    cm_callbacks callbacks = {.batch_end = leave};

    if (!cm_mirrored_strategy_create(RIG_ALL, NULL, &strategy) && !rig_make_m1(strategy, &model))
        (void)!cm_model_fit(model, &data,
                            &(cm_fit_options){.callbacks = &callbacks, .callbacks_count = 1}, NULL);
    printf("still here: %s\n", cm_last_message());
    return 1;
}

START_TEST(b11_exit_without_destroy)
{
    const char *const parts[] = {"exit_alive", "exit_callback"};

    for (int i = 0; i < 10; i++) {
        const child_result *result = child_run("CLMIRROR_LOG=warning", parts[_i]);
        ck_assert_msg(!result->status && !result->text[0], "%s: status %d, output \"%s\"",
                      parts[_i], result->status, result->text);
    }
}
END_TEST

Suite *suite_life(void)
{
    Suite *suite = suite_create("life");
    TCase *tests = tcase_create("life");

    tcase_add_test(tests, b10_create_and_destroy_100_times);
    tcase_add_test(tests, destroy_accepts_null_and_keeps_the_error);
    tcase_add_test(tests, two_models_in_one_strategy);
    tcase_add_loop_test(tests, b09_no_allocation_in_a_step, 0, 3);
    tcase_add_test(tests, b09_resident_size_is_flat);
    tcase_add_loop_test(tests, c12_quiet_by_default, 0, 2);
    tcase_add_loop_test(tests, b11_exit_without_destroy, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
