/* test_vendors.c - training on drivers of several vendors in one process: they compute like one another, and replicas of
 * different vendors never part.
 *
 *     drivers.sh pocl+rusticl test_vendors mixed
 *
 * Which drivers there are is the environment's choice (drivers.sh, CMakeLists.txt), so the cases look for PoCL, the
 * reference, by name, and take every other platform as it comes: `alone` and `mixed` run with any of them, `empty`
 * (case C02), `three` (C03) and `chosen` (C09) want the drivers that their entries name.  Devices are named by number,
 * since drivers that share a CPU count as the same hardware.  Simulated and translated devices are slow: sizes stay
 * tiny.  Main thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/knob.h"
#include "base/mem.h"
#include "device/device.h"
#include "support/cm_test.h"
#include "support/train_models.h"
#include "train/train.h"
#define FAULT_LAYER_FIND
#include "fault/layer.h"

enum { EPOCHS = 2, WEIGHTS = 512, TEXTS = 8 };

#define POCL     "Portable Computing Language"
#define RUSTICL  "rusticl"
#define OCLGRIND "Oclgrind"

static cm_device_list *list;

static void look(void)
{
    if (!list) ck_assert_cm_ok(cm_device_list_create(&list));
}

/* ---- devices by platform --------------------------------------------------------------------- */

/* Number of the platform with this name. */
static int platform_of(const char *name)
{
    look();
    for (int i = 0; i < cm_device_list_platforms(list); i++)
        if (strstr(cm_device_list_platform(list, i)->name, name)) return i;
    ck_abort_msg("no platform \"%s\" among %d", name, cm_device_list_platforms(list));
    return -1;
}

/* Place in the list of a device. */
static int index_of(int platform, int device)
{
    for (int i = 0; i < cm_device_list_count(list); i++) {
        const cm_device_info *info = cm_device_list_get(list, i);
        if (info->platform == platform && info->device == device && info->usable) return i;
    }
    ck_abort_msg("platform %d \"%s\" has no usable device %d", platform,
                 cm_device_list_platform(list, platform)->name, device);
    return -1;
}

/* A text that stays; a few are alive at a time. */
static const char *text_of(const char *fmt, int a, int b)
{
    static char texts[TEXTS][64];
    static int next;
    char *text = texts[next++ % TEXTS];

    snprintf(text, sizeof texts[0], fmt, a, b);
    return text;
}

static const char *device_text(int platform, int device)
{
    (void)index_of(platform, device);
    return text_of("%d.%d", platform, device);
}

/* ---- training -------------------------------------------------------------------------------- */

static const struct form {
    const char *name, *optimizer;
    int64_t rows, batch;
} forms[] = {{"momentum", M1_SGD, 45, 10},
             {"one row left", M1_SGD, 33, 16},
             {"adam", "adam learning_rate=0.01 epsilon=1e-3", 45, 10},
             {"clipped", "rmsprop learning_rate=0.01 epsilon=1e-3 global_clipnorm=0.1", 41, 8}};

typedef struct outcome {
    float weights[WEIGHTS], predicted[RIG_CLASSES * 45];
    double loss[EPOCHS], accuracy[EPOCHS], test_loss;
} outcome;

static void keep(const cm_history *history, const char *name, double out[EPOCHS])
{
    int count = 0;
    const double *values = cm_history_values(history, name, &count);

    ck_assert_int_eq(count, EPOCHS);
    memcpy(out, values, sizeof *out * EPOCHS);
}

