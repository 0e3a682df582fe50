/* device.h - which OpenCL devices the machine has, and how a text selects some of them.
 *
 * Selection texts, for cm_mirrored_strategy_create, --devices and CLMIRROR_DEVICES:
 *
 *   ""  (or NULL)      the default: all GPUs; if there is none all accelerators; if none the CPU
 *   gpu cpu accelerator all       every device of a kind (a kind is decided as in cm_device_kind)
 *   /GPU:0  GPU:1  /CPU:0         the i-th device of a kind, as TensorFlow counts; never another one instead
 *   0.1                           device 1 of platform 0, as clmirror-info lists them
 *   part of a name                "skylake", "RTX": a device whose name, or "platform: name", has this part (in
 *                      any case); an error when several have it, then "skylake:1" takes the second of them
 *   SEL*n              n parts of the first device that SEL names: sub-devices whose compute units differ by at
 *                      most one where the device can be cut so, else n logical replicas on the one device
 *   A,B,...            a list; its order is the order of the ranks
 *
 * The same hardware offered by two platforms counts once, except when each is named by number. */
#ifndef CLMIRROR_DEVICE_H
#define CLMIRROR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <clmirror/export.h>
#include <clmirror/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bits of OpenCL's device type, and the kind that ranks it: a device with the CPU bit is a CPU
 * whatever else it claims to be. */
typedef enum cm_device_kind {
    CM_DEVICE_GPU,
    CM_DEVICE_ACCELERATOR,
    CM_DEVICE_CPU,
    CM_DEVICE_OTHER
} cm_device_kind;

#define CM_DEVICE_TEXT_BYTES 192

typedef struct cm_device_info {
    int platform, device; /* "platform.device" selects it */
    cm_device_kind kind;
    uint64_t type_bits; /* CL_DEVICE_TYPE */
    char name[CM_DEVICE_TEXT_BYTES];
    char platform_name[CM_DEVICE_TEXT_BYTES];
    char vendor[CM_DEVICE_TEXT_BYTES];
    char version[CM_DEVICE_TEXT_BYTES]; /* CL_DEVICE_VERSION */
    char driver[CM_DEVICE_TEXT_BYTES];  /* CL_DRIVER_VERSION */
    uint32_t compute_units;
    uint32_t vector_width; /* native, in floats */
    uint64_t global_bytes, max_alloc_bytes, local_bytes;
    uint64_t align_bytes; /* of sub-buffers */
    uint64_t max_group;   /* work-items in a group */
    bool host_memory;     /* shares memory with the host */
    bool fp64;
    uint32_t parts;                    /* sub-devices it can be cut into; 0: none */
    int duplicate_of;                  /* index, in this list, of the same hardware; -1: none */
    bool usable;                       /* false: not available, no compiler, or it did not answer */
    char reason[CM_DEVICE_TEXT_BYTES]; /* why not usable */
} cm_device_info;

typedef struct cm_platform_info {
    char name[CM_DEVICE_TEXT_BYTES];
    char vendor[CM_DEVICE_TEXT_BYTES];
    char version[CM_DEVICE_TEXT_BYTES];
    int devices;
    char reason[256]; /* empty, or why the platform has no usable device, and what to try */
} cm_platform_info;

typedef struct cm_device_list cm_device_list;

/* Asks every platform for its devices; broken or silent platforms are listed with the reason.
 * CM_OK with an empty list when there is no OpenCL at all (cm_device_list_problem then says what to
 * install). CM_E_MEMORY; CM_E_STATE in a child forked after the first OpenCL call.  Any thread. */
CM_API CM_CHECK cm_status cm_device_list_create(cm_device_list **list);
CM_API void cm_device_list_destroy(cm_device_list *list); /* accepts NULL */
CM_API int cm_device_list_platforms(const cm_device_list *list);
CM_API const cm_platform_info *cm_device_list_platform(const cm_device_list *list, int platform);
CM_API int cm_device_list_count(const cm_device_list *list);
CM_API const cm_device_info *cm_device_list_get(const cm_device_list *list, int index);
/* Empty, or why no device is usable: which packages to install, which variable points where. */
CM_API const char *cm_device_list_problem(const cm_device_list *list);

/* One device, or one part of a device, that a selection names. */
typedef struct cm_device_choice {
    int index;       /* in the list */
    int part, parts; /* part 0 ... parts-1 of `parts`; parts 1: the whole device */
    bool subdevice;  /* parts > 1: cut by the driver (else a logical replica of the whole device) */
    uint32_t units;  /* compute units of this part */
} cm_device_choice;

#define CM_MAX_DEVICES 64

/* Resolves a selection (NULL: CLMIRROR_DEVICES, or the default) in rank order.
 * CM_E_NO_DEVICE  nothing matches; the message lists what there is, or what to install
 * CM_E_INVALID    the text is malformed, ambiguous, names a device twice, or more than CM_MAX_DEVICES parts
 */
CM_API CM_CHECK cm_status cm_device_select(const cm_device_list *list, const char *selection,
                                           cm_device_choice choices[CM_MAX_DEVICES], int *count);

/* "GPU", "accelerator", "CPU", "other". */
CM_API const char *cm_device_kind_name(cm_device_kind kind);

#ifdef __cplusplus
}
#endif

#endif
