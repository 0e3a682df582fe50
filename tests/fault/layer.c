/* layer.c - the calls that the fault layer stands in front of.
 *
 * The loader hands us the next table (`next`); we hand it ours, in which a NULL entry falls through
 * to the driver. Every wrapper does the same three things: ask the rules (rules.c) what shall
 * happen to this call, let it happen or forward, and note the objects that came into being.  Which
 * device a call belongs to comes from the table of objects, so that no query of ours disturbs the
 * driver.
 *
 * Called by the loader on whatever thread calls OpenCL.  Compiled apart from the library, as
 * fault_layer.so. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <CL/cl_layer.h>
#include "fault/calls.h"
#include "fault/layer.h"
#include "fault/say.h"

#define EXPORT __attribute__((visibility("default")))

enum { MAX_DEVICES = 64, MAX_PLATFORMS = 32 };

static cl_icd_dispatch table;
const cl_icd_dispatch *layer_next;
static int active;

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static cl_device_id devices[MAX_DEVICES];
static int device_count;

/* ---- whose call is it
 * ------------------------------------------------------------------------------------- */

static int device_index(cl_device_id id, bool add)
{
    cl_device_id parent = NULL;
    while (!add &&
           layer_next->clGetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) ==
               CL_SUCCESS &&
           parent) {
        id = parent;
        parent = NULL;
    }
    pthread_mutex_lock(&device_lock);
    int i = 0;
    while (i < device_count && devices[i] != id)
        i++;
    if (i == device_count && add && device_count < MAX_DEVICES) devices[device_count++] = id;
    int result = i < device_count ? i : -1;
    pthread_mutex_unlock(&device_lock);
    return result;
}

static int platform_index(cl_platform_id id)
{
    cl_platform_id all[MAX_PLATFORMS] = {NULL};
    cl_uint count = 0;
    layer_next->clGetPlatformIDs(MAX_PLATFORMS, all, &count);
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++)
        if (all[i] == id) return (int)i;
    return -1;
}

int layer_device(const void *handle)
{
    fault_object object;
    return fault_find(handle, &object) ? object.device : -1;
}

fault layer_check(const char *call, const void *handle)
{
    return fault_check(call, NULL, layer_device(handle), -1, false);
}

bool layer_refused(fault rule, cl_int *code)
{
    if (rule.kind != FAULT_CODE) return false;
    if (code) *code = rule.code;
    return true;
}

/* ---- platforms and devices
 * -------------------------------------------------------------------------------- */

