/* test_layer.c - the fault layer itself: each action and each form of a rule, on two PoCL devices,
 * with plain OpenCL calls.  What it promises here is what every other fault test builds on.
 *
 * Object numbers (@q1) and "made" counts run on over the whole process, so tests compare
 * differences. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <CL/cl.h>
#include "fault/layer.h"
#include "fault/suites.h"
#include "support/cm_test.h"

enum { BYTES = 1024 };

static cl_device_id devices[2];
static cl_context context;
static cl_command_queue queue;
static cl_mem buffer;

static void set(const char *rules)
{
    ck_assert_int_eq(fault_layer_set(rules), 0);
}

/* Context, queue and buffer on one of the two devices. */
static void open_device(int index)
{
    cl_platform_id platform;
    cl_int code = 0;
    set("");
    ck_assert_int_eq(clGetPlatformIDs(1, &platform, NULL), 0);
    ck_assert_msg(fault_layer_active(), "the loader has not loaded the layer");
    ck_assert_int_eq(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, NULL), 0);
    context = clCreateContext(NULL, 1, &devices[index], NULL, NULL, &code);
    ck_assert_int_eq(code, 0);
    queue = clCreateCommandQueue(context, devices[index], 0, &code);
    ck_assert_int_eq(code, 0);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    ck_assert_int_eq(code, 0);
}

static void close_device(void)
{
    set("");
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    ck_assert_int_eq(fault_layer_count("live"), 0);
}

/* How many bits of the buffer differ from `byte` repeated. */
static int wrong_bits(unsigned char byte)
{
    unsigned char got[BYTES];
    int bits = 0;
    ck_assert_int_eq(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, got, 0, NULL, NULL), 0);
    for (int i = 0; i < BYTES; i++)
        for (int bit = 0; bit < 8; bit++)
            bits += (got[i] ^ byte) >> bit & 1;
    return bits;
}

static void write_all(unsigned char byte)
{
    unsigned char data[BYTES];
    memset(data, byte, BYTES);
    ck_assert_int_eq(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, data, 0, NULL, NULL),
                     0);
}

START_TEST(codes_by_count)
{
    cl_int codes[4];
    open_device(0);
    set("clFlush#2 -> -5; clFinish#2+ -> -36\nclGetDeviceInfo -> -33");
    for (int i = 0; i < 4; i++)
        codes[i] = clFlush(queue);
    ck_assert(codes[0] == 0 && codes[1] == -5 && codes[2] == 0 && codes[3] == 0);
    for (int i = 0; i < 4; i++)
        codes[i] = clFinish(queue);
    ck_assert(codes[0] == 0 && codes[1] == -36 && codes[2] == -36 && codes[3] == -36);
    ck_assert_int_eq(clGetDeviceInfo(devices[0], CL_DEVICE_NAME, 0, NULL, NULL), -33);
    set("clCreateBuffer -> -61");
    long made = fault_layer_count("made:buffer");
    cl_int code = 0;
    ck_assert_ptr_null(clCreateBuffer(context, 0, BYTES, NULL, &code));
    ck_assert_int_eq(code, -61);
    ck_assert_int_eq(fault_layer_count("made:buffer"), made);
    close_device();
}
END_TEST

/* Rules for one device, and for one queue of a device. */
START_TEST(codes_by_place)
{
    cl_int code = 0;
    char rule[64];
    for (int device = 0; device < 2; device++) {
        open_device(device);
        set("clFlush@1 -> -5; clCreateBuffer@1 -> -4");
        ck_assert_int_eq(clFlush(queue), device ? -5 : 0);
        cl_mem second = clCreateBuffer(context, 0, BYTES, NULL, &code);
        ck_assert_int_eq(code, device ? -4 : 0);
        if (second) clReleaseMemObject(second);
        cl_command_queue other = clCreateCommandQueue(context, devices[device], 0, &code);
        snprintf(rule, sizeof rule, "clFlush@q%ld -> -5", fault_layer_count("made:queue") - 1);
        set(rule);
        ck_assert_int_eq(clFlush(queue), 0);
        ck_assert_int_eq(clFlush(other), -5);
        clReleaseCommandQueue(other);
        close_device();
    }
}
END_TEST

