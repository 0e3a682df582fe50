/* strategy.c - turns a device list into streams, workers and a communicator; the scope.
 *
 * A strategy owns one context, one queue and one thread per device.  The scope is a property of the
 * thread that opened it: models created on that thread in between belong to the strategy.
 *
 * Everything that touches a device is a job on the workers (cmi_strategy_run).  When a job fails on
 * one rank, the communicator is aborted, every other rank leaves at its next wait, and the first
 * error is the job's.  A rank that does not come back within the deadline is stuck inside a driver,
 * and one whose device let a wait run out must release nothing: both are GONE.  The strategy is
 * lost then: its threads and objects are leaked, weights can still be read from the other ranks,
 * and all other calls say so.
 *
 * DESIGN.  Locks: a worker's mutex guards its mailbox only and is never held during a job.  `busy`
 * is an atomic flag and gives a second caller CM_E_STATE instead of a wait. */
#include <stdio.h>
#include <stdlib.h>
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
static pthread_mutex_t living_mutex = PTHREAD_MUTEX_INITIALIZER;
static cm_strategy *living; /* under living_mutex: strategies with running workers */

typedef struct strategy_options {
    char *collective;
    int64_t bucket_bytes, timeout_ms;
    int update;
} strategy_options;

static const char *const update_names[] = {"auto", "replicated", "sharded",
                                           NULL}; /* as cmi_update_choice */

static const cmi_field option_fields[] = {
    {"collective", CMI_FIELD_SPEC, offsetof(strategy_options, collective), "None", 0, 0,
     "how gradients are summed: auto, direct, ring, naive", NULL},
    {"update", CMI_FIELD_ENUM, offsetof(strategy_options, update), "auto", 0, 0,
     "each replica updates all parameters, or its share and passes it on", update_names},
    {"bucket_bytes", CMI_FIELD_INT, offsetof(strategy_options, bucket_bytes), "None", 1, 1e12,
     "limit of a gradient bucket in bytes", NULL},
    {"timeout_ms", CMI_FIELD_INT, offsetof(strategy_options, timeout_ms), "None", 1, 1e12,
     "how long a rank or device may stay silent", NULL},
    CMI_FIELDS_END};

static const cmi_entry option_entry = {.name = "strategy",
                                       .doc = "options of a strategy",
                                       .config_size = sizeof(strategy_options),
                                       .fields = option_fields};

/* The strategy whose callback is running on this thread. */
static _Thread_local const cm_strategy *calling_back;

void cmi_callback_begin(const cm_strategy *strategy)
{
    calling_back = strategy;
}

void cmi_callback_end(void)
{
    calling_back = NULL;
}

bool cmi_in_callback(const cm_strategy *strategy)
{
    return calling_back == strategy;
}

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
        status = cmi_device_open(list, &choices[r], &strategy->devices[r]);
        if (status) {
            cmi_error_prefix("device %d (%s)", r, cm_device_list_get(list, choices[r].index)->name);
            goto done;
        }
        const cmi_device_facts *facts = cmi_device_get_facts(strategy->devices[r]);
        snprintf(name, sizeof name, "device %d (%s)", r, facts->name);
        CM_TRY_GOTO(done, cmi_strdup(name, &strategy->names[r]));
        status =
            cmi_stream_create(strategy->devices[r], strategy->timeout_ms, &strategy->streams[r]);
        if (status) {
            cmi_error_prefix("%s", strategy->names[r]);
            goto done;
        }
        cmi_stream_set_heartbeat(strategy->streams[r], &strategy->workers[r].beats);
        if (facts->info.align_bytes > strategy->align_bytes)
            strategy->align_bytes = (size_t)facts->info.align_bytes;
        if (strcmp(facts->kind_key, cmi_device_get_facts(strategy->devices[0])->kind_key))
            strategy->unlike = true;
    }
done:
    cm_device_list_destroy(list);
    return status;
}

/* A worker's device says that it compiles: neither the others nor main shall take that for a hang.
 */
static void on_building(void *user, bool building)
{
    cmi_worker *worker = user;

    atomic_store(&worker->building, building);
    atomic_fetch_add(&worker->beats, 1);
    cmi_comm_set_state(worker->strategy->comm, worker->rank,
                       building ? CMI_RANK_BUILDING : CMI_RANK_RUNNING);
}

static uint64_t beats_of(void *user, int rank)
{
    const cm_strategy *strategy = user;

    return atomic_load(&strategy->workers[rank].beats);
}

