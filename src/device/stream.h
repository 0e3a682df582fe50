/* stream.h - a stream: one in-order queue, its private kernel objects, one owner thread; and the
 * buffers, views and launches that go through it.
 *
 * Every enqueue asserts that the caller owns the stream.  Nothing here blocks except the functions
 * that say so, and these wait at most the stream's time-out (CM_E_TIMEOUT names device and what was
 * waited for). */
#ifndef CMI_DEVICE_STREAM_H
#define CMI_DEVICE_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "device/device.h"

typedef struct cmi_stream cmi_stream;
typedef struct cmi_buffer cmi_buffer;

/* `count` elements of a buffer from element `offset` on; the kernel knows the element type.  A
 * plain value, never owns. */
typedef struct cmi_view {
    cmi_buffer *buffer;
    size_t offset, count;
} cmi_view;

/* ---- streams
 * ---------------------------------------------------------------------------------------- */

cm_status cmi_stream_create(cmi_device *device, int64_t timeout_ms, cmi_stream **out);
void cmi_stream_destroy(
    cmi_stream *stream); /* accepts NULL; its kernels and its workspace go with it */
cmi_device *cmi_stream_device(const cmi_stream *stream);
/* Makes the calling thread the owner; no other thread may be using the stream. */
void cmi_stream_own(cmi_stream *stream);
/* Starts a pass over the call sites of a track: a repeated sequence of launches that keeps one
 * kernel object, and its arguments, per place in the sequence.  Tracks keep training and evaluation
 * apart. */
enum { CMI_TRACK_TRAIN, CMI_TRACK_EVALUATE, CMI_TRACK_PREDICT, CMI_TRACK_OTHER, CMI_TRACK_COUNT };
void cmi_stream_rewind(cmi_stream *stream, int track);
cm_status cmi_stream_flush(cmi_stream *stream);
cm_status cmi_stream_finish(cmi_stream *stream); /* blocks until all is done */
uint64_t cmi_stream_launches(const cmi_stream *stream);

/* ---- for those who watch the owner
 * -------------------------------------------------------------------- */

/* `beats` is counted up whenever a call into the driver has returned; it lives as long as the
 * stream.  NULL: none. */
void cmi_stream_set_heartbeat(cmi_stream *stream, _Atomic uint64_t *beats);
/* Gives the owner up, who does not come back from a call into the driver.  If it does later, it
 * stops for ever at its next beat and touches nothing but the stream, which must stay.  False takes
 * it back.  Any thread. */
void cmi_stream_abandon(cmi_stream *stream, bool abandoned);
/* Whether an abandoned owner came back and was stopped.  Any thread. */
bool cmi_stream_stopped(const cmi_stream *stream);
/* Whether a wait ran into the time-out: commands may still be running, so nothing may be released.
 * Any thread. */
bool cmi_stream_silent(const cmi_stream *stream);

/* ---- buffers
 * ---------------------------------------------------------------------------------------- */

/* bytes > 0 and within the device's largest allocation, else CM_E_MEMORY with both numbers.  Not
 * cleared. */
cm_status cmi_buffer_create(cmi_device *device, size_t bytes, cmi_buffer **out);
/* A part with an object of its own; `offset` is a multiple of the device's alignment.  The parent
 * outlives it. */
cm_status cmi_buffer_slice(cmi_buffer *parent, size_t offset, size_t bytes, cmi_buffer **out);
void cmi_buffer_destroy(cmi_buffer *buffer); /* accepts NULL */
size_t cmi_buffer_bytes(const cmi_buffer *buffer);

/* Host <-> device; block until the host memory may be used again.  Positions and sizes in bytes; 0
 * bytes is nothing. */
cm_status cmi_buffer_write(cmi_stream *stream, cmi_buffer *buffer, size_t offset, size_t bytes,
                           const void *from);
cm_status cmi_buffer_read(cmi_stream *stream, cmi_buffer *buffer, size_t offset, size_t bytes,
                          void *to);
/* Fills with a repeated 32-bit pattern; does not block. */
cm_status cmi_buffer_fill(cmi_stream *stream, cmi_buffer *buffer, size_t offset, size_t bytes,
                          uint32_t pattern);

/* Maps a range for the host until cmi_buffer_unmap; no kernel may use it in between.  WRITE
 * discards what was there.  Blocks. */
typedef enum cmi_map_mode { CMI_MAP_READ, CMI_MAP_WRITE, CMI_MAP_READ_WRITE } cmi_map_mode;
cm_status cmi_buffer_map(cmi_stream *stream, cmi_buffer *buffer, size_t offset, size_t bytes,
                         cmi_map_mode mode, void **host);
cm_status cmi_buffer_unmap(cmi_stream *stream, cmi_buffer *buffer, void *host);

/* The stream's scratch buffer of at least `bytes`, grown when it is too small (build time; a step
 * only finds it large enough).  Its content does not survive the next call. */
cm_status cmi_stream_workspace(cmi_stream *stream, size_t bytes, cmi_buffer **out);

/* ---- launches
 * --------------------------------------------------------------------------------------- */

/* A kernel: file cl/<source>.cl, built with `defines` ("#define X ...\n" lines put before it, NULL:
 * none), and the function's name.  `source` and `name` are static; `defines` lives until the launch
 * returns. */
typedef struct cmi_kernel {
    const char *source, *name, *defines;
    bool
        exact; /* no contraction, correctly rounded division and root where the device can: update kernels */
} cmi_kernel;

typedef enum cmi_arg_kind { CMI_ARG_UINT, CMI_ARG_FLOAT, CMI_ARG_VIEW } cmi_arg_kind;

typedef struct cmi_arg {
    cmi_arg_kind kind;
    uint32_t whole;
    float real;
    cmi_view view; /* becomes two kernel arguments: buffer, uint offset */
} cmi_arg;

static inline cmi_arg cmi_uint(size_t value)
{
    CM_ASSERT(value <= UINT32_MAX); /* batches and models are refused before they come near it */
    return (cmi_arg){.kind = CMI_ARG_UINT, .whole = (uint32_t)value};
}
static inline cmi_arg cmi_float(double value)
{
    return (cmi_arg){.kind = CMI_ARG_FLOAT, .real = (float)value};
}
static inline cmi_arg cmi_buf(cmi_view view)
{
    return (cmi_arg){.kind = CMI_ARG_VIEW, .view = view};
}

/* Size of a launch: `items` work-items, rounded up (kernels guard), or `groups` whole work-groups
 * of the device's liking: 1 work-item on CPU shape, up to `group_items` (default 64) on GPU shape,
 * always a power of two and never more than the kernel allows there. */
typedef struct cmi_range {
    size_t items;
    size_t groups;
    size_t group_items;
} cmi_range;

#define CMI_MAX_ARGS 24
/* Enqueues.  A range of 0 items and 0 groups is nothing. */
cm_status cmi_launch(cmi_stream *stream, const cmi_kernel *kernel, cmi_range range,
                     const cmi_arg *args, int count);
#define CMI_LAUNCH(stream, kernel, range, ...)                                                     \
    cmi_launch((stream), (kernel), (range), (const cmi_arg[]){__VA_ARGS__},                        \
               (int)(sizeof((const cmi_arg[]){__VA_ARGS__}) / sizeof(cmi_arg)))

/* How a loop over n elements is cut: CPU shape *strip elements per work-item, GPU shape one each. */
cmi_range cmi_strips(const cmi_stream *stream, size_t n, size_t *strip);
/* How rows are cut when a work-item takes whole rows: *strip of them each. */
cmi_range cmi_row_strips(const cmi_stream *stream, size_t rows, size_t *strip);

#endif
