/* describe.c - what a device says about itself.
 *
 * Everything the library needs to know is asked here, once, through a table of fields.  A device
 * that does not answer one of them is listed with the reason and not used: half a description would
 * only move the failure to a place where nobody expects it.  What a driver may lack (partition,
 * extensions) counts as absent instead.
 *
 * Called by query.c on its helper threads; a driver may hang in any of these calls. */
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "device/query.h"

#ifndef CL_DEVICE_UUID_KHR
#define CL_DEVICE_UUID_KHR 0x106A
#endif
#ifndef CL_DEVICE_PCI_BUS_INFO_KHR
#define CL_DEVICE_PCI_BUS_INFO_KHR 0x410F
#endif

typedef cl_int (*info_call)(void *object, cl_uint param, size_t bytes, void *value, size_t *needed);

static cl_int device_info(void *object, cl_uint param, size_t bytes, void *value, size_t *needed)
{
    return clGetDeviceInfo(object, param, bytes, value, needed);
}

static cl_int platform_info(void *object, cl_uint param, size_t bytes, void *value, size_t *needed)
{
    return clGetPlatformInfo(object, param, bytes, value, needed);
}

/* The whole text in *out (cmi_free it), without blanks at its ends (some drivers pad names). */
static cl_int whole_text(info_call call, void *object, cl_uint param, char **out)
{
    size_t bytes = 0, needed = 0;
    char *text = NULL;
    *out = NULL;
    cl_int code = call(object, param, 0, NULL, &bytes);
    if (code != CL_SUCCESS) return code;
    if (bytes > 1 << 20 || cmi_alloc(bytes + 1, 1, (void **)&text)) return CL_OUT_OF_HOST_MEMORY;
    code = bytes ? call(object, param, bytes, text, &needed) : CL_SUCCESS;
    if (code != CL_SUCCESS) {
        cmi_free(text);
        return code;
    }
    size_t begin = strspn(text, " \t\n"), length = strlen(text + begin);
    while (length && strchr(" \t\n", text[begin + length - 1]))
        length--;
    memmove(text, text + begin, length);
    text[length] = '\0';
    *out = text;
    return CL_SUCCESS;
}

static cl_int short_text(info_call call, void *object, cl_uint param,
                         char text[CM_DEVICE_TEXT_BYTES])
{
    char *whole = NULL;
    cl_int code = whole_text(call, object, param, &whole);
    snprintf(text, CM_DEVICE_TEXT_BYTES, "%s", whole ? whole : "");
    cmi_free(whole);
    return code;
}

cl_int cmi_platform_text(cl_platform_id id, cl_platform_info param, char text[CM_DEVICE_TEXT_BYTES])
{
    return short_text(platform_info, id, param, text);
}

enum field_kind { TEXT, U32, U64, SIZE, FLAG };

typedef struct field {
    cl_device_info param;
    const char *name;
    enum field_kind kind;
    size_t offset;
} field;

#define FIELD(param, kind, member)                                                                 \
    {                                                                                              \
        param, #param, kind, offsetof(cm_device_info, member)                                      \
    }

/* What every device must answer; one that does not is not usable.  The name comes first, for the
 * messages. */
static const field fields[] = {
    FIELD(CL_DEVICE_NAME, TEXT, name),
    FIELD(CL_DEVICE_TYPE, U64, type_bits),
    FIELD(CL_DEVICE_VENDOR, TEXT, vendor),
    FIELD(CL_DEVICE_VERSION, TEXT, version),
    FIELD(CL_DRIVER_VERSION, TEXT, driver),
    FIELD(CL_DEVICE_MAX_COMPUTE_UNITS, U32, compute_units),
    FIELD(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, U32, vector_width),
    FIELD(CL_DEVICE_GLOBAL_MEM_SIZE, U64, global_bytes),
    FIELD(CL_DEVICE_MAX_MEM_ALLOC_SIZE, U64, max_alloc_bytes),
    FIELD(CL_DEVICE_LOCAL_MEM_SIZE, U64, local_bytes),
    FIELD(CL_DEVICE_MAX_WORK_GROUP_SIZE, SIZE, max_group),
    FIELD(CL_DEVICE_HOST_UNIFIED_MEMORY, FLAG, host_memory),
};

