/* layer.h - the fault layer: a shared object between the OpenCL loader and the drivers that makes
 * calls fail, hang, lie or corrupt, by rules, and counts objects.  ocl-icd >= 2.3 loads it through
 * OPENCL_LAYERS=/path/fault_layer.so.
 *
 * Rules come from CLMIRROR_FAULT when the layer is loaded and from fault_layer_set() at any time,
 * separated by `;` or new lines.  A rule is
 *
 *     call[.PARAM][@device][#count] -> action
 *
 *   call      an OpenCL function, such as clEnqueueNDRangeKernel
 *   .PARAM    of an info query: clGetDeviceInfo.CL_DEVICE_TYPE; without it every query
 *   @1        only device 1, in the order in which clGetDeviceIDs first showed the devices to the program, over all
 *             platforms; a sub-device counts as its parent.  Of clGetPlatformInfo and clGetDeviceIDs: platform 1.
 *   @q1       only calls on the queue that was created as number 1 (from 0); tells logical replicas apart
 *   #40 #40+  only the 40th matching call, or all from the 40th on; counted from 1, per rule, since it was set
 *
 *   -5              return this code and do nothing
 *   hang            do not return before the process ends.  Of clGetEventInfo: the status stays CL_RUNNING instead;
 *                   of clEnqueueMarkerWithWaitList: the marker's event stays CL_RUNNING, and waiting for it hangs
 *   delay 500 ms    wait first, then go on with the next rule
 *   flip            do the call, then invert one bit of the moved data (read, write, copy, fill, map buffer)
 *   say X           an info query answers X: a text, a number, GPU|CPU|ACCELERATOR for the type, `0:65:0.0` for the
 *                   PCI address, 32 hexadecimal digits for the UUID.  clGetPlatformIDs and clGetDeviceIDs:
 *                   `say 0` = success with none, `say twice` = every one twice
 *                   clEnqueueNDRangeKernel: `say 32` refuses larger work-groups with -54
 *   shadow          clEnqueueMapBuffer returns a separate copy, written back (and spoiled) at unmap; maps become blocking
 *   poison          clCreateBuffer fills new buffers with 0xFF bytes (NaN as float)
 *
 * A test that needs the layer asserts fault_layer_active() after its first OpenCL call (which is
 * when layers are loaded): the loader ignores a layer that it cannot load without a word. All
 * functions: any thread. */
#ifndef TESTS_FAULT_LAYER_H
#define TESTS_FAULT_LAYER_H

/* Replaces all rules (those of CLMIRROR_FAULT too, when called after the first OpenCL call); NULL
 * or "" removes them.  Returns 0, or -1 when a rule is malformed (none is set then). */
int fault_layer_set(const char *rules);
/* 1 when the loader has put this layer in front of the drivers. */
int fault_layer_active(void);
/* Objects: "context", "queue", "buffer" (sub-buffers too), "program", "kernel", "event", or "live"
 * for all of them; made and retained, minus released.  "made:buffer" counts all ever made.  "@1"
 * behind it: those of device 1. "clFlush": calls of this function so far; "rules": rules that have
 * fired.  -1: the word is not known. */
long fault_layer_count(const char *what);

/* Inside a test: the functions above of the layer that OPENCL_LAYERS names, found by dlopen (which
 * finds the one that is loaded).  Returns 1, or 0 when there is none; whether it is active is for
 * active() to say. */
typedef struct fault_layer {
    int (*set)(const char *rules);
    int (*active)(void);
    long (*count)(const char *what);
} fault_layer;

#ifdef FAULT_LAYER_FIND
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static inline int fault_layer_find(fault_layer *layer)
{
    const char *path = getenv("OPENCL_LAYERS");
    void *object = path ? dlopen(path, RTLD_NOW) : NULL;
    void *set = object ? dlsym(object, "fault_layer_set") : NULL;
    void *active = object ? dlsym(object, "fault_layer_active") : NULL;
    void *count = object ? dlsym(object, "fault_layer_count") : NULL;
    if (!set || !active || !count) return 0;
    /* C has no cast from an object pointer to a function pointer; POSIX says that the bytes are the
     * same. */
    memcpy(&layer->set, &set, sizeof set);
    memcpy(&layer->active, &active, sizeof active);
    memcpy(&layer->count, &count, sizeof count);
    return 1;
}
#endif

#endif