START_TEST(malformed_rules)
{
    static const char *const bad[] = {"clFlush",           "clFlush -> ",      "clFlush -> 5",
                                      "clFlush -> maybe",  "clFlush#0 -> -5",  "clFlush@x -> -5",
                                      "flush -> -5",       "clFlush#2- -> -5", "clFlush -> -5x",
                                      "clFlush -> delay 5"};
    open_device(0);
    set("clFlush -> -5");
    for (int i = 0; i < CM_TEST_COUNT(bad); i++)
        ck_assert_msg(fault_layer_set(bad[i]) == -1, "accepted: %s", bad[i]);
    ck_assert_int_eq(clFlush(queue), -5); /* the old rules stay */
    set(NULL);
    ck_assert_int_eq(clFlush(queue), 0);
    ck_assert_int_eq(fault_layer_count("nonsense"), -1);
    close_device();
}
END_TEST

START_TEST(flip_moves)
{
    unsigned char data[BYTES], pattern = 0x55;
    cl_int code = 0;
    open_device(0);
    write_all(0x11);
    ck_assert_int_eq(wrong_bits(0x11), 0);
    set("clEnqueueReadBuffer#1 -> flip");
    ck_assert_int_eq(wrong_bits(0x11), 1);
    ck_assert_int_eq(wrong_bits(0x11), 0); /* the buffer itself is unharmed */
    set("clEnqueueWriteBuffer -> flip");
    write_all(0x22);
    ck_assert_int_eq(wrong_bits(0x22), 1);
    set("clEnqueueFillBuffer -> flip");
    ck_assert_int_eq(clEnqueueFillBuffer(queue, buffer, &pattern, 1, 0, BYTES, 0, NULL, NULL), 0);
    ck_assert_int_eq(wrong_bits(0x55), 1);
    set("");
    write_all(0x33);
    cl_mem second =
        clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, memset(data, 0x44, BYTES), &code);
    set("clEnqueueCopyBuffer -> flip");
    ck_assert_int_eq(clEnqueueCopyBuffer(queue, second, buffer, 0, 0, BYTES, 0, NULL, NULL), 0);
    ck_assert_int_eq(wrong_bits(0x44), 1);
    clReleaseMemObject(second);
    close_device();
}
END_TEST

START_TEST(shadow_maps)
{
    cl_int code = 0;
    open_device(0);
    write_all(0x11);
    set("clEnqueueMapBuffer -> shadow");
    unsigned char *map = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                            BYTES, 0, NULL, NULL, &code);
    ck_assert_int_eq(code, 0);
    ck_assert_int_eq(map[BYTES - 1], 0x11);
    memset(map, 0x66, BYTES);
    ck_assert_int_eq(wrong_bits(0x11), 0); /* nobody sees the copy before the unmap */
    ck_assert_int_eq(clEnqueueUnmapMemObject(queue, buffer, map, 0, NULL, NULL), 0);
    ck_assert_int_eq(map[0], 0xFF); /* spoiled, so that a late reader shows */
    memset(map, 0x77, BYTES);       /* and a late writer writes into nothing */
    ck_assert_int_eq(wrong_bits(0x66), 0);
    map = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &code);
    memset(map, 0x77, BYTES); /* mapped for reading: not written back */
    ck_assert_int_eq(clEnqueueUnmapMemObject(queue, buffer, map, 0, NULL, NULL), 0);
    ck_assert_int_eq(wrong_bits(0x66), 0);
    close_device();
}
END_TEST

START_TEST(poisoned_buffers)
{
    unsigned char got[BYTES];
    cl_int code = 0;
    open_device(0);
    set("clCreateBuffer -> poison");
    cl_mem poisoned = clCreateBuffer(context, 0, BYTES, NULL, &code);
    ck_assert_int_eq(clEnqueueReadBuffer(queue, poisoned, CL_TRUE, 0, BYTES, got, 0, NULL, NULL),
                     0);
    for (int i = 0; i < BYTES; i++)
        ck_assert_int_eq(got[i], 0xFF);
    clReleaseMemObject(poisoned);
    poisoned = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, BYTES, memset(got, 3, BYTES), &code);
    ck_assert_int_eq(clEnqueueReadBuffer(queue, poisoned, CL_TRUE, 0, BYTES, got, 0, NULL, NULL),
                     0);
    ck_assert_int_eq(got[BYTES / 2], 3);
    clReleaseMemObject(poisoned);
    close_device();
}
END_TEST

static cl_int status_of(cl_event event)
{
    cl_int status = 77;
    ck_assert_int_eq(
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL), 0);
    return status;
}