static cl_int CL_API_CALL get_platform_ids(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
    fault rule = fault_check("clGetPlatformIDs", NULL, -1, -1, false);
    cl_platform_id all[MAX_PLATFORMS] = {NULL};
    cl_uint found = 0;
    if (rule.kind == FAULT_CODE) return rule.code;
    if (rule.kind != FAULT_SAY) return layer_next->clGetPlatformIDs(room, ids, count);
    if (strcmp(rule.text, "twice") == 0) {
        cl_int code = layer_next->clGetPlatformIDs(MAX_PLATFORMS / 2, all, &found);
        if (code != CL_SUCCESS) return code;
        memcpy(all + found, all, found * sizeof all[0]);
        found *= 2;
    }
    for (cl_uint i = 0; ids && i < room && i < found; i++)
        ids[i] = all[i];
    if (count) *count = found;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_ids(cl_platform_id platform, cl_device_type type, cl_uint room,
                                         cl_device_id *ids, cl_uint *count)
{
    fault rule = fault_check("clGetDeviceIDs", NULL, platform_index(platform), -1, false);
    cl_device_id all[MAX_DEVICES] = {NULL};
    cl_uint found = 0;
    if (rule.kind == FAULT_CODE) return rule.code;
    if (rule.kind == FAULT_SAY && strcmp(rule.text, "twice")) {
        if (count) *count = 0;
        return CL_SUCCESS;
    }
    cl_int code = layer_next->clGetDeviceIDs(platform, type, MAX_DEVICES / 2, all, &found);
    for (cl_uint i = 0; code == CL_SUCCESS && i < found && i < MAX_DEVICES / 2; i++)
        device_index(all[i], true);
    if (rule.kind != FAULT_SAY || code != CL_SUCCESS)
        return layer_next->clGetDeviceIDs(platform, type, room, ids, count);
    memcpy(all + found, all, found * sizeof all[0]);
    for (cl_uint i = 0; ids && i < room && i < 2 * found; i++)
        ids[i] = all[i];
    if (count) *count = 2 * found;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info param, size_t bytes,
                                          void *value, size_t *needed)
{
    fault rule = fault_check("clGetDeviceInfo", say_name("clGetDeviceInfo", param),
                             device_index(device, false), -1, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    if (rule.kind == FAULT_SAY)
        return say_answer("clGetDeviceInfo", param, rule.text, bytes, value, needed);
    return layer_next->clGetDeviceInfo(device, param, bytes, value, needed);
}

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info param,
                                            size_t bytes, void *value, size_t *needed)
{
    fault rule = fault_check("clGetPlatformInfo", say_name("clGetPlatformInfo", param),
                             platform_index(platform), -1, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    if (rule.kind == FAULT_SAY)
        return say_answer("clGetPlatformInfo", param, rule.text, bytes, value, needed);
    return layer_next->clGetPlatformInfo(platform, param, bytes, value, needed);
}

/* ---- contexts, queues, programs, kernels
 * ------------------------------------------------------------------ */

typedef void(CL_CALLBACK *context_notify)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *build_notify)(cl_program, void *);

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint count,
                                             const cl_device_id *ids, context_notify notify,
                                             void *user, cl_int *code)
{
    int device = count && ids ? device_index(ids[0], false) : -1;
    if (layer_refused(fault_check("clCreateContext", NULL, device, -1, false), code)) return NULL;
    cl_context context = layer_next->clCreateContext(properties, count, ids, notify, user, code);
    if (context) fault_made("context", context, device, -1);
    return context;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code)
{
    int index = device_index(device, false);
    if (layer_refused(fault_check("clCreateCommandQueue", NULL, index, -1, false), code))
        return NULL;
    cl_command_queue queue = layer_next->clCreateCommandQueue(context, device, properties, code);
    if (queue) fault_made("queue", queue, index, -1);
    return queue;
}

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char **texts,
                                             const size_t *lengths, cl_int *code)
{
    if (layer_refused(layer_check("clCreateProgramWithSource", context), code)) return NULL;
    cl_program program =
        layer_next->clCreateProgramWithSource(context, count, texts, lengths, code);
    if (program) fault_made("program", program, layer_device(context), -1);
    return program;
}

static cl_program CL_API_CALL create_program_binary(cl_context context, cl_uint count,
                                                    const cl_device_id *ids, const size_t *lengths,
                                                    const unsigned char **binaries, cl_int *status,
                                                    cl_int *code)
{
    if (layer_refused(layer_check("clCreateProgramWithBinary", context), code)) return NULL;
    cl_program program =
        layer_next->clCreateProgramWithBinary(context, count, ids, lengths, binaries, status, code);
    if (program) fault_made("program", program, layer_device(context), -1);
    return program;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id *ids,
                                        const char *options, build_notify notify, void *user)
{
    fault rule = layer_check("clBuildProgram", program);
    fault_mark(program, rule.kind == FAULT_CODE && rule.code == CL_BUILD_PROGRAM_FAILURE);
    if (rule.kind == FAULT_CODE) return rule.code;
    return layer_next->clBuildProgram(program, count, ids, options, notify, user);
}

static cl_int CL_API_CALL get_build_info(cl_program program, cl_device_id device,
                                         cl_program_build_info param, size_t bytes, void *value,
                                         size_t *needed)
{
    fault_object object;
    if (param == CL_PROGRAM_BUILD_LOG && fault_find(program, &object) && object.marked)
        return say_answer("clGetProgramBuildInfo", param, "layer says no", bytes, value, needed);
    return layer_next->clGetProgramBuildInfo(program, device, param, bytes, value, needed);
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code)
{
    if (layer_refused(layer_check("clCreateKernel", program), code)) return NULL;
    cl_kernel kernel = layer_next->clCreateKernel(program, name, code);
    if (kernel) fault_made("kernel", kernel, layer_device(program), -1);
    return kernel;
}

static cl_int CL_API_CALL set_kernel_arg(cl_kernel kernel, cl_uint index, size_t bytes,
                                         const void *value)
{
    fault rule = layer_check("clSetKernelArg", kernel);
    return rule.kind == FAULT_CODE ? rule.code
                                   : layer_next->clSetKernelArg(kernel, index, bytes, value);
}

static cl_int CL_API_CALL get_group_info(cl_kernel kernel, cl_device_id device,
                                         cl_kernel_work_group_info param, size_t bytes, void *value,
                                         size_t *needed)
{
    const char *call = "clGetKernelWorkGroupInfo";
    fault rule = fault_check(call, say_name(call, param), layer_device(kernel), -1, false);
    if (rule.kind == FAULT_CODE) return rule.code;
    if (rule.kind == FAULT_SAY) return say_answer(call, param, rule.text, bytes, value, needed);
    return layer_next->clGetKernelWorkGroupInfo(kernel, device, param, bytes, value, needed);
}

