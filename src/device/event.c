/* event.c - waiting for a command with a deadline.
 *
 * clFinish and clWaitForEvents may block for ever when a device hangs, and some drivers spin a core
 * in them. So a wait looks at the event's status: at first in a tight loop (a small kernel is done
 * within microseconds), then the owner sleeps and the driver's callback wakes it.  A callback may
 * be late or never come, so the sleeper looks for itself now and then.  The deadline counts from
 * the start of the wait.
 *
 * Called by the owner of the stream; the callback runs on a thread of the driver, and touches the
 * bell only: a stream that ran into its deadline is never freed, so a late ring finds it. */
#include <stdatomic.h>
#include "base/clock.h"
#include "device/internal.h"

enum { SPIN_NS = 20000, LOOK_MS = 20 };

static cm_status status_of(cl_event event, cl_int *state, const char *what)
{
    cl_int code =
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL);

    if (code != CL_SUCCESS) return cmi_cl_error(code, what);
    /* A negative state is the error of the command itself, or -14 when an earlier one failed. */
    return *state < 0 ? cmi_cl_error(*state, what) : CM_OK;
}

static void CL_CALLBACK ring(cl_event event, cl_int state, void *user)
{
    cmi_bell *bell = user;

    (void)event;
    (void)state;
    cmi_mutex_lock(&bell->mutex);
    bell->rung++;
    cmi_cond_signal(&bell->cond); /* inside: after the unlock the bell may be gone */
    cmi_mutex_unlock(&bell->mutex);
}

/* Sleeps until the bell of the present wait is rung, at most LOOK_MS.  One ring comes for every
 * wait that asked for it. */
static void sleep_a_while(cmi_bell *bell)
{
    cmi_mutex_lock(&bell->mutex);
    if (bell->rung < bell->asked) (void)cmi_cond_wait_ms(&bell->cond, &bell->mutex, LOOK_MS);
    cmi_mutex_unlock(&bell->mutex);
}

static cm_status report_silence(cmi_stream *stream, const char *what, int64_t waited_ns)
{
    atomic_store(&stream->silent, true);
    return cmi_error(
        CM_E_TIMEOUT,
        "%s: the device does not answer, waited %.1f s; if its kernels are really that slow, raise "
        "CLMIRROR_TIMEOUT_MS (now %lld)",
        what, (double)waited_ns / 1e9, (long long)stream->timeout_ms);
}

/* The command was not complete at the first look. */
static cm_status wait_long(cmi_stream *stream, cl_event event, const char *what)
{
    cl_int state = CL_QUEUED;
    bool asked = false;
    cl_int code = clFlush(stream->queue);
    int64_t start = cmi_now_ns();

    cmi_stream_beat(stream);
    if (code != CL_SUCCESS) return cmi_cl_error(code, "clFlush");
    for (;;) {
        CM_TRY(status_of(event, &state, what));
        if (state == CL_COMPLETE) return CM_OK;
        int64_t waited = cmi_now_ns() - start;
        if (waited > stream->timeout_ms * 1000000) return report_silence(stream, what, waited);
        if (waited <= SPIN_NS) continue;
        if (!asked) {
            code = clSetEventCallback(event, CL_COMPLETE, ring, &stream->bell);
            cmi_stream_beat(stream);
            if (code != CL_SUCCESS) return cmi_cl_error(code, "clSetEventCallback");
            stream->bell.asked++;
            asked = true;
            continue; /* it may have completed meanwhile */
        }
        sleep_a_while(&stream->bell);
    }
}

cm_status cmi_event_wait(cmi_stream *stream, cl_event event, const char *what)
{
    cl_int state = CL_QUEUED;
    cm_status status = status_of(event, &state, what);

    if (!status && state != CL_COMPLETE) status = wait_long(stream, event, what);
    clReleaseEvent(event);
    cmi_count_object(-1);
    cmi_stream_beat(stream);
    return status;
}