START_TEST(events_that_never_end)
{
    cl_event event = NULL;
    open_device(0);
    set("clEnqueueMarkerWithWaitList#1 -> hang");
    ck_assert_int_eq(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), 0);
    clFinish(queue);
    ck_assert_int_eq(status_of(event), CL_RUNNING);
    clReleaseEvent(event);
    ck_assert_int_eq(clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), 0);
    clFinish(queue);
    ck_assert_int_eq(status_of(event), CL_COMPLETE);
    set("clGetEventInfo@0 -> hang");
    ck_assert_int_eq(status_of(event), CL_RUNNING);
    set("clGetEventInfo@1 -> hang");
    ck_assert_int_eq(status_of(event), CL_COMPLETE);
    clReleaseEvent(event);
    close_device();
}
END_TEST

START_TEST(builds_that_fail)
{
    const char *text = "kernel void k(global float *x) { x[get_global_id(0)] = 1.0f; }";
    char log[64] = "";
    size_t group = 0;
    cl_int code = 0;
    open_device(1);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    set("clBuildProgram@0 -> -11; clBuildProgram@1#1 -> -11");
    ck_assert_int_eq(clBuildProgram(program, 1, &devices[1], "", NULL, NULL), -11);
    ck_assert_int_eq(
        clGetProgramBuildInfo(program, devices[1], CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL), 0);
    ck_assert_str_eq(log, "layer says no");
    ck_assert_int_eq(clBuildProgram(program, 1, &devices[1], "", NULL, NULL), 0);
    cl_kernel kernel = clCreateKernel(program, "k", &code);
    ck_assert_int_eq(code, 0);
    set("clGetKernelWorkGroupInfo.CL_KERNEL_WORK_GROUP_SIZE -> say 32; clSetKernelArg#2 -> -50");
    ck_assert_int_eq(clGetKernelWorkGroupInfo(kernel, devices[1], CL_KERNEL_WORK_GROUP_SIZE,
                                              sizeof group, &group, NULL),
                     0);
    ck_assert_uint_eq(group, 32);
    ck_assert_int_eq(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), 0);
    ck_assert_int_eq(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), -50);
    set("clEnqueueNDRangeKernel@1#2 -> -54");
    size_t items = BYTES / 4;
    ck_assert_int_eq(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
                     0);
    ck_assert_int_eq(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL),
                     -54);
    clFinish(queue);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    close_device();
}
END_TEST

START_TEST(counts)
{
    static const char *const kinds[] = {"made:context", "made:queue", "made:buffer"};
    long before[2][3];
    char text[32];
    open_device(0);
    close_device();
    for (int device = 0; device < 2; device++)
        for (int i = 0; i < 3; i++) {
            snprintf(text, sizeof text, "%s@%d", kinds[i], device);
            before[device][i] = fault_layer_count(text);
        }
    open_device(1);
    for (int device = 0; device < 2; device++)
        for (int i = 0; i < 3; i++) {
            snprintf(text, sizeof text, "%s@%d", kinds[i], device);
            ck_assert_int_eq(fault_layer_count(text), before[device][i] + device);
        }
    ck_assert_int_eq(fault_layer_count("live"), 3);
    ck_assert_int_eq(fault_layer_count("live@0"), 0);
    clRetainMemObject(buffer);
    ck_assert_int_eq(fault_layer_count("buffer"), 2);
    clReleaseMemObject(buffer);
    cl_buffer_region region = {0, 512};
    cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    ck_assert_int_eq(fault_layer_count("buffer@1"), 2);
    clReleaseMemObject(part);
    long flushes = fault_layer_count("clFlush");
    clFlush(queue);
    ck_assert_int_eq(fault_layer_count("clFlush"), flushes + 1);
    close_device();
}
END_TEST

START_TEST(delays)
{
    struct timespec start, end;
    open_device(0);
    set("clFlush -> delay 50 ms; clFlush -> -5");
    clock_gettime(CLOCK_MONOTONIC, &start);
    ck_assert_int_eq(clFlush(queue), -5);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ck_assert((double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec) >
              0.045);
    close_device();
}
END_TEST

Suite *suite_layer(void)
{
    Suite *suite = suite_create("layer");
    TCase *layer = tcase_create("layer");
    tcase_add_test(layer, codes_by_count);
    tcase_add_test(layer, codes_by_place);
    tcase_add_test(layer, malformed_rules);
    tcase_add_test(layer, flip_moves);
    tcase_add_test(layer, shadow_maps);
    tcase_add_test(layer, poisoned_buffers);
    tcase_add_test(layer, events_that_never_end);
    tcase_add_test(layer, builds_that_fail);
    tcase_add_test(layer, counts);
    tcase_add_test(layer, delays);
    tcase_set_timeout(layer, 60);
    suite_add_tcase(suite, layer);
    return suite;
}