/* A rank whose own wait runs out knows best what it waited for, so the others give it half a second
 * to say so. */
enum { COMM_GRACE_MS = 500 };

static cm_status start_workers(cm_strategy *strategy, const char *collective)
{
    cmi_comm_options options = {.ranks = strategy->ranks,
                                .collective = collective,
                                .timeout_ms = strategy->timeout_ms,
                                .grace_ms = COMM_GRACE_MS,
                                .beats = beats_of,
                                .beats_user = strategy,
                                .rank_names = (const char *const *)strategy->names};

    CM_TRY(cmi_comm_create(&options, &strategy->comm));
    for (int r = 0; r < strategy->ranks; r++) {
        CM_TRY(cmi_worker_start(strategy, r));
        cmi_device_set_build_hook(strategy->devices[r], on_building, &strategy->workers[r]);
    }
    return CM_OK;
}

/* ---- the end of the process ---- */

/* Ends the workers before the driver's and CLBlast's own destructors run under their feet.  Called
 * by exit(), on any thread and at any moment: from a callback, or while another thread is inside
 * fit.  That thread is left alone; it finds its job aborted.  Holding the mutex keeps it from
 * destroying a strategy meanwhile. */
static void at_exit(void)
{
    static const cm_error ending = {.status = CM_E_ABORTED, .message = "the process ends"};
    int64_t end = cmi_now_ns() + INT64_C(2000000000);
    bool all = true;

    if (cmi_device_check_process()) return; /* the child of a fork has no workers */
    pthread_mutex_lock(&living_mutex);
    for (cm_strategy *s = living; s; s = s->next) {
        for (int r = 0; r < s->ranks; r++)
            cmi_worker_dismiss(&s->workers[r]);
        cmi_comm_abort(s->comm, -1, &ending);
    }
    for (cm_strategy *s = living; s; s = s->next)
        for (int r = 0; r < s->ranks; r++)
            all &= !s->workers[r].gone && cmi_worker_join_until(&s->workers[r], end);
    if (all) cmi_gemm_clear_cache();
    pthread_mutex_unlock(&living_mutex);
}

static void register_hook(void)
{
    (void)atexit(at_exit);
}

static void join_living(cm_strategy *strategy)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    /* After the first OpenCL call, so that the hook runs before what the drivers registered. */
    pthread_once(&once, register_hook);
    pthread_mutex_lock(&living_mutex);
    strategy->next = living;
    living = strategy;
    pthread_mutex_unlock(&living_mutex);
}

static void leave_living(cm_strategy *strategy)
{
    pthread_mutex_lock(&living_mutex);
    for (cm_strategy **at = &living; *at; at = &(*at)->next)
        if (*at == strategy) {
            *at = strategy->next;
            break;
        }
    pthread_mutex_unlock(&living_mutex);
}

/* ---- create, destroy ---- */

static cm_status create(const char *devices, const char *options, bool hidden, cm_strategy **out)
{
    cm_strategy *strategy = NULL;
    strategy_options *config = NULL;
    char spec[512];
    cm_status status = CM_OK;

    *out = NULL;
    if (cmi_format(spec, sizeof spec, "strategy %s", options ? options : "") >= (int)sizeof spec)
        return cmi_error(CM_E_INVALID, "options of the strategy: longer than %zu characters",
                         sizeof spec);
    CM_TRY(cmi_config_parse(&option_entry, spec, (void **)&config));
    CM_TRY_GOTO(fail, CMI_NEW(1, &strategy));
    atomic_fetch_add(&strategies_alive, 1);
    strategy->hidden = hidden;
    strategy->process = getpid();
    strategy->timeout_ms = config->timeout_ms == CMI_INT_NONE ? cmi_knob_number(CMI_KNOB_TIMEOUT_MS)
                                                              : config->timeout_ms;
    if (strategy->timeout_ms < 1) strategy->timeout_ms = 1;
    strategy->bucket_bytes =
        (size_t)(config->bucket_bytes == CMI_INT_NONE ? cmi_knob_number(CMI_KNOB_BUCKET_BYTES)
                                                      : config->bucket_bytes);
    strategy->update = config->update;
    for (int u = 0; update_names[u] && !config->update; u++)
        if (!strcmp(update_names[u], cmi_knob_text(CMI_KNOB_UPDATE))) strategy->update = u;
    CM_TRY_GOTO(fail, open_devices(strategy, devices));
    const char *collective =
        config->collective ? config->collective : cmi_knob_text(CMI_KNOB_COLLECTIVE);
    strategy->collective_named = *collective && strcmp(collective, "auto");
    if (strategy->unlike && strategy->collective_named)
        cmi_log(CM_LOG_WARNING, "train",
                "collective=%s is not used: devices of different kinds always take the sharded "
                "update, which has an "
                "exchange of its own",
                collective);
    CM_TRY_GOTO(fail, start_workers(strategy, collective));
    cmi_config_free(&option_entry, config);
    join_living(strategy);
    *out = strategy;
    return CM_OK;
fail:
    cmi_config_free(&option_entry, config);
    cm_strategy_destroy(strategy);
    return status;
}

