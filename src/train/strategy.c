/* strategy.c - turns a device list into streams, workers and a communicator; the scope.
 *
 * A strategy owns one context, one queue and one thread per device.  The scope is a property of the thread that
 * opened it: models created on that thread in between belong to the strategy.
 *
 * Everything that touches a device is a job on the workers (cmi_strategy_run).  When a job fails on one rank, the
 * communicator is aborted, every other rank leaves at its next wait, and the first error is the job's.  A rank that does not
 * come back within the deadline is stuck inside a driver: the strategy is lost then, its thread and objects are leaked, and
 * later calls say so.
 *
 * DESIGN.  Locks: a worker's mutex guards its mailbox only and is never held during a job.  `busy` is an atomic flag and
 * gives a second caller CM_E_STATE instead of a wait. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/gemm.h"
#include "train/train.h"

static _Thread_local cm_strategy *scope;
static _Atomic int strategies_alive;

typedef struct strategy_options {
    char *collective;
    int64_t bucket_bytes, timeout_ms;
} strategy_options;

static const cmi_field option_fields[] = {
    {"collective", CMI_FIELD_SPEC, offsetof(strategy_options, collective), "None", 0, 0,
     "how gradients are summed: auto, ring, naive", NULL},
    {"bucket_bytes", CMI_FIELD_INT, offsetof(strategy_options, bucket_bytes), "None", 1, 1e12,
     "limit of a gradient bucket in bytes", NULL},
    {"timeout_ms", CMI_FIELD_INT, offsetof(strategy_options, timeout_ms), "None", 1, 1e12,
     "how long a rank or device may stay silent", NULL},
    CMI_FIELDS_END};

static const cmi_entry option_entry = {.name = "strategy",
                                       .doc = "options of a strategy",
                                       .config_size = sizeof(strategy_options),
                                       .fields = option_fields};

cm_strategy *cmi_scope_current(void)
{
    return scope;
}

static cm_status open_devices(cm_strategy *strategy, const char *selection)
{
    cm_device_list *list = NULL;
    cm_device_choice choices[CM_MAX_DEVICES];
    cm_status status = CM_OK;

    CM_TRY(cm_device_list_create(&list));
    CM_TRY_GOTO(done, cm_device_select(list, selection, choices, &strategy->ranks));
    if (strategy->hidden) strategy->ranks = 1;
    CM_TRY_GOTO(done, CMI_NEW(strategy->ranks, &strategy->devices));
    CM_TRY_GOTO(done, CMI_NEW(strategy->ranks, &strategy->streams));
    CM_TRY_GOTO(done, CMI_NEW(strategy->ranks, &strategy->names));
    CM_TRY_GOTO(done, CMI_NEW(strategy->ranks, &strategy->workers));
    for (int r = 0; r < strategy->ranks; r++) {
        char name[512];
        CM_TRY_GOTO(done, cmi_device_open(list, &choices[r], &strategy->devices[r]));
        const cmi_device_facts *facts = cmi_device_get_facts(strategy->devices[r]);
        snprintf(name, sizeof name, "device %d (%s)", r, facts->name);
        CM_TRY_GOTO(done, cmi_strdup(name, &strategy->names[r]));
        CM_TRY_GOTO(done, cmi_stream_create(strategy->devices[r], strategy->timeout_ms, &strategy->streams[r]));
        if (facts->info.align_bytes > strategy->align_bytes) strategy->align_bytes = (size_t)facts->info.align_bytes;
        if (strcmp(facts->kind_key, cmi_device_get_facts(strategy->devices[0])->kind_key)) strategy->unlike = true;
    }
done:
    cm_device_list_destroy(list);
    return status;
}

/* A worker's device says that it compiles: neither the others nor main shall take that for a hang. */
static void on_building(void *user, bool building)
{
    cmi_worker *worker = user;

    atomic_store(&worker->building, building);
    atomic_fetch_add(&worker->progress, 1);
    cmi_comm_set_state(worker->strategy->comm, worker->rank, building ? CMI_RANK_BUILDING : CMI_RANK_RUNNING);
}

static cm_status start_workers(cm_strategy *strategy, const char *collective)
{
    cmi_comm_options options = {.ranks = strategy->ranks,
                                .collective = collective,
                                .timeout_ms = strategy->timeout_ms,
                                .rank_names = (const char *const *)strategy->names};

    CM_TRY(cmi_comm_create(&options, &strategy->comm));
    for (int r = 0; r < strategy->ranks; r++) {
        CM_TRY(cmi_worker_start(strategy, r));
        cmi_device_set_build_hook(strategy->devices[r], on_building, &strategy->workers[r]);
    }
    return CM_OK;
}

