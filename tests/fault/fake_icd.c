/* fake_icd.c - an OpenCL driver that has devices but cannot compute: a second vendor for tests of
 * the device list.
 *
 * It offers one platform, "Fake platform", with CLMIRROR_FAKE_DEVICES devices (default 1, 0
 * allowed) called "fake 0", "fake 1", ...: GPUs with 4 units, 1 GiB of memory, cl_khr_fp64,
 * cl_khr_pci_bus_info and cl_khr_device_uuid.  Anything else is said by rules of the fault layer
 * (`say`), which stands in front of it.  The loader finds it through an `.icd` file that holds the
 * path of fault_layer.so (which is layer and driver at once), in the folder that OCL_ICD_VENDORS
 * names.
 *
 * With CLMIRROR_FAKE_CRASH=1 it crashes when it is asked for its devices, as a broken driver does
 * (that happens inside the loader's start-up, before any layer), and with CLMIRROR_FAKE_HANG=1 it
 * hangs there. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_DEVICES = 64 };

/* The loader reads the table through the first member of every object. */
struct _cl_platform_id {
    const cl_icd_dispatch *dispatch;
};
struct _cl_device_id {
    const cl_icd_dispatch *dispatch;
    int number;
};

static cl_icd_dispatch table;
static struct _cl_platform_id platform;
static struct _cl_device_id devices[MAX_DEVICES];

static cl_int answer(const void *from, size_t size, size_t bytes, void *value, size_t *needed)
{
    if (value && bytes < size) return CL_INVALID_VALUE;
    if (value) memcpy(value, from, size);
    if (needed) *needed = size;
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t bytes, void *value, size_t *needed)
{
    return answer(text, strlen(text) + 1, bytes, value, needed);
}

static cl_int CL_API_CALL platform_info(cl_platform_id id, cl_platform_info param, size_t bytes,
                                        void *value, size_t *needed)
{
    (void)id;
    switch (param) {
    case CL_PLATFORM_NAME:
        return answer_text("Fake platform", bytes, value, needed);
    case CL_PLATFORM_VENDOR:
        return answer_text("clmirror tests", bytes, value, needed);
    case CL_PLATFORM_VERSION:
        return answer_text("OpenCL 1.2 fake", bytes, value, needed);
    case CL_PLATFORM_PROFILE:
        return answer_text("FULL_PROFILE", bytes, value, needed);
    case CL_PLATFORM_EXTENSIONS:
        return answer_text("cl_khr_icd", bytes, value, needed);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return answer_text("FAKE", bytes, value, needed);
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL device_ids(cl_platform_id id, cl_device_type type, cl_uint room,
                                     cl_device_id *ids, cl_uint *count)
{
    const char *wanted = getenv("CLMIRROR_FAKE_DEVICES");
    long have = wanted ? strtol(wanted, NULL, 10) : 1;
    (void)id;
    if (getenv("CLMIRROR_FAKE_CRASH")) abort();
    while (getenv("CLMIRROR_FAKE_HANG"))
        pause();
    if (have < 1 || have > MAX_DEVICES ||
        (type != CL_DEVICE_TYPE_ALL && !(type & CL_DEVICE_TYPE_GPU)))
        return CL_DEVICE_NOT_FOUND; /* and the count stays as it was, like real drivers */
    for (long i = 0; ids && i < have && i < (long)room; i++)
        ids[i] = &devices[i];
    if (count) *count = (cl_uint)have;
    return CL_SUCCESS;
}

static cl_int device_number(cl_ulong number, size_t size, size_t bytes, void *value, size_t *needed)
{
    cl_uint small = (cl_uint)number;
    return size == sizeof small ? answer(&small, size, bytes, value, needed)
                                : answer(&number, size, bytes, value, needed);
}

static cl_int CL_API_CALL device_info(cl_device_id id, cl_device_info param, size_t bytes,
                                      void *value, size_t *needed)
{
    char name[32];
    cl_uint pci[4] = {0, 0x41, (cl_uint)id->number, 0};
    unsigned char uuid[16] = {0xFA, 0xCE, 0, (unsigned char)id->number};
    cl_platform_id parent = &platform;
    switch (param) {
    case CL_DEVICE_NAME:
        snprintf(name, sizeof name, "  fake %d ", id->number); /* padded, as some drivers do */
        return answer_text(name, bytes, value, needed);
    case CL_DEVICE_VENDOR:
    case CL_DRIVER_VERSION:
        return answer_text("fake 1.0", bytes, value, needed);
    case CL_DEVICE_VERSION:
        return answer_text("OpenCL 1.2 fake", bytes, value, needed);
    case CL_DEVICE_EXTENSIONS:
        return answer_text("cl_khr_fp64 cl_khr_pci_bus_info cl_khr_device_uuid", bytes, value,
                           needed);
    case CL_DEVICE_PLATFORM:
        return answer(&parent, sizeof parent, bytes, value, needed);
    case CL_DEVICE_PCI_BUS_INFO_KHR:
        return answer(pci, sizeof pci, bytes, value, needed);
    case CL_DEVICE_UUID_KHR:
        return answer(uuid, sizeof uuid, bytes, value, needed);
    case CL_DEVICE_TYPE:
        return device_number(CL_DEVICE_TYPE_GPU, 8, bytes, value, needed);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return device_number(1u << 30, 8, bytes, value, needed);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return device_number(1u << 28, 8, bytes, value, needed);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return device_number(1u << 15, 8, bytes, value, needed);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return device_number(256, sizeof(size_t), bytes, value, needed);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return device_number(4, 4, bytes, value, needed);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return device_number(1024, 4, bytes, value, needed);
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
        return device_number(CL_TRUE, 4, bytes, value, needed);
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
        return device_number(0, 4, bytes, value, needed);
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL platform_ids(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
    table.clGetPlatformInfo = platform_info;
    table.clGetDeviceIDs = device_ids;
    table.clGetDeviceInfo = device_info;
    platform.dispatch = &table;
    for (int i = 0; i < MAX_DEVICES; i++) {
        devices[i].dispatch = &table;
        devices[i].number = i;
    }
    if (ids && room) ids[0] = &platform;
    if (count) *count = 1;
    return CL_SUCCESS;
}

EXPORT void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    /* A function pointer as an object pointer: the interface wants it, POSIX allows it. */
    void *address = NULL;
    cl_int(CL_API_CALL * get_ids)(cl_uint, cl_platform_id *, cl_uint *) = platform_ids;
    cl_int(CL_API_CALL * get_info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *) =
        platform_info;
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        memcpy(&address, &get_ids, sizeof address);
    else if (strcmp(name, "clGetPlatformInfo") == 0)
        memcpy(&address, &get_info, sizeof address);
    return address;
}
