/* device.c - opens a device of the list, or a part of it, in a context of its own.
 *
 * One context per device: kernels of one shared context were seen to run one after another on some
 * drivers, and devices of different platforms cannot share one.  A part is a sub-device where the
 * driver can cut the device, else a second context on the whole device (a logical replica).
 *
 * Called by the thread that creates a strategy. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/knob.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/internal.h"

static _Atomic uint64_t objects_made, objects_released;

void cmi_count_object(int change)
{
    atomic_fetch_add(change > 0 ? &objects_made : &objects_released, 1);
}

uint64_t cmi_device_objects_live(void)
{
    return atomic_load(&objects_made) - atomic_load(&objects_released);
}

uint64_t cmi_device_objects_total(void)
{
    return atomic_load(&objects_made);
}

const cmi_device_facts *cmi_device_get_facts(const cmi_device *device)
{
    return &device->facts;
}

void cmi_device_set_build_hook(cmi_device *device, void (*hook)(void *user, bool building),
                               void *user)
{
    device->build_hook = hook;
    device->build_user = user;
}

void cmi_device_building(cmi_device *device, bool building)
{
    if (device->build_hook) device->build_hook(device->build_user, building);
}

/* Drivers report asynchronous trouble of a context here, on threads of their own. */
static void CL_CALLBACK on_context_error(const char *text, const void *data, size_t bytes,
                                         void *user)
{
    (void)data;
    (void)bytes;
    (void)user;
    cmi_log(CM_LOG_WARNING, "device", "the driver reports: %s", text);
}

/* Cuts the device into the parts of the choice and keeps the one that was asked for. */
static cm_status cut(cmi_device *device, cl_device_id whole, const cm_device_choice *choice)
{
    cl_device_partition_property cuts[CM_MAX_DEVICES + 3];
    cl_device_id parts[CM_MAX_DEVICES];
    cl_uint made = 0;
    int n = 0;

    cuts[n++] = CL_DEVICE_PARTITION_BY_COUNTS;
    uint32_t units = device->facts.info.compute_units, each = units / (uint32_t)choice->parts;
    for (int i = 0; i < choice->parts; i++)
        cuts[n++] =
            (cl_device_partition_property)(each + ((uint32_t)i < units % (uint32_t)choice->parts));
    cuts[n++] = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
    cuts[n] = 0;
    CL_TRY("clCreateSubDevices",
           clCreateSubDevices(whole, cuts, (cl_uint)choice->parts, parts, &made));
    for (cl_uint i = 0; i < made; i++)
        if ((int)i != choice->part) clReleaseDevice(parts[i]);
    if ((cl_uint)choice->part >= made)
        return cmi_error(CM_E_OPENCL, "clCreateSubDevices made %u of %d parts", (unsigned)made,
                         choice->parts);
    device->id = parts[choice->part];
    device->subdevice = true;
    cmi_count_object(1);
    return CM_OK;
}

static uint32_t vector_of(const cm_device_info *info, cmi_kernel_shape shape)
{
    if (shape == CMI_SHAPE_GPU) return 1;
    if (info->vector_width >= 16) return 16;
    return info->vector_width >= 8 ? 8 : 4;
}

static void gather_facts(cmi_device *device, const cm_device_choice *choice)
{
    cmi_device_facts *facts = &device->facts;
    const char *shape = cmi_knob_text(CMI_KNOB_KERNEL_SHAPE);
    cl_device_fp_config config = 0;

    facts->units = choice->units ? choice->units : facts->info.compute_units;
    facts->shape = facts->info.kind == CM_DEVICE_CPU ? CMI_SHAPE_CPU : CMI_SHAPE_GPU;
    if (!strncmp(shape, "cpu", 3)) facts->shape = CMI_SHAPE_CPU;
    if (!strcmp(shape, "gpu")) facts->shape = CMI_SHAPE_GPU;
    facts->vector = vector_of(&facts->info, facts->shape);
    /* Every width is right on every machine, if not fast: tests run all of them. */
    if (!strcmp(shape, "cpu4")) facts->vector = 4;
    if (!strcmp(shape, "cpu8")) facts->vector = 8;
    if (!strcmp(shape, "cpu16")) facts->vector = 16;
    if (clGetDeviceInfo(device->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL) ==
        CL_SUCCESS)
        facts->correctly_rounded = (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    facts->serial = !strncmp(facts->info.name, "basic", 5);
    if (choice->parts > 1)
        snprintf(facts->name, sizeof facts->name, "%s, part %d of %d", facts->info.name,
                 choice->part + 1, choice->parts);
    else
        snprintf(facts->name, sizeof facts->name, "%s", facts->info.name);
    snprintf(facts->kind_key, sizeof facts->kind_key, "%s|%s|%s", facts->info.name,
             facts->info.version, facts->info.driver);
}

cm_status cmi_device_open(const cm_device_list *list, const cm_device_choice *choice,
                          cmi_device **out)
{
    cmi_device *device = NULL;
    cm_status status = CM_OK;
    cl_int code = CL_SUCCESS;

    *out = NULL;
    CM_TRY(cmi_device_check_process());
    CM_TRY(CMI_NEW(1, &device));
    device->facts.info = *cm_device_list_get(list, choice->index);
    device->id = cmi_device_list_id(list, choice->index);
    if (choice->subdevice && choice->parts > 1) CM_TRY_GOTO(fail, cut(device, device->id, choice));
    gather_facts(device, choice);
    device->context = clCreateContext(NULL, 1, &device->id, on_context_error, NULL, &code);
    if (code != CL_SUCCESS) {
        device->context = NULL;
        status = cmi_cl_error(code, "clCreateContext");
        goto fail;
    }
    cmi_count_object(1);
    cmi_log(CM_LOG_INFO, "device", "opened %s: %u units, %s kernels, %u-wide vectors",
            device->facts.name, (unsigned)device->facts.units,
            device->facts.shape == CMI_SHAPE_CPU ? "CPU" : "GPU", (unsigned)device->facts.vector);
    *out = device;
    return CM_OK;
fail:
    cmi_error_prefix("device %s", device->facts.info.name);
    cmi_device_close(device);
    return status;
}

void cmi_device_close(cmi_device *device)
{
    if (!device) return;
    cmi_program_free_all(device);
    if (device->context) {
        clReleaseContext(device->context);
        cmi_count_object(-1);
    }
    if (device->subdevice) {
        clReleaseDevice(device->id);
        cmi_count_object(-1);
    }
    cmi_free(device);
}
