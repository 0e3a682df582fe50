/* test_sweep.c - every OpenCL call of a training fails once, at every place; every host allocation
 * too.
 *
 * For each call, device and k = 1, 2, ... the k-th such call of a life (model, two epochs,
 * evaluation, prediction) fails. The life must end in an error that names device and call, leave
 * the replicas at a completed step, train again when the strategy exists, and release everything.
 * A life in which the rule no longer fires ends the row.  Long rows are sampled after their
 * beginning.  A life begins with a new strategy where the call belongs to that, which is slow since
 * kernels are built, and with a new model of a warm strategy else. */
#include <stdio.h>
#include <string.h>
#include "base/knob.h"
#include "base/mem.h"
#include "fault/trial.h"
#include "fault/suites.h"

typedef struct one_call {
    const char *name, *shown; /* in the message; NULL: the same */
    int code;
    bool
        once; /* called when devices are opened and kernels made, and not any more by a second model */
} one_call;

static const one_call calls[] = {
    {"clCreateContext", NULL, -6, true},          {"clCreateCommandQueue", NULL, -6, true},
    {"clBuildProgram", NULL, -11, true},          {"clCreateKernel", NULL, -46, true},
    {"clGetKernelWorkGroupInfo", NULL, -5, true}, {"clFinish", NULL, -14, true},
    {"clCreateBuffer", NULL, -4, false},          {"clCreateSubBuffer", NULL, -13, false},
    {"clSetKernelArg", NULL, -38, false},         {"clEnqueueNDRangeKernel", NULL, -5, false},
    {"clEnqueueMapBuffer", NULL, -12, false},     {"clEnqueueUnmapMemObject", NULL, -5, false},
    {"clEnqueueReadBuffer", NULL, -5, false},     {"clEnqueueWriteBuffer", NULL, -5, false},
    {"clEnqueueFillBuffer", NULL, -4, false},     {"clEnqueueMarkerWithWaitList", NULL, -5, false},
    {"clGetEventInfo", "clEnqueue", -5, false},   {"clFlush", NULL, -5, false}};

static trial_path path;
static bool recorded;

static cm_strategy *warm;

/* A life; r->strategy is kept when it is set. */
static cm_status life(trial *r)
{
    cm_status status = trial_open(r, NULL, NULL);

    if (!status) status = trial_fit(r);
    if (!status) status = trial_look(r);
    return status;
}

/* The first rounds load what drivers keep for ever. */
static void record(void)
{
    trial r = {0};

    trial_quiet();
    trial_rules("%s", "");
    if (recorded) return;
    trial_record(NULL, NULL, &path);
    ck_assert_cm_ok(life(&r));
    trial_close(&r);
    ck_assert_cm_ok(life(&r));
    warm = r.strategy;
    r.strategy = NULL;
    trial_close(&r);
    recorded = true;
}

static bool weights_exist(const trial *r)
{
    return r->model && cm_model_weight_count(r->model) == TRIAL_TENSORS;
}

/* After a failure and with the rules gone. */
static void recover(trial *r, const char *rule)
{
    float before[TRIAL_WEIGHTS];

    ck_assert_msg(cm_strategy_replicas(r->strategy) == 2, "%s", rule);
    if (weights_exist(r)) {
        ck_assert_cm_ok(trial_weights(r, -1, before));
        int step = trial_find(&path, before);
        if (step >= 0) {
            ck_assert_int_eq(trial_same_step(r, &path), step);
            for (; step < TRIAL_STEPS; step++)
                ck_assert_cm_ok(trial_step(r, step));
            /* A sharded update has no copy of the slots that an aborted step had changed. */
            if (strcmp(cmi_knob_text(CMI_KNOB_UPDATE), "sharded"))
                ck_assert_msg(trial_same_step(r, &path) == TRIAL_STEPS,
                              "%s: after it the training goes on differently", rule);
        }
    }
    ck_assert_cm_ok(trial_fit(r));
    ck_assert_cm_ok(trial_look(r));
}

