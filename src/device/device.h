/* device.h - an opened device: its context, its facts, its programs.  No OpenCL type appears here,
 * so that ops/ and everything above can include it. */
#ifndef CMI_DEVICE_DEVICE_H
#define CMI_DEVICE_DEVICE_H

#include <clmirror/device.h>
#include "base/error.h"

typedef struct cmi_device cmi_device;

/* The form the kernels take: on CPU devices one work-item runs over a strip with explicit vectors,
 * on others one work-item takes one element and groups share sums.  Both are right everywhere;
 * CLMIRROR_KERNEL_SHAPE forces one. */
typedef enum cmi_kernel_shape { CMI_SHAPE_CPU, CMI_SHAPE_GPU } cmi_kernel_shape;

typedef struct cmi_device_facts {
    char name[CM_DEVICE_TEXT_BYTES + 32];    /* "pthread-skylake (part 1 of 2)": for messages */
    char kind_key[3 * CM_DEVICE_TEXT_BYTES]; /* equal for devices that compute the same bits */
    cm_device_info info;
    uint32_t units; /* compute units of this part */
    cmi_kernel_shape shape;
    uint32_t vector;        /* floats in an explicit vector: 1, 4, 8 or 16 */
    bool correctly_rounded; /* division and square root can be */
    bool serial;            /* kernels run inside the enqueueing call */
} cmi_device_facts;

/* Opens a device of the list (or a part of it) in a context of its own.  `list` may go away
 * afterwards. */
cm_status cmi_device_open(const cm_device_list *list, const cm_device_choice *choice,
                          cmi_device **out);
void cmi_device_close(
    cmi_device *device); /* accepts NULL; every stream and buffer is gone by then */
/* CM_E_STATE in a child of a fork after the first OpenCL call of the process: runtimes do not
 * survive it. */
cm_status cmi_device_check_process(void);
const cmi_device_facts *cmi_device_get_facts(const cmi_device *device);

/* Bytes of all buffers that are alive on the device: for messages. */
uint64_t cmi_device_buffer_bytes(const cmi_device *device);

/* Called with true before a kernel is compiled or run for the first time, and with false when that
 * is done: a compiler may take long, and must not look like a device that hangs.  Called by the
 * owner of the stream. */
void cmi_device_set_build_hook(cmi_device *device, void (*hook)(void *user, bool building),
                               void *user);

/* OpenCL objects (buffers, queues, programs, kernels, events) made and not yet released by this
 * process, and all made so far: leak tests and "no allocation inside a step". */
uint64_t cmi_device_objects_live(void);
uint64_t cmi_device_objects_total(void);

#endif
