/* stream.c - the in-order queue of a device and its owner thread.
 *
 * In-order, because CLBlast takes no wait list and some drivers offer nothing else.  The owner is
 * asserted in every enqueue: setting arguments on one kernel object from two threads is undefined
 * in OpenCL, so each stream has kernel objects of its own (launch.c) and only one thread touches
 * them. */
#include <unistd.h>
#include "base/mem.h"
#include "device/internal.h"

static cm_status make_bell(cmi_bell *bell)
{
    CM_TRY(cmi_mutex_init(&bell->mutex));
    cm_status status = cmi_cond_init(&bell->cond);
    if (status) cmi_mutex_destroy(&bell->mutex);
    return status;
}

static void free_bell(cmi_bell *bell)
{
    cmi_cond_destroy(&bell->cond);
    cmi_mutex_destroy(&bell->mutex);
}

/* A driver tells that a command is complete a moment before it calls back, and whoever saw it
 * complete may be here by then.  False: the last call does not come. */
static bool await_last_ring(cmi_bell *bell)
{
    enum { PATIENCE_MS = 1000 };
    bool rung = true;

    cmi_mutex_lock(&bell->mutex);
    while (rung && bell->rung < bell->asked)
        rung = cmi_cond_wait_ms(&bell->cond, &bell->mutex, PATIENCE_MS);
    cmi_mutex_unlock(&bell->mutex);
    return rung;
}

cm_status cmi_stream_create(cmi_device *device, int64_t timeout_ms, cmi_stream **out)
{
    cmi_stream *stream = NULL;
    cl_int code = CL_SUCCESS;

    *out = NULL;
    CM_TRY(CMI_NEW(1, &stream));
    stream->device = device;
    stream->timeout_ms = timeout_ms;
    cm_status status = make_bell(&stream->bell);
    if (status) goto fail;
    stream->queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    if (code != CL_SUCCESS) {
        free_bell(&stream->bell);
        status = cmi_cl_error(code, "clCreateCommandQueue");
        goto fail;
    }
    cmi_count_object(1);
    *out = stream;
    return CM_OK;

fail:
    cmi_free(stream);
    return status;
}

static void free_track(cmi_track *track)
{
    for (size_t i = 0; i < track->count; i++) {
        clReleaseKernel(track->sites[i].handle);
        cmi_count_object(-1);
    }
    cmi_free(track->sites);
}

void cmi_stream_destroy(cmi_stream *stream)
{
    if (!stream) return;
    for (int i = 0; i < CMI_TRACK_COUNT; i++)
        free_track(&stream->tracks[i]);
    cmi_buffer_destroy(stream->workspace);
    clReleaseCommandQueue(stream->queue);
    cmi_count_object(-1);
    if (!await_last_ring(&stream->bell)) return; /* the driver still knows its address */
    free_bell(&stream->bell);
    cmi_free(stream);
}

cmi_device *cmi_stream_device(const cmi_stream *stream)
{
    return stream->device;
}

void cmi_stream_own(cmi_stream *stream)
{
    stream->owner = pthread_self();
    stream->owned = true;
}

void cmi_stream_assert_owner(const cmi_stream *stream)
{
    CM_ASSERT(stream->owned && pthread_equal(stream->owner, pthread_self()));
}

void cmi_stream_rewind(cmi_stream *stream, int track)
{
    cmi_stream_assert_owner(stream);
    stream->track = track;
    stream->tracks[track].cursor = 0;
}

void cmi_stream_set_heartbeat(cmi_stream *stream, _Atomic uint64_t *beats)
{
    stream->heartbeat = beats;
}

/* The watcher sets `abandoned`, then looks at the beats; the owner counts a beat, then looks at
 * `abandoned`.  So an owner whose beat the watcher missed sees the flag, and the others know that
 * it may still be running. */
void cmi_stream_beat(cmi_stream *stream)
{
    if (stream->heartbeat) atomic_fetch_add(stream->heartbeat, 1);
    if (!atomic_load(&stream->abandoned)) return;
    atomic_store(&stream->stopped, true);
    for (;;)
        pause(); /* the model, the job, and the caller's arrays may be gone */
}

void cmi_stream_abandon(cmi_stream *stream, bool abandoned)
{
    atomic_store(&stream->abandoned, abandoned);
}

bool cmi_stream_stopped(const cmi_stream *stream)
{
    return atomic_load(&stream->stopped);
}

bool cmi_stream_silent(const cmi_stream *stream)
{
    return atomic_load(&stream->silent);
}

uint64_t cmi_stream_launches(const cmi_stream *stream)
{
    return stream->launches;
}

cm_status cmi_stream_flush(cmi_stream *stream)
{
    cmi_stream_assert_owner(stream);
    cl_int code = clFlush(stream->queue);
    cmi_stream_beat(stream);
    CL_TRY("clFlush", code);
    return CM_OK;
}

cm_status cmi_stream_finish(cmi_stream *stream)
{
    cl_event event = NULL;

    cmi_stream_assert_owner(stream);
    cl_int code = clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, &event);
    cmi_stream_beat(stream);
    CL_TRY("clEnqueueMarkerWithWaitList", code);
    cmi_count_object(1);
    return cmi_event_wait(stream, event, "clEnqueueMarkerWithWaitList");
}

cm_status cmi_stream_workspace(cmi_stream *stream, size_t bytes, cmi_buffer **out)
{
    cmi_stream_assert_owner(stream);
    *out = stream->workspace;
    if (stream->workspace && cmi_buffer_bytes(stream->workspace) >= bytes) return CM_OK;
    /* Commands that still use the old one keep it alive: OpenCL releases memory after the last of
     * them. */
    cmi_buffer_destroy(stream->workspace);
    stream->workspace = NULL;
    *out = NULL;
    CM_TRY_CTX(cmi_buffer_create(stream->device, bytes, &stream->workspace), "workspace");
    *out = stream->workspace;
    return CM_OK;
}
