/* worker.c - the thread of one device: waits for a job, runs it, reports.
 *
 * A worker owns the stream of its device.  When a job fails it puts the device's name before the
 * message and aborts the communicator at once, so that ranks that wait for it leave; the first
 * error of all ranks is kept there. */
#include <stdio.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "train/train.h"

static cm_status run_job(cmi_worker *worker, cmi_job job, void *argument)
{
    cm_strategy *strategy = worker->strategy;
    cm_error error;

    cmi_error_clear();
    cmi_stream_own(strategy->streams[worker->rank]);
    cm_status status = job(argument, worker->rank);
    if (!status) return CM_OK;
    /* A rank that only left because another failed has nothing to report. */
    if (status != CM_E_ABORTED) {
        if (status == CM_E_MEMORY)
            cmi_error_prefix("%llu bytes in buffers", (unsigned long long)cmi_device_buffer_bytes(
                                                          strategy->devices[worker->rank]));
        cmi_error_prefix("%s", strategy->names[worker->rank]);
        cmi_error_save(&error);
        cmi_comm_abort(strategy->comm, worker->rank, &error);
    }
    return status;
}

static void work(void *argument)
{
    cmi_worker *worker = argument;

    cmi_log_set_rank(worker->rank);
    cmi_mutex_lock(&worker->mutex);
    while (!worker->quit) {
        if (!worker->job) {
            cmi_cond_wait(&worker->changed, &worker->mutex);
            continue;
        }
        cmi_job job = worker->job;
        void *job_argument = worker->argument;
        cmi_mutex_unlock(&worker->mutex);
        cm_status status = run_job(worker, job, job_argument);
        cmi_mutex_lock(&worker->mutex);
        worker->status = status;
        worker->job = NULL;
        worker->done = true;
        cmi_cond_broadcast(&worker->changed);
    }
    worker->left = true;
    cmi_cond_broadcast(&worker->changed);
    cmi_mutex_unlock(&worker->mutex);
}

cm_status cmi_worker_start(cm_strategy *strategy, int rank)
{
    cmi_worker *worker = &strategy->workers[rank];
    char name[16];
    cm_status status = CM_OK;

    worker->strategy = strategy;
    worker->rank = rank;
    CM_TRY(cmi_mutex_init(&worker->mutex));
    CM_TRY_GOTO(no_cond, cmi_cond_init(&worker->changed));
    snprintf(name, sizeof name, "worker %d", rank);
    CM_TRY_GOTO(no_thread, cmi_thread_start(&worker->thread, name, work, worker));
    worker->started = true;
    return CM_OK;
no_thread:
    cmi_cond_destroy(&worker->changed);
no_cond:
    cmi_mutex_destroy(&worker->mutex);
    return status;
}

void cmi_worker_dismiss(cmi_worker *worker)
{
    if (!worker->started) return;
    cmi_mutex_lock(&worker->mutex);
    worker->quit = true;
    cmi_cond_broadcast(&worker->changed);
    cmi_mutex_unlock(&worker->mutex);
}

bool cmi_worker_join_until(cmi_worker *worker, int64_t end_ns)
{
    if (!worker->started) return true;
    cmi_mutex_lock(&worker->mutex);
    for (int64_t now = cmi_now_ns(); !worker->left && now < end_ns; now = cmi_now_ns())
        (void)cmi_cond_wait_ms(&worker->changed, &worker->mutex, (end_ns - now) / 1000000 + 1);
    bool left = worker->left;
    cmi_mutex_unlock(&worker->mutex);
    if (left) cmi_thread_join(worker->thread);
    return left;
}

void cmi_worker_stop(cmi_worker *worker)
{
    if (!worker->started) return;
    cmi_worker_dismiss(worker);
    cmi_thread_join(worker->thread);
    cmi_cond_destroy(&worker->changed);
    cmi_mutex_destroy(&worker->mutex);
    worker->started = false;
}
