/* watch.c - runs a job on all workers of a strategy, waits for them, and gives up those that hang.
 *
 * The caller's thread sleeps in here during a job.  A few times a second it draws the progress bar
 * and looks at the beats of every rank: each call into a driver that returns is one.  A rank whose
 * beats stop although it neither compiles nor waits for others is inside a call that does not
 * return; it is given up, with everything it may still touch.
 *
 * Called by the thread of the public call. */
#include <stdio.h>
#include "base/clock.h"
#include "base/log.h"
#include "train/train.h"

/* How much later than its own deadline a rank is given up: it may be about to report. */
enum { DRIVER_GRACE_MS = 1000 };

static void post(cmi_worker *worker, cmi_job job, void *argument)
{
    cmi_mutex_lock(&worker->mutex);
    worker->job = job;
    worker->argument = argument;
    worker->done = false;
    cmi_cond_broadcast(&worker->changed);
    cmi_mutex_unlock(&worker->mutex);
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

/* How long a worker's last beat is ago. */
typedef struct pulse {
    uint64_t beats;
    int64_t since;
} pulse;

static void give_up(cm_strategy *strategy, int rank)
{
    strategy->workers[rank].gone = true;
    atomic_store(&strategy->lost, true);
    cmi_log(CM_LOG_ERROR, "train", "%s does not answer; its thread and memory are left behind",
            strategy->names[rank]);
}

/* The watchdog, for one rank that has not finished.  Every wait of a rank has a deadline of its
 * own; this one ends the rest: a call inside a driver that does not return.  The rank is given up
 * once it is sure that it will touch nothing of this job any more: it was stopped, or its last beat
 * is older than the flag that will stop it at the next. */
static void watch(cm_strategy *strategy, int rank, pulse *last)
{
    cmi_worker *worker = &strategy->workers[rank];
    uint64_t beats = atomic_load(&worker->beats);
    int64_t now = cmi_now_ns();
    double silent_s = (double)(now - last->since) / 1e9;
    cm_error error = {.status = CM_E_TIMEOUT};

    if (beats != last->beats || atomic_load(&worker->building) ||
        cmi_comm_waiting(strategy->comm, rank)) {
        last->beats = beats;
        last->since = now;
        if (!cmi_stream_stopped(strategy->streams[rank])) return;
    } else if (now - last->since < (strategy->timeout_ms + DRIVER_GRACE_MS) * 1000000) {
        return;
    }
    cmi_stream_abandon(strategy->streams[rank], true);
    if (atomic_load(&worker->beats) != beats && !cmi_stream_stopped(strategy->streams[rank]))
        return;
    snprintf(error.message, sizeof error.message,
             "%s does not answer: a call inside its driver has not returned for %.1f s",
             strategy->names[rank], silent_s);
    cmi_comm_abort(strategy->comm, rank, &error);
    give_up(strategy, rank);
}

static void wait_all(cm_strategy *strategy, void (*tick)(void *), void *user)
{
    enum { TICK_MS = 50 };
    pulse pulses[CM_MAX_DEVICES];
    int64_t start = cmi_now_ns();

    for (int r = 0; r < strategy->ranks; r++)
        pulses[r] = (pulse){atomic_load(&strategy->workers[r].beats), start};
    for (int r = 0; r < strategy->ranks;) {
        if (strategy->workers[r].gone || wait_done(&strategy->workers[r], TICK_MS)) {
            r++;
            continue;
        }
        if (tick) tick(user);
        for (int q = r; q < strategy->ranks; q++)
            if (!strategy->workers[q].gone && !wait_done(&strategy->workers[q], 0))
                watch(strategy, q, &pulses[q]);
    }
}

static cm_status collect(cm_strategy *strategy)
{
    cm_error error;
    cm_status status = CM_OK;
    int rank = -1;

    for (int r = 0; r < strategy->ranks; r++) {
        if (strategy->workers[r].gone) continue;
        if (strategy->workers[r].status) status = strategy->workers[r].status;
        if (cmi_stream_silent(strategy->streams[r])) give_up(strategy, r);
    }
    cmi_comm_first_error(strategy->comm, &error, &rank);
    cmi_comm_reset(strategy->comm);
    if (error.status) return cmi_error_restore(&error);
    return status ? cmi_error(status, "a rank ended without an error of its own") : CM_OK;
}

cm_status cmi_strategy_run(cm_strategy *strategy, cmi_job job, void *argument, void (*tick)(void *),
                           void *tick_user)
{
    /* A callback may have forked: in the child there are no workers. */
    CM_TRY(cmi_device_check_process());
    for (int r = 0; r < strategy->ranks; r++) {
        if (strategy->workers[r].gone) continue;
        cmi_stream_abandon(strategy->streams[r],
                           false); /* of one that came back at the last moment */
        post(&strategy->workers[r], job, argument);
    }
    wait_all(strategy, tick, tick_user);
    return collect(strategy);
}
