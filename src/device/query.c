/* query.c - asks the loader for its platforms and each platform for its devices, and outlives
 * drivers that fail or hang while they answer.
 *
 * DESIGN.  Every question runs as a JOB on a helper thread; the caller waits for it up to a
 * deadline.  A job that is not done by then is ABANDONED: the caller goes on without it and never
 * touches it again, and the helper, if the driver ever returns, frees the block itself.  A job
 * whose driver never returns is leaked, knowingly: no thread inside a driver can be ended safely.
 * A silent platform is remembered for the life of the process, so that the deadline is paid once
 * and not by every list.  (A fork would catch crashes too, but is not allowed to a library inside a
 * process with threads; `clmirror-info --probe` does that.)
 *
 * Called by platform.c on any thread; platforms are asked one after the other, because some drivers
 * race with themselves while they start. */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 /* sigaltstack */
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/knob.h"
#include "base/mem.h"
#include "base/thread.h"
#include "device/query.h"

enum { DEADLINE_MAX_MS = 10000, MAX_DEVICES = 1024, MAX_SILENT = 16 };

typedef struct query {
    cmi_mutex mutex;
    cmi_cond cond;
    bool done, abandoned;   /* under mutex */
    cm_platform_info early; /* under mutex: name and version, as soon as they are known */
    void (*work)(struct query *job);
    cl_platform_id platform;
    /* Results; the helper's until `done`, the caller's afterwards. */
    cm_status status;
    cl_int code;
    int count;
    cl_platform_id ids[CMI_MAX_PLATFORMS];
    cmi_answer answer;
} query;

/* Platforms that a job is still waiting for; NULL marks a free place. */
static _Atomic(cl_platform_id) silent[MAX_SILENT];
static atomic_bool loader_silent;

/* ---- jobs
 * -------------------------------------------------------------------------------------------- */

static int64_t deadline_ms(void)
{
    int64_t ms = cmi_knob_number(CMI_KNOB_TIMEOUT_MS);
    return ms <= 0 || ms > DEADLINE_MAX_MS ? DEADLINE_MAX_MS : ms;
}

static bool is_silent(cl_platform_id id)
{
    for (int i = 0; i < MAX_SILENT; i++)
        if (atomic_load(&silent[i]) == id) return true;
    return false;
}

static void mark_silent(cl_platform_id id)
{
    for (int i = 0; i < MAX_SILENT; i++) {
        cl_platform_id none = NULL;
        if (atomic_compare_exchange_strong(&silent[i], &none, id)) return;
    }
}

static void forget_silent(cl_platform_id id)
{
    for (int i = 0; i < MAX_SILENT; i++) {
        cl_platform_id expected = id;
        atomic_compare_exchange_strong(&silent[i], &expected, NULL);
    }
}

static cm_status job_new(void (*work)(query *), cl_platform_id platform, query **out)
{
    query *made = NULL;
    cm_status status = CMI_NEW(1, &made);
    if (status) return status;
    made->work = work;
    made->platform = platform;
    status = cmi_mutex_init(&made->mutex);
    if (status) {
        cmi_free(made);
        return status;
    }
    status = cmi_cond_init(&made->cond);
    if (status) {
        cmi_mutex_destroy(&made->mutex);
        cmi_free(made);
        return status;
    }
    *out = made;
    return CM_OK;
}

static void job_free(query *job)
{
    cmi_cond_destroy(&job->cond);
    cmi_mutex_destroy(&job->mutex);
    cmi_free(job->answer.found);
    cmi_free(job);
}

static void job_main(void *argument)
{
    query *job = argument;
    stack_t signal_stack;
    /* A driver that starts here may give this thread a signal stack of its own (LLVM does, inside
     * PoCL) and never take it back.  Whoever gave the thread its first one, such as a sanitizer,
     * wants to find that at the end. */
    bool saved = sigaltstack(NULL, &signal_stack) == 0;
    job->work(job);
    if (saved) sigaltstack(&signal_stack, NULL);
    cmi_mutex_lock(&job->mutex);
    job->done = true;
    bool abandoned = job->abandoned;
    cmi_cond_signal(&job->cond);
    cmi_mutex_unlock(&job->mutex);
    if (!abandoned) return; /* the caller joins this thread and frees the job */
    if (job->platform)
        forget_silent(job->platform);
    else
        atomic_store(&loader_silent, false);
    job_free(job);
}

/* Runs the job; *answered false: it was abandoned, `early` holds what it had said, and it is not
 * ours any more. On failure the job is freed. */