/* False when the rule did not fire. */
static bool round_of(const one_call *call, int device, long k)
{
    trial r = {.strategy = call->once ? NULL : warm};
    trial_level before = trial_now();
    long fired = trial_fired();
    char rule[128], where[32];

    snprintf(rule, sizeof rule, "%s@%d#%ld -> %d", call->name, device, k, call->code);
    snprintf(where, sizeof where, "device %d (", device);
    trial_rules("%s", rule);
    cm_status status = life(&r);
    bool hit = trial_fired() > fired;
    trial_rules("%s", "");
    if (!hit) ck_assert_cm_ok(status);
    if (hit) {
        const char *shown = call->shown ? call->shown : call->name;
        ck_assert_msg(status != CM_OK, "%s: no error", rule);
        ck_assert_msg(cm_test_contains(cm_last_message(), where), "%s: names no device: %s", rule,
                      cm_last_message());
        ck_assert_msg(cm_test_contains(cm_last_message(), shown) ||
                          cm_test_contains(cm_last_message(), "waiting for"),
                      "%s: names no call: %s", rule, cm_last_message());
        if (r.strategy) recover(&r, rule);
    }
    if (r.strategy == warm) r.strategy = NULL;
    trial_close(&r);
    trial_released(before, rule);
    return hit;
}

START_TEST(every_call)
{
    const one_call *call = &calls[_i / 2];
    long k = 1, hits = 0;

    record();
    while (round_of(call, _i % 2, k)) {
        hits++;
        k += call->once ? 2 * k : k < 8 ? 1 : k / 3;
    }
    ck_assert_msg(hits > 0, "%s@%d was never called", call->name, _i % 2);
}
END_TEST

/* Fails one allocation after another of a life; `with` is its strategy or NULL. */
static void allocations(cm_strategy *with, uint64_t from, uint64_t total, uint64_t step)
{
    long hits = 0, rounds = 0;

    for (uint64_t k = from; k <= total; k += step, rounds++) {
        trial r = {.strategy = with};
        trial_level before = trial_now();
        cmi_mem_fail_at(k);
        cm_status status = life(&r);
        cmi_mem_fail_at(0);
        ck_assert_msg(status == CM_OK || status == CM_E_MEMORY, "allocation %llu: %s: %s",
                      (unsigned long long)k, cm_status_name(status), cm_last_message());
        hits += status == CM_E_MEMORY;
        if (status && r.strategy && weights_exist(&r)) recover(&r, "an allocation failed");
        if (with) r.strategy = NULL;
        trial_close(&r);
        trial_released(before, "an allocation failed");
    }
    /* The order of two workers may shift, so the very last ones may not be reached. */
    ck_assert_msg(hits + 3 >= rounds, "%ld of %ld allocations failed", hits, rounds);
}

/* Allocations of a life. */
static uint64_t count_of(cm_strategy *with)
{
    trial r = {.strategy = with};
    uint64_t total = cmi_mem_total();

    ck_assert_cm_ok(life(&r));
    if (with) r.strategy = NULL;
    trial_close(&r);
    return cmi_mem_total() - total;
}

START_TEST(every_allocation)
{
    cm_strategy *strategy = NULL;

    record();
    uint64_t cold = count_of(NULL), again = count_of(warm);
    uint64_t opening = cmi_mem_total();
    ck_assert_cm_ok(cm_mirrored_strategy_create(NULL, NULL, &strategy));
    cm_strategy_destroy(strategy);
    opening = cmi_mem_total() - opening;
    printf("allocations: %llu of a strategy, %llu of a model, %llu with kernels\n",
           (unsigned long long)opening, (unsigned long long)again, (unsigned long long)cold);
    allocations(NULL, 1, opening, 1);
    allocations(warm, 1, again, 1);
    allocations(NULL, opening + 7, cold, cold / 12 + 1);
}
END_TEST

Suite *suite_sweep(void)
{
    Suite *suite = suite_create("sweep");
    TCase *sweep = tcase_create("sweep");

    tcase_add_loop_test(sweep, every_call, 0, 2 * CM_TEST_COUNT(calls));
    suite_add_tcase(suite, sweep);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, every_allocation);
    suite_add_tcase(suite, memory);
    return suite;
}