/* Two epochs with dropout and shuffling, then a look at the result. */
static rig train(const char *devices, const char *options, const struct form *form, outcome *out)
{
    cm_history *history = NULL;
    cm_data data = RIG_DATA(form->rows);
    cm_evaluate_options look_options = {.batch_size = form->batch};
    cm_logs logs;
    int64_t rows = 0;
    rig r = rig_open(&(rig_spec){.devices = devices,
                                 .options = options,
                                 .layers = M1_DROPOUT,
                                 .optimizer = form->optimizer});

    ck_assert_cm_ok(cm_model_fit(
        r.model, &data, &(cm_fit_options){.epochs = EPOCHS, .batch_size = form->batch}, &history));
    keep(history, "loss", out->loss);
    keep(history, "accuracy", out->accuracy);
    cm_history_destroy(history);
    for (int q = 0; q < r.replicas; q++) {
        ck_assert_int_gt(cm_model_replica_rows(r.model, q), 0);
        rows += cm_model_replica_rows(r.model, q);
    }
    ck_assert_int_eq(rows, form->rows * EPOCHS);
    ck_assert_uint_le(rig_weights(r.model, 0, out->weights), WEIGHTS);
    ck_assert_cm_ok(cm_model_evaluate(r.model, &data, &look_options, &logs));
    out->test_loss = cm_logs_get(&logs, "loss");
    ck_assert_cm_ok(cm_model_predict(r.model, &data, &look_options, out->predicted,
                                     (size_t)(form->rows * RIG_CLASSES)));
    return r;
}

/* The rule "=1" of the cases. */
static void compare(const rig *r, const struct form *form, const outcome *got, const outcome *want,
                    const char *what)
{
    rig_assert_close(r->model, want->weights, what);
    rig_assert_replicas_agree(r);
    for (int e = 0; e < EPOCHS; e++) {
        ck_assert_close(got->loss[e], want->loss[e], 2e-5 * want->loss[e]);
        ck_assert_close(got->accuracy[e], want->accuracy[e], 1e-9);
    }
    ck_assert_close(got->test_loss, want->test_loss, 2e-5 * want->test_loss);
    ck_assert_floats_close(got->predicted, want->predicted, form->rows * RIG_CLASSES, 1e-7, 2e-5);
}

/* PoCL's first device alone; kept. */
static const outcome *reference(int form)
{
    static outcome known[CM_TEST_COUNT(forms)];
    static bool is_known[CM_TEST_COUNT(forms)];

    if (!is_known[form]) {
        rig r = train(device_text(platform_of(POCL), 0), NULL, &forms[form], &known[form]);
        ck_assert_int_eq(r.replicas, 1);
        ck_assert_double_lt(known[form].loss[1], known[form].loss[0]);
        rig_close(&r);
        is_known[form] = true;
    }
    return &known[form];
}

static void train_alone(const char *devices, int form)
{
    char what[96];
    outcome got;
    const outcome *want = reference(form);
    rig r = train(devices, NULL, &forms[form], &got);

    snprintf(what, sizeof what, "%s on %s alone", forms[form].name, devices);
    ck_assert_int_eq(r.replicas, 1);
    compare(&r, &forms[form], &got, want, what);
    rig_close(&r);
}

/* Every other driver trains like PoCL. */
START_TEST(alone)
{
    int pocl = platform_of(POCL), others = 0;

    for (int p = 0; p < cm_device_list_platforms(list); p++) {
        if (p == pocl) continue;
        train_alone(device_text(p, 0), _i);
        others++;
    }
    ck_assert_int_gt(others, 0);
}
END_TEST

/* Devices of two kinds: the update must be sharded, whatever the options say; the check after each step compares the
 * replicas' bits. */
static void train_mixed(const char *devices, const char *options, int form)
{
    static outcome got, again;
    char what[160];
    const outcome *want = reference(form);

    snprintf(what, sizeof what, "%s on %s, %s", forms[form].name, devices,
             options ? options : "no options");
    cmi_knob_override(CMI_KNOB_CHECK, "replicas");
    rig r = train(devices, options, &forms[form], &got);
    ck_assert_int_ge(r.replicas, 2);
    ck_assert_msg(r.strategy->unlike, "%s: taken for devices of one kind", what);
    ck_assert_msg(r.model->sharded, "%s: the update was not sharded", what);
    compare(&r, &forms[form], &got, want, what);
    rig_close(&r);
    /* The same devices, the same bits. */
    r = train(devices, options, &forms[form], &again);
    rig_assert_bits(r.model, got.weights, what);
    cmi_knob_override(CMI_KNOB_CHECK, NULL);
    rig_close(&r);
}