static cm_status job_run(query *job, bool *answered, cm_platform_info *early)
{
    cmi_thread thread;
    cm_status status = cmi_thread_start(&thread, "cm-query", job_main, job);
    if (status) {
        job_free(job);
        return status;
    }
    int64_t end = cmi_now_ns() + deadline_ms() * 1000000;
    cmi_mutex_lock(&job->mutex);
    for (int64_t left = end - cmi_now_ns(); !job->done && left > 0; left = end - cmi_now_ns())
        cmi_cond_wait_ms(&job->cond, &job->mutex, left / 1000000 + 1);
    *answered = job->done;
    if (!job->done) {
        *early = job->early;
        /* Marked before the flag is set: the helper clears the mark after it has seen the flag. */
        if (job->platform)
            mark_silent(job->platform);
        else
            atomic_store(&loader_silent, true);
        job->abandoned = true;
    }
    cmi_mutex_unlock(&job->mutex);
    if (*answered)
        cmi_thread_join(thread);
    else
        pthread_detach(thread);
    return CM_OK;
}

/* ---- platforms
 * --------------------------------------------------------------------------------------- */

static void ask_loader(query *job)
{
    cl_uint count = 0; /* a failing call may leave it untouched */
    job->code = clGetPlatformIDs(0, NULL, &count);
    if (job->code != CL_SUCCESS || count == 0) return;
    if (count > CMI_MAX_PLATFORMS) count = CMI_MAX_PLATFORMS;
    cl_uint again = 0;
    job->code = clGetPlatformIDs(count, job->ids, &again);
    if (job->code == CL_SUCCESS) job->count = (int)(again < count ? again : count);
}

/* Says why there is no platform: `code` is what clGetPlatformIDs answered. */
static void explain_no_platform(int code, char *problem, size_t bytes)
{
    const char *vendors = getenv("OCL_ICD_VENDORS");
    char where[256];
    if (vendors)
        snprintf(where, sizeof where, "OCL_ICD_VENDORS=\"%.150s\" says where the drivers are",
                 vendors);
    else
        snprintf(where, sizeof where,
                 "drivers are looked for in /etc/OpenCL/vendors, or where OCL_ICD_VENDORS points");
    if (code == CL_SUCCESS || code == -1001)
        snprintf(problem, bytes,
                 "no OpenCL platform (clGetPlatformIDs: %s); install a driver: the packages "
                 "ocl-icd-libopencl1 and pocl-opencl-icd (for CPUs), or the driver of your GPU; %s",
                 code ? "CL_PLATFORM_NOT_FOUND_KHR (-1001)" : "0 platforms", where);
    else
        snprintf(problem, bytes,
                 "clGetPlatformIDs: %s (%d); is the OpenCL loader (package ocl-icd-libopencl1) "
                 "whole? %s",
                 cmi_cl_name(code), code, where);
}

static void explain_silent_loader(char *problem, size_t bytes)
{
    snprintf(problem, bytes,
             "the OpenCL loader did not answer within %.1f s (CLMIRROR_TIMEOUT_MS, at most 10 s): "
             "a driver "
             "hangs while it starts; `clmirror-info --probe` shows which, OCL_ICD_VENDORS=<folder> "
             "with only "
             "the good .icd files leaves it out",
             (double)deadline_ms() / 1000);
}

cm_status cmi_query_platforms(cl_platform_id ids[CMI_MAX_PLATFORMS], int *count, char *problem,
                              size_t problem_bytes)
{
    *count = 0;
    problem[0] = '\0';
    if (atomic_load(&loader_silent)) {
        explain_silent_loader(problem, problem_bytes);
        return CM_OK;
    }
    query *asked = NULL;
    bool answered = false;
    cm_platform_info unused;
    CM_TRY(job_new(ask_loader, NULL, &asked));
    CM_TRY(job_run(asked, &answered, &unused));
    if (!answered) {
        explain_silent_loader(problem, problem_bytes);
        return CM_OK;
    }
    memcpy(ids, asked->ids, sizeof asked->ids);
    *count = asked->count;
    if (asked->count == 0) explain_no_platform(asked->code, problem, problem_bytes);
    job_free(asked);
    return CM_OK;
}

/* ---- devices of a platform
 * ---------------------------------------------------------------------------- */

