/* event.c - waiting for a command with a deadline.
 *
 * clFinish and clWaitForEvents may block for ever when a device hangs, and some drivers spin a core
 * in them. So a wait looks at the event's status: at first in a tight loop (a small kernel is done
 * within microseconds), then with growing pauses.  The deadline counts from the start of the wait.
 *
 * Called by the owner of the stream. */
#include <stdatomic.h>
#include "base/clock.h"
#include "device/internal.h"

enum { SPIN_NS = 20000, PAUSE_NS = 20000, LONGEST_PAUSE_NS = 1000000 };

static cm_status status_of(cl_event event, cl_int *state, const char *what)
{
    cl_int code =
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL);

    if (code != CL_SUCCESS) return cmi_cl_error(code, what);
    /* A negative state is the error of the command itself, or -14 when an earlier one failed. */
    return *state < 0 ? cmi_cl_error(*state, what) : CM_OK;
}

cm_status cmi_event_wait(cmi_stream *stream, cl_event event, const char *what)
{
    cl_int state = CL_QUEUED;
    cm_status status = status_of(event, &state, what);
    int64_t start = 0, pause = PAUSE_NS;

    if (!status && state != CL_COMPLETE) {
        cl_int code = clFlush(stream->queue);
        cmi_stream_beat(stream);
        if (code != CL_SUCCESS) status = cmi_cl_error(code, "clFlush");
        start = cmi_now_ns();
    }
    while (!status && state != CL_COMPLETE) {
        status = status_of(event, &state, what);
        if (status || state == CL_COMPLETE) break;
        int64_t waited = cmi_now_ns() - start;
        if (waited > stream->timeout_ms * 1000000) {
            status = cmi_error(
                CM_E_TIMEOUT,
                "%s: the device does not answer, waited %.1f s; if its kernels are really that "
                "slow, raise CLMIRROR_TIMEOUT_MS (now %lld)",
                what, (double)waited / 1e9, (long long)stream->timeout_ms);
            atomic_store(&stream->silent, true);
            break;
        }
        if (waited > SPIN_NS) {
            cmi_sleep_ns(pause);
            if (pause < LONGEST_PAUSE_NS) pause += pause / 2;
        }
    }
    clReleaseEvent(event);
    cmi_count_object(-1);
    cmi_stream_beat(stream);
    return status;
}