START_TEST(mixed)
{
    static const char *const options[] = {NULL, "bucket_bytes=256", "update=sharded",
                                          "update=replicated"};
    int pocl = platform_of(POCL), others = 0;

    for (int p = 0; p < cm_device_list_platforms(list); p++) {
        char three[48];
        if (p == pocl) continue;
        train_mixed(text_of(_i % 2 ? "%d.0,%d.0" : "%2$d.0,%1$d.0", pocl, p), options[_i], _i);
        /* Two of one kind and one of another. */
        snprintf(three, sizeof three, "%d.0,%d.0,%d.1", pocl, p, pocl);
        (void)device_text(pocl, 1);
        train_mixed(three, options[_i], _i);
        others++;
    }
    ck_assert_int_gt(others, 0);
}
END_TEST

/* ---- choosing devices ------------------------------------------------------------------------ */

/* Exactly these devices, in this order. */
static void assert_choice(const char *selection, int count, const int *index)
{
    cm_device_choice choices[CM_MAX_DEVICES];
    int got = 0;

    ck_assert_cm_ok(cm_device_select(list, selection, choices, &got));
    ck_assert_msg(got == count, "\"%s\" names %d devices, not %d",
                  selection ? selection : "(default)", got, count);
    for (int i = 0; i < count; i++)
        ck_assert_msg(choices[i].index == index[i] && choices[i].parts == 1,
                      "\"%s\": device %d is number %d of the list, not %d",
                      selection ? selection : "(default)", i, choices[i].index, index[i]);
}

/* C02: a platform without devices, first or last; RUSTICL_ENABLE is not set. */
START_TEST(c02_empty_platform)
{
    int pocl = platform_of(POCL), empty = platform_of(RUSTICL), all[2];
    cm_device_choice choices[CM_MAX_DEVICES];
    const cm_platform_info *info = cm_device_list_platform(list, empty);
    int count = 0;

    ck_assert_ptr_null(getenv("RUSTICL_ENABLE"));
    printf("platform %d is the empty one\n", empty);
    ck_assert_int_eq(cm_device_list_platforms(list), 2);
    ck_assert_int_eq(info->devices, 0);
    ck_assert_msg(cm_test_contains(info->reason, "RUSTICL_ENABLE"), "reason: \"%s\"", info->reason);
    ck_assert_int_eq(cm_device_list_count(list), 2);
    for (int d = 0; d < 2; d++) {
        all[d] = index_of(pocl, d);
        assert_choice(device_text(pocl, d), 1, &all[d]);
    }
    assert_choice(NULL, 2, all);
    assert_choice("cpu", 2, all);
    ck_assert_cm_status(cm_device_select(list, text_of("%d.%d", empty, 0), choices, &count),
                        CM_E_NO_DEVICE);

    outcome got;
    rig r = train("cpu", NULL, &forms[0], &got);
    ck_assert_int_eq(r.replicas, 2);
    compare(&r, &forms[0], &got, reference(0), "beside an empty platform");
    rig_close(&r);
}
END_TEST

