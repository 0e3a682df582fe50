/* say.c - turns the text of a rule's `say X` into the answer of an info query, in the type the
 * query has.
 *
 * One table names the parameters that rules can use, with the type of each.  Called by layer.c. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fault/say.h"

enum type { TEXT, UINT, ULONG, SIZE, TYPE_BITS, PCI, UUID };

static const struct param {
    const char *call;
    cl_uint param;
    const char *name;
    enum type type;
} params[] = {
#define DEVICE(name, type)   {"clGetDeviceInfo", CL_DEVICE_##name, "CL_DEVICE_" #name, type},
#define PLATFORM(name, type) {"clGetPlatformInfo", CL_PLATFORM_##name, "CL_PLATFORM_" #name, type},
#define KERNEL(name, type)   {"clGetKernelWorkGroupInfo", CL_KERNEL_##name, "CL_KERNEL_" #name, type},
#ifndef CL_DEVICE_UUID_KHR
#define CL_DEVICE_UUID_KHR 0x106A
#endif
#ifndef CL_DEVICE_PCI_BUS_INFO_KHR
#define CL_DEVICE_PCI_BUS_INFO_KHR 0x410F
#endif
    DEVICE(NAME, TEXT) DEVICE(TYPE, TYPE_BITS) DEVICE(VENDOR, TEXT) DEVICE(VERSION, TEXT) DEVICE(
        EXTENSIONS, TEXT) DEVICE(MAX_COMPUTE_UNITS, UINT) DEVICE(NATIVE_VECTOR_WIDTH_FLOAT, UINT)
        DEVICE(GLOBAL_MEM_SIZE, ULONG) DEVICE(MAX_MEM_ALLOC_SIZE, ULONG)
            DEVICE(LOCAL_MEM_SIZE, ULONG) DEVICE(MAX_WORK_GROUP_SIZE, SIZE)
                DEVICE(MEM_BASE_ADDR_ALIGN, UINT) DEVICE(HOST_UNIFIED_MEMORY, UINT)
                    DEVICE(AVAILABLE, UINT) DEVICE(COMPILER_AVAILABLE, UINT)
                        DEVICE(SINGLE_FP_CONFIG, ULONG) DEVICE(DOUBLE_FP_CONFIG, ULONG)
                            DEVICE(PARTITION_MAX_SUB_DEVICES, UINT) DEVICE(PCI_BUS_INFO_KHR, PCI)
                                DEVICE(UUID_KHR, UUID) PLATFORM(NAME, TEXT) PLATFORM(VENDOR, TEXT)
                                    PLATFORM(VERSION, TEXT) KERNEL(WORK_GROUP_SIZE, SIZE)
                                        KERNEL(PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                                               SIZE){"clGetDeviceInfo", CL_DRIVER_VERSION,
                                                     "CL_DRIVER_VERSION", TEXT},
};

static const struct param *look_up(const char *call, cl_uint param)
{
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++)
        if (params[i].param == param && strcmp(params[i].call, call) == 0) return &params[i];
    return NULL;
}

const char *say_name(const char *call, cl_uint param)
{
    const struct param *known = look_up(call, param);
    return known ? known->name : NULL;
}

static cl_int answer(const void *from, size_t size, size_t bytes, void *value, size_t *needed)
{
    if (value && bytes < size) return CL_INVALID_VALUE;
    if (value) memcpy(value, from, size);
    if (needed) *needed = size;
    return CL_SUCCESS;
}

static cl_ulong type_bits(const char *text)
{
    cl_ulong bits = 0;
    if (strstr(text, "GPU")) bits |= CL_DEVICE_TYPE_GPU;
    if (strstr(text, "CPU")) bits |= CL_DEVICE_TYPE_CPU;
    if (strstr(text, "ACCELERATOR")) bits |= CL_DEVICE_TYPE_ACCELERATOR;
    if (strstr(text, "CUSTOM")) bits |= CL_DEVICE_TYPE_CUSTOM;
    return bits;
}

cl_int say_answer(const char *call, cl_uint param, const char *text, size_t bytes, void *value,
                  size_t *needed)
{
    const struct param *known = look_up(call, param);
    cl_ulong number = strtoull(text, NULL, 0), bits = type_bits(text);
    cl_uint small = (cl_uint)number, pci[4] = {0};
    size_t size = (size_t)number;
    unsigned char uuid[16] = {0};
    switch (known ? known->type : TEXT) {
    case TEXT:
        return answer(text, strlen(text) + 1, bytes, value, needed);
    case UINT:
        return answer(&small, sizeof small, bytes, value, needed);
    case ULONG:
        return answer(&number, sizeof number, bytes, value, needed);
    case SIZE:
        return answer(&size, sizeof size, bytes, value, needed);
    case TYPE_BITS:
        return answer(&bits, sizeof bits, bytes, value, needed);
    case PCI:
        if (sscanf(text, "%u:%u:%u.%u", &pci[0], &pci[1], &pci[2], &pci[3]) != 4)
            return CL_INVALID_VALUE;
        return answer(pci, sizeof pci, bytes, value, needed);
    case UUID:
        for (int i = 0; i < 16; i++) {
            unsigned int byte = 0;
            if (sscanf(text + 2 * i, "%2x", &byte) != 1) return CL_INVALID_VALUE;
            uuid[i] = (unsigned char)byte;
        }
        return answer(uuid, sizeof uuid, bytes, value, needed);
    }
    return CL_INVALID_VALUE;
}