/* ---- retain and release
 * ----------------------------------------------------------------------------------- */

/* The table is changed before the driver frees the object, since another thread may get the same
 * address next. */
#define COUNTED(function, entry, type, change)                                                     \
    static cl_int CL_API_CALL function(type object)                                                \
    {                                                                                              \
        fault rule = layer_check(#entry, object);                                                  \
        if (rule.kind == FAULT_CODE) return rule.code;                                             \
        change(object);                                                                            \
        return layer_next->entry(object);                                                          \
    }
COUNTED(retain_context, clRetainContext, cl_context, fault_retained)
COUNTED(release_context, clReleaseContext, cl_context, fault_released)
COUNTED(retain_queue, clRetainCommandQueue, cl_command_queue, fault_retained)
COUNTED(release_queue, clReleaseCommandQueue, cl_command_queue, fault_released)
COUNTED(retain_buffer, clRetainMemObject, cl_mem, fault_retained)
COUNTED(release_buffer, clReleaseMemObject, cl_mem, fault_released)
COUNTED(retain_program, clRetainProgram, cl_program, fault_retained)
COUNTED(release_program, clReleaseProgram, cl_program, fault_released)
COUNTED(retain_kernel, clRetainKernel, cl_kernel, fault_retained)
COUNTED(release_kernel, clReleaseKernel, cl_kernel, fault_released)
COUNTED(retain_event, clRetainEvent, cl_event, fault_retained)
COUNTED(release_event, clReleaseEvent, cl_event, fault_released)
#undef COUNTED

/* ---- the loader's two questions, and the tests'
 * ----------------------------------------------------------- */

static void fill_table(void)
{
    layer_fill_enqueue(&table);
    table.clGetPlatformIDs = get_platform_ids;
    table.clGetDeviceIDs = get_device_ids;
    table.clGetDeviceInfo = get_device_info;
    table.clGetPlatformInfo = get_platform_info;
    table.clCreateContext = create_context;
    table.clCreateCommandQueue = create_queue;
    table.clCreateProgramWithSource = create_program;
    table.clCreateProgramWithBinary = create_program_binary;
    table.clBuildProgram = build_program;
    table.clGetProgramBuildInfo = get_build_info;
    table.clCreateKernel = create_kernel;
    table.clSetKernelArg = set_kernel_arg;
    table.clGetKernelWorkGroupInfo = get_group_info;
    table.clRetainContext = retain_context;
    table.clReleaseContext = release_context;
    table.clRetainCommandQueue = retain_queue;
    table.clReleaseCommandQueue = release_queue;
    table.clRetainMemObject = retain_buffer;
    table.clReleaseMemObject = release_buffer;
    table.clRetainProgram = retain_program;
    table.clReleaseProgram = release_program;
    table.clRetainKernel = retain_kernel;
    table.clReleaseKernel = release_kernel;
    table.clRetainEvent = retain_event;
    table.clReleaseEvent = release_event;
}

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info param, size_t bytes, void *value,
                                         size_t *needed)
{
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    static const char name[] = "clmirror fault layer";
    const void *from = param == CL_LAYER_API_VERSION ? (const void *)&version : (const void *)name;
    size_t size = param == CL_LAYER_API_VERSION ? sizeof version : sizeof name;
    if ((param != CL_LAYER_API_VERSION && param != CL_LAYER_NAME) || (value && bytes < size))
        return CL_INVALID_VALUE;
    if (value) memcpy(value, from, size);
    if (needed) *needed = size;
    return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target,
                                      cl_uint *own_count, const cl_icd_dispatch **own)
{
    if (target == NULL || own == NULL || own_count == NULL || count < sizeof table / sizeof(void *))
        return CL_INVALID_VALUE;
    if (fault_set(getenv("CLMIRROR_FAULT")) != 0)
        return CL_INVALID_VALUE; /* the layer stays out, and the test's first assertion says so */
    layer_next = target;
    fill_table();
    *own = &table;
    *own_count = (cl_uint)(sizeof table / sizeof(void *));
    active = 1;
    return CL_SUCCESS;
}

EXPORT int fault_layer_set(const char *rules)
{
    return fault_set(rules);
}

EXPORT int fault_layer_active(void)
{
    return active;
}

EXPORT long fault_layer_count(const char *what)
{
    return fault_count(what);
}