/* C03: PoCL, rusticl and oclgrind, a device each. */
START_TEST(c03_three_platforms)
{
    static const char *const names[] = {POCL, RUSTICL, OCLGRIND};
    static const char *const parts[] = {"BASIC-", "llvmpipe", "grind sim"};
    const uint64_t cpu = 2, gpu = 4, accelerator = 8; /* bits of CL_DEVICE_TYPE */
    cm_device_choice choices[CM_MAX_DEVICES];
    int place[3], count = 0;

    for (int i = 0; i < 3; i++) {
        int platform = platform_of(names[i]);
        place[i] = index_of(platform, 0);
        const cm_device_info *info = cm_device_list_get(list, place[i]);
        ck_assert_int_eq(info->kind, CM_DEVICE_CPU);
        ck_assert_uint_eq(info->type_bits & cpu, cpu);
        ck_assert_uint_eq(info->type_bits & (gpu | accelerator), i == 2 ? gpu | accelerator : 0);
        assert_choice(device_text(platform, 0), 1, &place[i]);
        assert_choice(parts[i], 1, &place[i]);
    }
    ck_assert_int_eq(cm_device_list_platforms(list), 3);
    ck_assert_int_eq(cm_device_list_count(list), 3);
    /* All are CPUs on the same hardware: the first platform's. */
    assert_choice(NULL, 1, (int[]){0});
    assert_choice("cpu", 1, (int[]){0});
    assert_choice("all", 1, (int[]){0});
    ck_assert_cm_status(cm_device_select(list, "gpu", choices, &count), CM_E_NO_DEVICE);
    assert_choice("llvmpipe, basic", 2, (int[]){place[1], place[0]});
    assert_choice("basic, llvmpipe", 2, place);
    for (int i = 0; i < 3; i++) {
        rig_strategy(parts[i], NULL);
        ck_assert_str_eq(cm_device_list_get(list, place[i])->name,
                         cmi_device_get_facts(rig_strategy(parts[i], NULL)->devices[0])->info.name);
        train_alone(parts[i], 0);
        train_alone(parts[i], 2);
    }
}
END_TEST

/* C09: four devices, one is chosen; the layer counts what is made on the others. */
START_TEST(c09_only_the_chosen_devices)
{
    static const char *const kinds[] = {"context", "queue", "buffer", "program", "kernel"};
    fault_layer layer;
    int pocl = platform_of(POCL), chosen = index_of(pocl, 0);
    outcome got;

    ck_assert(fault_layer_find(&layer));
    ck_assert_int_eq(layer.active(), 1);
    ck_assert_int_eq(cm_device_list_count(list), 4);
    rig r = train(device_text(pocl, 0), NULL, &forms[0], &got);
    rig_close(&r);
    rig_forget();
    for (int d = 0; d < 4; d++)
        for (int k = 0; k < CM_TEST_COUNT(kinds); k++) {
            char what[32];
            snprintf(what, sizeof what, "made:%s@%d", kinds[k], d);
            ck_assert_msg((layer.count(what) > 0) == (d == chosen), "%s: %ld", what,
                          layer.count(what));
        }
}
END_TEST

/* ---- the program ----------------------------------------------------------------------------- */

static void add_case(Suite *suite, const char *name, const TTest *test, int loops)
{
    TCase *one = tcase_create(name);

    tcase_add_loop_test(one, test, 0, loops);
    suite_add_tcase(suite, one);
}

/* Without an argument every case would run, and no environment suits all. */
int main(int argc, char **argv)
{
    Suite *suite = suite_create("vendors");
    int forms_count = CM_TEST_COUNT(forms);

    if (argc != 2) {
        fprintf(stderr, "usage: test_vendors alone|mixed|empty|three|chosen\n");
        return 2;
    }
    add_case(suite, "alone", alone, forms_count);
    add_case(suite, "mixed", mixed, forms_count);
    add_case(suite, "empty", c02_empty_platform, 1);
    add_case(suite, "three", c03_three_platforms, 1);
    add_case(suite, "chosen", c09_only_the_chosen_devices, 1);
    int status = cm_test_main(argc, argv, &suite, 1);
    rig_forget();
    cm_device_list_destroy(list);
    if (cmi_device_objects_live() || cmi_mem_live()) {
        printf("left behind: %llu OpenCL objects, %llu blocks of memory\n",
               (unsigned long long)cmi_device_objects_live(), (unsigned long long)cmi_mem_live());
        return EXIT_FAILURE;
    }
    return status;
}