static cl_int read_field(cl_device_id id, const field *wanted, cm_device_info *info)
{
    char *place = (char *)info + wanted->offset;
    size_t size = 0;
    cl_bool flag = CL_FALSE;
    cl_int code = CL_INVALID_VALUE;
    switch (wanted->kind) {
    case TEXT:
        return short_text(device_info, id, wanted->param, place);
    case U32:
        return clGetDeviceInfo(id, wanted->param, sizeof(uint32_t), place, NULL);
    case U64:
        return clGetDeviceInfo(id, wanted->param, sizeof(uint64_t), place, NULL);
    case SIZE:
        code = clGetDeviceInfo(id, wanted->param, sizeof size, &size, NULL);
        *(uint64_t *)(void *)place = size;
        return code;
    case FLAG:
        code = clGetDeviceInfo(id, wanted->param, sizeof flag, &flag, NULL);
        *(bool *)place = flag != CL_FALSE;
        return code;
    }
    return code;
}

static cm_device_kind kind_of(uint64_t bits)
{
    if (bits & CL_DEVICE_TYPE_CPU) return CM_DEVICE_CPU;
    if (bits & CL_DEVICE_TYPE_GPU) return CM_DEVICE_GPU;
    return bits & CL_DEVICE_TYPE_ACCELERATOR ? CM_DEVICE_ACCELERATOR : CM_DEVICE_OTHER;
}

/* Into how many sub-devices of chosen sizes the device can be cut; what it does not answer counts
 * as "none". */
static uint32_t parts_of(cl_device_id id, uint32_t units)
{
    cl_device_partition_property offered[16] = {0};
    size_t bytes = 0;
    cl_uint most = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_PARTITION_PROPERTIES, sizeof offered, offered, &bytes) ||
        clGetDeviceInfo(id, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL))
        return 0;
    for (size_t i = 0; i < bytes / sizeof offered[0] && i < 16; i++)
        if (offered[i] == CL_DEVICE_PARTITION_BY_COUNTS)
            return most < 2 ? 0 : most < units ? most : units;
    return 0;
}

/* What depends on extensions: double precision, and the two that tell hardware apart. */
static cl_int read_extensions(cmi_found *found)
{
    char *text = NULL;
    cl_int code = whole_text(device_info, found->id, CL_DEVICE_EXTENSIONS, &text);
    if (code != CL_SUCCESS) return code;
    found->info.fp64 = strstr(text, "cl_khr_fp64") != NULL;
    if (strstr(text, "cl_khr_pci_bus_info"))
        found->has_pci = clGetDeviceInfo(found->id, CL_DEVICE_PCI_BUS_INFO_KHR, sizeof found->pci,
                                         found->pci, NULL) == CL_SUCCESS;
    if (strstr(text, "cl_khr_device_uuid"))
        found->has_uuid = clGetDeviceInfo(found->id, CL_DEVICE_UUID_KHR, sizeof found->uuid,
                                          found->uuid, NULL) == CL_SUCCESS;
    cmi_free(text);
    return CL_SUCCESS;
}

static bool refuse(cm_device_info *info, const char *what, cl_int code)
{
    snprintf(info->reason, sizeof info->reason, "%s: %s (%d)", what, cmi_cl_name(code), code);
    return false;
}

bool cmi_describe_device(cmi_found *found)
{
    cm_device_info *info = &found->info;
    cl_bool available = CL_FALSE, compiler = CL_FALSE;
    cl_uint align_bits = 0;
    cl_int code;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if ((code = read_field(found->id, &fields[i], info)) != CL_SUCCESS)
            return refuse(info, fields[i].name, code);
    info->kind = kind_of(info->type_bits);
    code = clGetDeviceInfo(found->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits,
                           NULL);
    if (code != CL_SUCCESS) return refuse(info, "CL_DEVICE_MEM_BASE_ADDR_ALIGN", code);
    info->align_bytes = align_bits < 8 ? 128 : align_bits / 8;
    if ((code = read_extensions(found)) != CL_SUCCESS)
        return refuse(info, "CL_DEVICE_EXTENSIONS", code);
    info->parts = parts_of(found->id, info->compute_units);
    code = clGetDeviceInfo(found->id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    if (code != CL_SUCCESS || !available)
        return refuse(info, "the driver says that the device is not available", code ? code : -2);
    code =
        clGetDeviceInfo(found->id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    if (code != CL_SUCCESS || !compiler)
        return refuse(info, "the driver has no compiler for this device", code ? code : -3);
    if (info->compute_units == 0)
        return refuse(info, "CL_DEVICE_MAX_COMPUTE_UNITS is 0", CL_INVALID_VALUE);
    return true;
}