static cm_status create(const char *devices, const char *options, bool hidden, cm_strategy **out)
{
    cm_strategy *strategy = NULL;
    strategy_options *config = NULL;
    char spec[512];
    cm_status status = CM_OK;

    *out = NULL;
    if (cmi_format(spec, sizeof spec, "strategy %s", options ? options : "") >= (int)sizeof spec)
        return cmi_error(CM_E_INVALID, "options of the strategy: longer than %zu characters", sizeof spec);
    CM_TRY(cmi_config_parse(&option_entry, spec, (void **)&config));
    CM_TRY_GOTO(fail, CMI_NEW(1, &strategy));
    atomic_fetch_add(&strategies_alive, 1);
    strategy->hidden = hidden;
    strategy->process = getpid();
    strategy->timeout_ms =
        config->timeout_ms == CMI_INT_NONE ? cmi_knob_number(CMI_KNOB_TIMEOUT_MS) : config->timeout_ms;
    if (strategy->timeout_ms < 1) strategy->timeout_ms = 1;
    strategy->bucket_bytes = (size_t)(config->bucket_bytes == CMI_INT_NONE ? cmi_knob_number(CMI_KNOB_BUCKET_BYTES)
                                                                           : config->bucket_bytes);
    CM_TRY_GOTO(fail, open_devices(strategy, devices));
    CM_TRY_GOTO(fail, start_workers(strategy, config->collective ? config->collective
                                                                 : cmi_knob_text(CMI_KNOB_COLLECTIVE)));
    cmi_config_free(&option_entry, config);
    *out = strategy;
    return CM_OK;
fail:
    cmi_config_free(&option_entry, config);
    cm_strategy_destroy(strategy);
    return status;
}

cm_status cm_mirrored_strategy_create(const char *devices, const char *options, cm_strategy **strategy)
{
    cmi_error_clear();
    if (!strategy) return cmi_error(CM_E_INVALID, "cm_mirrored_strategy_create: no place for the strategy");
    return create(devices, options, false, strategy);
}

cm_status cmi_strategy_create_hidden(cm_strategy **strategy)
{
    return create(NULL, NULL, true, strategy);
}

void cm_strategy_destroy(cm_strategy *strategy)
{
    if (!strategy) return;
    if (strategy->scope_open && scope == strategy) scope = NULL;
    while (strategy->models) cmi_model_orphan(strategy->models);
    /* A lost strategy has a thread inside a driver that may still use all of this, and in the child of a fork the threads
     * do not exist: it stays, knowingly. */
    if (atomic_load(&strategy->lost) || strategy->process != getpid()) {
        atomic_fetch_sub(&strategies_alive, 1);
        return;
    }
    for (int r = 0; r < strategy->ranks && strategy->workers; r++) cmi_worker_stop(&strategy->workers[r]);
    if (strategy->comm) cmi_comm_destroy(strategy->comm);
    for (int r = 0; r < strategy->ranks; r++) {
        if (strategy->streams) cmi_stream_destroy(strategy->streams[r]);
        if (strategy->names) cmi_free(strategy->names[r]);
    }
    /* CLBlast's cached programs hold contexts: they go before the last contexts do. */
    if (atomic_fetch_sub(&strategies_alive, 1) == 1) cmi_gemm_clear_cache();
    for (int r = 0; r < strategy->ranks && strategy->devices; r++) cmi_device_close(strategy->devices[r]);
    cmi_free(strategy->devices);
    cmi_free(strategy->streams);
    cmi_free(strategy->names);
    cmi_free(strategy->workers);
    cmi_free(strategy);
}

/* ---- scope ---- */

cm_status cm_strategy_scope_begin(cm_strategy *strategy)
{
    cmi_error_clear();
    if (!strategy) return cmi_error(CM_E_INVALID, "cm_strategy_scope_begin: strategy is NULL");
    if (scope)
        return cmi_error(CM_E_SCOPE,
                         "cm_strategy_scope_begin: a scope is open on this thread already%s; end it first with "
                         "cm_strategy_scope_end",
                         scope == strategy ? "" : ", of another strategy");
    if (strategy->scope_open)
        return cmi_error(CM_E_SCOPE, "cm_strategy_scope_begin: the strategy's scope is open on another thread");
    strategy->scope_open = true;
    strategy->scope_thread = pthread_self();
    scope = strategy;
    return CM_OK;
}

cm_status cm_strategy_scope_end(cm_strategy *strategy)
{
    cmi_error_clear();
    if (!strategy) return cmi_error(CM_E_INVALID, "cm_strategy_scope_end: strategy is NULL");
    if (scope != strategy)
        return cmi_error(CM_E_SCOPE, "cm_strategy_scope_end: the strategy's scope is %s",
                         strategy->scope_open ? "open on another thread; end it there" : "not open");
    strategy->scope_open = false;
    scope = NULL;
    return CM_OK;
}

/* ---- jobs ---- */

cm_status cmi_strategy_enter(cm_strategy *strategy, const char *call)
{
    CM_TRY_CTX(cmi_device_check_process(), "%s", call);
    if (atomic_load(&strategy->lost))
        return cmi_error(CM_E_STATE, "%s: a device of the strategy stopped answering; make a new strategy", call);
    if (scope && scope != strategy)
        return cmi_error(CM_E_SCOPE,
                         "%s: the model belongs to another strategy than the scope that is open on this thread; "
                         "call it outside that scope, or create the model inside it",
                         call);
    if (atomic_exchange(&strategy->busy, true))
        return cmi_error(CM_E_STATE, "%s: another call is running on this strategy", call);
    strategy->caller = pthread_self();
    return CM_OK;
}