cm_status cm_mirrored_strategy_create(const char *devices, const char *options,
                                      cm_strategy **strategy)
{
    cmi_error_clear();
    if (!strategy)
        return cmi_error(CM_E_INVALID, "cm_mirrored_strategy_create: no place for the strategy");
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
    while (strategy->models)
        cmi_model_orphan(strategy->models);
    /* A lost strategy has a thread inside a driver that may still use all of this, and in the child
     * of a fork the threads do not exist: it stays, knowingly. */
    if (strategy->process != getpid()) return;
    leave_living(strategy);
    if (atomic_load(&strategy->lost)) {
        atomic_fetch_sub(&strategies_alive, 1);
        return;
    }
    for (int r = 0; r < strategy->ranks && strategy->workers; r++)
        cmi_worker_stop(&strategy->workers[r]);
    if (strategy->comm) cmi_comm_destroy(strategy->comm);
    for (int r = 0; r < strategy->ranks; r++) {
        if (strategy->streams) cmi_stream_destroy(strategy->streams[r]);
        if (strategy->names) cmi_free(strategy->names[r]);
    }
    /* CLBlast's cached programs hold contexts: they go before the last contexts do. */
    if (atomic_fetch_sub(&strategies_alive, 1) == 1) cmi_gemm_clear_cache();
    for (int r = 0; r < strategy->ranks && strategy->devices; r++)
        cmi_device_close(strategy->devices[r]);
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
        return cmi_error(
            CM_E_SCOPE,
            "cm_strategy_scope_begin: a scope is open on this thread already%s; end it first with "
            "cm_strategy_scope_end",
            scope == strategy ? "" : ", of another strategy");
    if (atomic_exchange(&strategy->scope_open, true))
        return cmi_error(CM_E_SCOPE,
                         "cm_strategy_scope_begin: the strategy's scope is open on another thread");
    scope = strategy;
    return CM_OK;
}

cm_status cm_strategy_scope_end(cm_strategy *strategy)
{
    cmi_error_clear();
    if (!strategy) return cmi_error(CM_E_INVALID, "cm_strategy_scope_end: strategy is NULL");
    if (scope != strategy)
        return cmi_error(CM_E_SCOPE, "cm_strategy_scope_end: the strategy's scope is %s",
                         strategy->scope_open ? "open on another thread; end it there"
                                              : "not open");
    strategy->scope_open = false;
    scope = NULL;
    return CM_OK;
}

/* ---- calls ---- */

cm_status cmi_strategy_enter(cm_strategy *strategy, const char *call, bool reading)
{
    CM_TRY_CTX(cmi_device_check_process(), "%s", call);
    if (atomic_load(&strategy->lost) && !reading)
        return cmi_error(CM_E_STATE,
                         "%s: a device of the strategy stopped answering; make a new strategy",
                         call);
    if (scope && scope != strategy)
        return cmi_error(
            CM_E_SCOPE,
            "%s: the model belongs to another strategy than the scope that is open on this thread; "
            "call it outside that scope, or create the model inside it",
            call);
    if (atomic_exchange(&strategy->busy, true))
        return cmi_error(CM_E_STATE, "%s: another call is running on this strategy", call);
    return CM_OK;
}

void cmi_strategy_leave(cm_strategy *strategy)
{
    atomic_store(&strategy->busy, false);
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
    return known(strategy, replica) ? &cmi_device_get_facts(strategy->devices[replica])->info
                                    : NULL;
}

const char *cm_strategy_collective(const cm_strategy *strategy)
{
    return strategy ? cmi_comm_collective(strategy->comm) : "";
}
