/* buffer.c - device memory: parents, aligned parts, and the ways bytes move between host and
 * device.
 *
 * On devices that share memory with the host buffers are made host-accessible, so that mapping
 * costs no copy. Everything that hands host memory to the driver is enqueued without blocking and
 * then waited for with a deadline (event.c), never with the driver's own blocking form.
 *
 * Called by the owner of the stream; creating and destroying by any one thread at a time per
 * device. */
#include <stdatomic.h>
#include <stdint.h>
#include "base/mem.h"
#include "device/internal.h"

static cm_status new_buffer(cmi_device *device, size_t bytes, cl_mem handle, bool slice,
                            cmi_buffer **out)
{
    static _Atomic uint64_t next_id = 1;
    cm_status status = CMI_NEW(1, out);

    if (status) {
        clReleaseMemObject(handle);
        return status;
    }
    **out = (cmi_buffer){.handle = handle, .device = device, .bytes = bytes, .slice = slice};
    (*out)->id = atomic_fetch_add(&next_id, 1);
    cmi_count_object(1);
    if (!slice) atomic_fetch_add(&device->bytes, bytes);
    return CM_OK;
}

cm_status cmi_buffer_create(cmi_device *device, size_t bytes, cmi_buffer **out)
{
    const cm_device_info *info = &device->facts.info;
    cl_mem_flags flags = CL_MEM_READ_WRITE | (info->host_memory ? CL_MEM_ALLOC_HOST_PTR : 0);
    cl_int code = CL_SUCCESS;

    *out = NULL;
    CM_ASSERT(bytes > 0);
    if (bytes > info->max_alloc_bytes)
        return cmi_error(
            CM_E_MEMORY,
            "a buffer of %zu bytes is larger than one allocation may be on this device (%llu); "
            "try a smaller batch or model, or more devices",
            bytes, (unsigned long long)info->max_alloc_bytes);
    cl_mem handle = clCreateBuffer(device->context, flags, bytes, NULL, &code);
    if (code != CL_SUCCESS) {
        cm_status status = cmi_cl_error(code, "clCreateBuffer");
        cmi_error_prefix("a buffer of %zu bytes, %llu bytes in use on the device", bytes,
                         (unsigned long long)atomic_load(&device->bytes));
        return status;
    }
    return new_buffer(device, bytes, handle, false, out);
}

cm_status cmi_buffer_slice(cmi_buffer *parent, size_t offset, size_t bytes, cmi_buffer **out)
{
    cl_buffer_region region = {.origin = offset, .size = bytes};
    cl_int code = CL_SUCCESS;

    *out = NULL;
    CM_ASSERT(bytes > 0 && offset + bytes <= parent->bytes);
    CM_ASSERT(offset % parent->device->facts.info.align_bytes == 0);
    cl_mem handle = clCreateSubBuffer(parent->handle, CL_MEM_READ_WRITE,
                                      CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code != CL_SUCCESS) return cmi_cl_error(code, "clCreateSubBuffer");
    return new_buffer(parent->device, bytes, handle, true, out);
}

void cmi_buffer_destroy(cmi_buffer *buffer)
{
    if (!buffer) return;
    if (!buffer->slice) atomic_fetch_sub(&buffer->device->bytes, buffer->bytes);
    clReleaseMemObject(buffer->handle);
    cmi_count_object(-1);
    cmi_free(buffer);
}

uint64_t cmi_device_buffer_bytes(const cmi_device *device)
{
    return atomic_load(&device->bytes);
}

size_t cmi_buffer_bytes(const cmi_buffer *buffer)
{
    return buffer->bytes;
}

static void check_range(const cmi_buffer *buffer, size_t offset, size_t bytes)
{
    CM_ASSERT(offset <= buffer->bytes && bytes <= buffer->bytes - offset);
}

cm_status cmi_buffer_write(cmi_stream *stream, cmi_buffer *buffer, size_t offset, size_t bytes,
                           const void *from)
{
    cl_event event = NULL;

    cmi_stream_assert_owner(stream);
    check_range(buffer, offset, bytes);
    if (!bytes) return CM_OK;
    cl_int code = clEnqueueWriteBuffer(stream->queue, buffer->handle, CL_FALSE, offset, bytes, from,
                                       0, NULL, &event);
    cmi_stream_beat(stream);
    CL_TRY("clEnqueueWriteBuffer", code);
    cmi_count_object(1);
    return cmi_event_wait(stream, event, "clEnqueueWriteBuffer");
}

cm_status cmi_buffer_read(cmi_stream *stream, cmi_buffer *buffer, size_t offset, size_t bytes,
                          void *to)
{
    cl_event event = NULL;

    cmi_stream_assert_owner(stream);
    check_range(buffer, offset, bytes);
    if (!bytes) return CM_OK;
    cl_int code = clEnqueueReadBuffer(stream->queue, buffer->handle, CL_FALSE, offset, bytes, to, 0,
                                      NULL, &event);
    cmi_stream_beat(stream);
    CL_TRY("clEnqueueReadBuffer", code);
    cmi_count_object(1);
    return cmi_event_wait(stream, event, "clEnqueueReadBuffer");
}

cm_status cmi_buffer_fill(cmi_stream *stream, cmi_buffer *buffer, size_t offset, size_t bytes,
                          uint32_t pattern)
{
    cmi_stream_assert_owner(stream);
    check_range(buffer, offset, bytes);
    if (!bytes) return CM_OK;
    cl_int code = clEnqueueFillBuffer(stream->queue, buffer->handle, &pattern, sizeof pattern,
                                      offset, bytes, 0, NULL, NULL);
    cmi_stream_beat(stream);
    CL_TRY("clEnqueueFillBuffer", code);
    return CM_OK;
}

cm_status cmi_buffer_map(cmi_stream *stream, cmi_buffer *buffer, size_t offset, size_t bytes,
                         cmi_map_mode mode, void **host)
{
    static const cl_map_flags flags[] = {[CMI_MAP_READ] = CL_MAP_READ,
                                         [CMI_MAP_WRITE] = CL_MAP_WRITE_INVALIDATE_REGION,
                                         [CMI_MAP_READ_WRITE] = CL_MAP_READ | CL_MAP_WRITE};
    cl_event event = NULL;
    cl_int code = CL_SUCCESS;

    *host = NULL;
    cmi_stream_assert_owner(stream);
    check_range(buffer, offset, bytes);
    CM_ASSERT(bytes > 0);
    void *pointer = clEnqueueMapBuffer(stream->queue, buffer->handle, CL_FALSE, flags[mode], offset,
                                       bytes, 0, NULL, &event, &code);
    cmi_stream_beat(stream);
    if (code != CL_SUCCESS) return cmi_cl_error(code, "clEnqueueMapBuffer");
    cmi_count_object(1);
    cm_status status = cmi_event_wait(stream, event, "clEnqueueMapBuffer");
    if (!status)
        *host = pointer;
    else if (!cmi_stream_silent(
                 stream)) /* the buffer may be used again, so it must not stay mapped */
        (void)clEnqueueUnmapMemObject(stream->queue, buffer->handle, pointer, 0, NULL, NULL);
    return status;
}

cm_status cmi_buffer_unmap(cmi_stream *stream, cmi_buffer *buffer, void *host)
{
    cmi_stream_assert_owner(stream);
    if (!host) return CM_OK;
    cl_int code = clEnqueueUnmapMemObject(stream->queue, buffer->handle, host, 0, NULL, NULL);
    cmi_stream_beat(stream);
    CL_TRY("clEnqueueUnmapMemObject", code);
    return CM_OK;
}