void cmi_strategy_leave(cm_strategy *strategy)
{
    atomic_store(&strategy->busy, false);
}

static void post(cmi_worker *worker, cmi_job job, void *argument)
{
    cmi_mutex_lock(&worker->mutex);
    worker->job = job;
    worker->argument = argument;
    worker->done = false;
    cmi_cond_broadcast(&worker->changed);
    cmi_mutex_unlock(&worker->mutex);
}

/* Sum of all ranks' progress, and whether one is compiling. */
static uint64_t progress_of(cm_strategy *strategy, bool *building)
{
    uint64_t sum = 0;

    *building = false;
    for (int r = 0; r < strategy->ranks; r++) {
        sum += atomic_load(&strategy->workers[r].progress);
        *building |= atomic_load(&strategy->workers[r].building);
    }
    return sum;
}

/* Waits up to `ms` for a worker's job to end. */
static bool wait_done(cmi_worker *worker, int64_t ms)
{
    bool done = false;

    cmi_mutex_lock(&worker->mutex);
    if (!worker->done) (void)cmi_cond_wait_ms(&worker->changed, &worker->mutex, ms);
    done = worker->done;
    cmi_mutex_unlock(&worker->mutex);
    return done;
}

/* The watchdog.  Ranks have deadlines of their own for every wait; this one ends the rest: a call inside a driver that does
 * not return.  It compares step counters, not the duration of the job.  A rank gets the deadline twice over before it is
 * given up, so that a rank that notices by itself can report the better error. */
static bool wait_all(cm_strategy *strategy, void (*tick)(void *), void *user, int *stuck)
{
    enum { TICK_MS = 50, GRACE_MS = 1500 };
    uint64_t last = 0;
    int64_t since = cmi_now_ns();
    bool told = false;

    for (int r = 0; r < strategy->ranks;) {
        if (wait_done(&strategy->workers[r], TICK_MS)) {
            r++;
            continue;
        }
        if (tick) tick(user);
        bool building = false;
        uint64_t now = progress_of(strategy, &building);
        if (now != last || building) {
            last = now;
            since = cmi_now_ns();
        }
        int64_t silent_ms = (cmi_now_ns() - since) / 1000000;
        bool aborted = cmi_comm_aborted(strategy->comm);
        if (silent_ms > strategy->timeout_ms + GRACE_MS && !aborted && !told) {
            cm_error error = {.status = CM_E_TIMEOUT};
            snprintf(error.message, sizeof error.message,
                     "%s does not answer: no step for %.1f s, a call inside its driver does not return",
                     strategy->names[r], (double)silent_ms / 1000);
            cmi_comm_abort(strategy->comm, r, &error);
            told = true;
            since = cmi_now_ns();
        } else if (silent_ms > GRACE_MS && aborted) {
            *stuck = r;
            return false;
        }
    }
    return true;
}

static cm_status collect(cm_strategy *strategy)
{
    cm_error error;
    cm_status status = CM_OK;
    int rank = -1;

    for (int r = 0; r < strategy->ranks; r++)
        if (strategy->workers[r].status) status = strategy->workers[r].status;
    cmi_comm_first_error(strategy->comm, &error, &rank);
    cmi_comm_reset(strategy->comm);
    if (!status) return CM_OK;
    return error.status ? cmi_error_restore(&error) : cmi_error(status, "a rank ended without an error of its own");
}

cm_status cmi_strategy_run(cm_strategy *strategy, cmi_job job, void *argument, void (*tick)(void *), void *tick_user)
{
    int stuck = -1;

    for (int r = 0; r < strategy->ranks; r++) post(&strategy->workers[r], job, argument);
    if (wait_all(strategy, tick, tick_user, &stuck)) return collect(strategy);
    cm_error error;
    int rank = -1;
    atomic_store(&strategy->lost, true);
    cmi_comm_first_error(strategy->comm, &error, &rank);
    cmi_log(CM_LOG_ERROR, "train", "%s is stuck inside its driver; its thread and memory are left behind",
            strategy->names[stuck]);
    return cmi_error_restore(&error);
}

/* ---- facts ---- */

int cm_strategy_replicas(const cm_strategy *strategy)
{
    return strategy ? strategy->ranks : 0;
}

static bool known(const cm_strategy *strategy, int replica)
{
    return strategy && replica >= 0 && replica < strategy->ranks;
}

const char *cm_strategy_device_name(const cm_strategy *strategy, int replica)
{
    return known(strategy, replica) ? cmi_device_get_facts(strategy->devices[replica])->name : "";
}

const cm_device_info *cm_strategy_device_info(const cm_strategy *strategy, int replica)
{
    return known(strategy, replica) ? &cmi_device_get_facts(strategy->devices[replica])->info : NULL;
}

const char *cm_strategy_collective(const cm_strategy *strategy)
{
    return strategy ? cmi_comm_collective(strategy->comm) : "";
}