static void explain_no_device(cm_platform_info *info, cl_int code)
{
    size_t bytes = sizeof info->reason;
    const char *pocl = getenv("POCL_DEVICES");
    if (code != CL_SUCCESS && code != CL_DEVICE_NOT_FOUND)
        snprintf(info->reason, bytes, "clGetDeviceIDs: %s (%d)%s", cmi_cl_name(code), code,
                 code == CL_OUT_OF_HOST_MEMORY ? "; perhaps the device file may not be read: is "
                                                 "the user in the groups render and video?"
                                               : "");
    else if (strstr(info->name, "Portable Computing Language"))
        snprintf(info->reason, bytes,
                 "no device; PoCL shows none when it cannot create its cache folder (read-only or "
                 "missing "
                 "home): set POCL_CACHE_DIR to a folder that can be written%s%.60s%s",
                 pocl ? ", or POCL_DEVICES=\"" : "", pocl ? pocl : "", pocl ? "\" names none" : "");
    else if (strstr(info->name, "rusticl"))
        snprintf(
            info->reason, bytes,
            "no device; rusticl shows only drivers named in RUSTICL_ENABLE: llvmpipe (the CPU), "
            "radeonsi, iris, nouveau");
    else
        snprintf(info->reason, bytes, "no device (clGetDeviceIDs: %s)",
                 code ? "CL_DEVICE_NOT_FOUND (-1)" : "0 devices");
}

static cm_status list_devices(query *job)
{
    cmi_answer *answer = &job->answer;
    cl_device_id *ids = NULL;
    cl_uint count = 0, again = 0; /* a failing call may leave them untouched */
    cl_int code = clGetDeviceIDs(job->platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code != CL_SUCCESS || count == 0) {
        explain_no_device(&answer->info, code);
        return CM_OK;
    }
    if (count > MAX_DEVICES) count = MAX_DEVICES;
    cm_status status = CMI_NEW(count, &ids);
    if (status) return status;
    code = clGetDeviceIDs(job->platform, CL_DEVICE_TYPE_ALL, count, ids, &again);
    count = code != CL_SUCCESS ? 0 : again < count ? again : count;
    if (count == 0)
        explain_no_device(&answer->info, code);
    else
        status = CMI_NEW(count, &answer->found);
    for (cl_uint i = 0; status == CM_OK && i < count; i++) {
        answer->found[i].id = ids[i];
        answer->found[i].info.usable = cmi_describe_device(&answer->found[i]);
        answer->count++;
    }
    cmi_free(ids);
    return status;
}

static void describe_platform(query *job)
{
    cm_platform_info *info = &job->answer.info;
    cl_int code = cmi_platform_text(job->platform, CL_PLATFORM_NAME, info->name);
    if (code == CL_SUCCESS)
        code = cmi_platform_text(job->platform, CL_PLATFORM_VENDOR, info->vendor);
    if (code == CL_SUCCESS)
        code = cmi_platform_text(job->platform, CL_PLATFORM_VERSION, info->version);
    if (code != CL_SUCCESS) {
        snprintf(info->reason, sizeof info->reason, "clGetPlatformInfo: %s (%d)", cmi_cl_name(code),
                 code);
        return;
    }
    cmi_mutex_lock(&job->mutex);
    job->early = *info;
    cmi_mutex_unlock(&job->mutex);
    job->status = list_devices(job);
}

static void ask_platform(query *job)
{
    cmi_error_clear();
    describe_platform(job);
    /* Descriptions know only OpenCL's codes.  When memory of ours was short, the list is not one to
     * work with. */
    if (cm_last_status() == CM_E_MEMORY) job->status = CM_E_MEMORY;
}

static void explain_silent(cm_platform_info *info)
{
    snprintf(info->reason, sizeof info->reason,
             "did not answer within %.1f s (CLMIRROR_TIMEOUT_MS, at most 10 s); to leave its "
             "driver out point "
             "OCL_ICD_VENDORS at a folder with only the other .icd files",
             (double)deadline_ms() / 1000);
}

cm_status cmi_query_platform(cl_platform_id id, cmi_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    if (is_silent(id)) {
        explain_silent(&answer->info);
        return CM_OK;
    }
    query *asked = NULL;
    bool answered = false;
    CM_TRY(job_new(ask_platform, id, &asked));
    CM_TRY(job_run(asked, &answered, &answer->info));
    if (!answered) {
        explain_silent(&answer->info);
        return CM_OK;
    }
    cm_status status = asked->status;
    if (status == CM_OK) {
        *answer = asked->answer;
        asked->answer.found = NULL;
        answer->info.devices = answer->count;
    }
    job_free(asked);
    return status ? cmi_error(status, "out of memory while listing the OpenCL devices") : CM_OK;
}
