/* enqueue.c - the part of the fault layer that stands in front of buffers, queues and events.
 *
 * Written like layer.c: ask the rules, let it happen or forward, note the objects that came into
 * being.  A call on a queue belongs to the queue's device and carries the queue's number, by which
 * rules tell logical replicas apart. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <stdlib.h>
#include <string.h>
#include "fault/calls.h"
#include "fault/move.h"

static fault on_queue(const char *call, cl_command_queue queue, bool soft_hang)
{
    fault_object object = {.device = -1, .number = -1};
    fault_find(queue, &object);
    return fault_check(call, NULL, object.device, object.number, soft_hang);
}

static void note_event(cl_command_queue queue, cl_int code, cl_event *event)
{
    fault_object object = {.device = -1, .number = -1};
    if (code != CL_SUCCESS || event == NULL) return;
    fault_find(queue, &object);
    fault_made("event", *event, object.device, object.number);
}

/* ---- buffers
 * ---------------------------------------------------------------------------------------------- */

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                        void *host, cl_int *code)
{
    fault rule = layer_check("clCreateBuffer", context);
    if (layer_refused(rule, code)) return NULL;
    cl_mem buffer = layer_next->clCreateBuffer(context, flags, size, host, code);
    if (buffer == NULL) return NULL;
    fault_made("buffer", buffer, layer_device(context), -1);
    if (rule.kind == FAULT_POISON && !(flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
        move_poison(layer_next, context, buffer, size);
    return buffer;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem parent, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *info,
                                            cl_int *code)
{
    if (layer_refused(layer_check("clCreateSubBuffer", parent), code)) return NULL;
    cl_mem buffer = layer_next->clCreateSubBuffer(parent, flags, type, info, code);
    if (buffer) fault_made("buffer", buffer, layer_device(parent), -1);
    return buffer;
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                      size_t offset, size_t bytes, void *host, cl_uint waits,
                                      const cl_event *wait_for, cl_event *event)
{
    fault rule = on_queue("clEnqueueReadBuffer", queue, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    if (rule.kind == FAULT_FLIP) blocking = CL_TRUE;
    cl_int code = layer_next->clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, host,
                                                  waits, wait_for, event);
    if (code == CL_SUCCESS && rule.kind == FAULT_FLIP) move_flip(host, bytes);
    note_event(queue, code, event);
    return code;
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t offset, size_t bytes, const void *host, cl_uint waits,
                                       const cl_event *wait_for, cl_event *event)
{
    fault rule = on_queue("clEnqueueWriteBuffer", queue, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    cl_int code = layer_next->clEnqueueWriteBuffer(queue, buffer, blocking, offset, bytes, host,
                                                   waits, wait_for, event);
    if (code == CL_SUCCESS && rule.kind == FAULT_FLIP)
        move_flip_buffer(layer_next, queue, buffer, offset, bytes);
    note_event(queue, code, event);
    return code;
}

static cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                      size_t from_offset, size_t to_offset, size_t bytes,
                                      cl_uint waits, const cl_event *wait_for, cl_event *event)
{
    fault rule = on_queue("clEnqueueCopyBuffer", queue, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    cl_int code = layer_next->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes,
                                                  waits, wait_for, event);
    if (code == CL_SUCCESS && rule.kind == FAULT_FLIP)
        move_flip_buffer(layer_next, queue, to, to_offset, bytes);
    note_event(queue, code, event);
    return code;
}

static cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                      size_t pattern_bytes, size_t offset, size_t bytes,
                                      cl_uint waits, const cl_event *wait_for, cl_event *event)
{
    fault rule = on_queue("clEnqueueFillBuffer", queue, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    cl_int code = layer_next->clEnqueueFillBuffer(queue, buffer, pattern, pattern_bytes, offset,
                                                  bytes, waits, wait_for, event);
    if (code == CL_SUCCESS && rule.kind == FAULT_FLIP)
        move_flip_buffer(layer_next, queue, buffer, offset, bytes);
    note_event(queue, code, event);
    return code;
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t bytes, cl_uint waits,
                                    const cl_event *wait_for, cl_event *event, cl_int *code)
{
    fault rule = on_queue("clEnqueueMapBuffer", queue, false);
    cl_int own = CL_SUCCESS;
    if (layer_refused(rule, code)) return NULL;
    bool touch = rule.kind == FAULT_FLIP || rule.kind == FAULT_SHADOW;
    if (touch) blocking = CL_TRUE;
    void *mapped = layer_next->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes,
                                                  waits, wait_for, event, &own);
    if (mapped && rule.kind == FAULT_FLIP) move_flip(mapped, bytes);
    if (mapped && rule.kind == FAULT_SHADOW) mapped = move_shadow(mapped, bytes, flags);
    note_event(queue, mapped ? CL_SUCCESS : own, mapped ? event : NULL);
    if (code) *code = own;
    return mapped;
}

static cl_int CL_API_CALL unmap_object(cl_command_queue queue, cl_mem buffer, void *mapped,
                                       cl_uint waits, const cl_event *wait_for, cl_event *event)
{
    fault rule = on_queue("clEnqueueUnmapMemObject", queue, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    cl_int code = layer_next->clEnqueueUnmapMemObject(queue, buffer, move_unshadow(mapped), waits,
                                                      wait_for, event);
    note_event(queue, code, event);
    return code;
}

/* ---- running and waiting
 * ---------------------------------------------------------------------------------- */

static cl_int CL_API_CALL run_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint waits, const cl_event *wait_for,
                                     cl_event *event)
{
    fault rule = on_queue("clEnqueueNDRangeKernel", queue, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    size_t group = 1;
    for (cl_uint d = 0; local && d < dims; d++)
        group *= local[d];
    if (rule.kind == FAULT_SAY && group > strtoul(rule.text, NULL, 10))
        return CL_INVALID_WORK_GROUP_SIZE;
    cl_int code = layer_next->clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local,
                                                     waits, wait_for, event);
    note_event(queue, code, event);
    return code;
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint waits, const cl_event *wait_for,
                                 cl_event *event)
{
    fault rule = on_queue("clEnqueueMarkerWithWaitList", queue, true);
    if (rule.kind == FAULT_CODE) return rule.code;
    cl_int code = layer_next->clEnqueueMarkerWithWaitList(queue, waits, wait_for, event);
    note_event(queue, code, event);
    if (code == CL_SUCCESS && event && rule.kind == FAULT_HANG) fault_mark(*event, true);
    return code;
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
    fault rule = on_queue("clFlush", queue, false);
    return rule.kind == FAULT_CODE ? rule.code : layer_next->clFlush(queue);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
    fault rule = on_queue("clFinish", queue, false);
    return rule.kind == FAULT_CODE ? rule.code : layer_next->clFinish(queue);
}

static cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event *events)
{
    fault_object object = {.device = -1, .number = -1};
    bool endless = false;
    for (cl_uint i = 0; events && i < count; i++)
        endless |= fault_find(events[i], &object) && object.marked;
    fault rule = fault_check("clWaitForEvents", NULL, object.device, object.number, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    if (endless) fault_hang();
    return layer_next->clWaitForEvents(count, events);
}

static cl_int CL_API_CALL get_event_info(cl_event event, cl_event_info param, size_t bytes,
                                         void *value, size_t *needed)
{
    fault_object object = {.device = -1, .number = -1};
    bool known = fault_find(event, &object);
    fault rule = fault_check("clGetEventInfo", NULL, object.device, object.number, true);
    if (rule.kind == FAULT_CODE) return rule.code;
    cl_int code = layer_next->clGetEventInfo(event, param, bytes, value, needed);
    if (code == CL_SUCCESS && value && param == CL_EVENT_COMMAND_EXECUTION_STATUS &&
        (rule.kind == FAULT_HANG || (known && object.marked)))
        memcpy(value, &(cl_int){CL_RUNNING}, sizeof(cl_int));
    return code;
}

void layer_fill_enqueue(cl_icd_dispatch *table)
{
    table->clCreateBuffer = create_buffer;
    table->clCreateSubBuffer = create_sub_buffer;
    table->clEnqueueReadBuffer = read_buffer;
    table->clEnqueueWriteBuffer = write_buffer;
    table->clEnqueueCopyBuffer = copy_buffer;
    table->clEnqueueFillBuffer = fill_buffer;
    table->clEnqueueMapBuffer = map_buffer;
    table->clEnqueueUnmapMemObject = unmap_object;
    table->clEnqueueNDRangeKernel = run_kernel;
    table->clEnqueueMarkerWithWaitList = marker;
    table->clFlush = flush;
    table->clFinish = finish;
    table->clWaitForEvents = wait_for_events;
    table->clGetEventInfo = get_event_info;
}
