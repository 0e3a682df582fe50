/* move.c - the faults that touch data.
 *
 * A SHADOW is a copy of mapped bytes with an address of its own.  On CPU drivers a mapped pointer
 * stays valid after the unmap, so code that keeps it passes every test and is wrong on real
 * devices; with a shadow it writes into memory that nobody reads.  A read after the unmap finds
 * 0xFF bytes: the copy is spoiled and kept until the next shadow of the process is ended, then
 * freed.
 *
 * Called by layer.c on the caller's thread. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "fault/move.h"

enum { MAX_SHADOWS = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void *copy, *mapped;
    size_t bytes;
    cl_map_flags flags;
} shadows[MAX_SHADOWS];
static void *spoiled;

void move_flip(void *data, size_t bytes)
{
    size_t at = bytes / 2 | 3; /* the byte with a float's exponent */
    if (bytes) ((unsigned char *)data)[at < bytes ? at : bytes - 1] ^= 0x40;
}

void move_flip_buffer(const cl_icd_dispatch *next, cl_command_queue queue, cl_mem buffer,
                      size_t offset, size_t bytes)
{
    unsigned char *data = malloc(bytes);
    if (data && next->clEnqueueReadBuffer(queue, buffer, CL_TRUE, offset, bytes, data, 0, NULL,
                                          NULL) == CL_SUCCESS) {
        move_flip(data, bytes);
        next->clEnqueueWriteBuffer(queue, buffer, CL_TRUE, offset, bytes, data, 0, NULL, NULL);
    }
    free(data);
}

void move_poison(const cl_icd_dispatch *next, cl_context context, cl_mem buffer, size_t bytes)
{
    cl_device_id devices[64] = {NULL};
    cl_int code =
        next->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL);
    if (code != CL_SUCCESS) return;
    cl_command_queue queue = next->clCreateCommandQueue(context, devices[0], 0, &code);
    if (queue == NULL) return;
    next->clEnqueueFillBuffer(queue, buffer, "\377", 1, 0, bytes, 0, NULL, NULL);
    next->clFinish(queue);
    next->clReleaseCommandQueue(queue);
}

void *move_shadow(void *mapped, size_t bytes, cl_map_flags flags)
{
    unsigned char *copy = malloc(bytes ? bytes : 1);
    int i = 0;
    if (copy == NULL) return NULL;
    if (flags & CL_MAP_WRITE_INVALIDATE_REGION)
        memset(copy, 0xFF, bytes);
    else
        memcpy(copy, mapped, bytes);
    pthread_mutex_lock(&lock);
    while (i < MAX_SHADOWS && shadows[i].copy)
        i++;
    if (i < MAX_SHADOWS) {
        shadows[i].copy = copy;
        shadows[i].mapped = mapped;
        shadows[i].bytes = bytes;
        shadows[i].flags = flags;
    }
    pthread_mutex_unlock(&lock);
    if (i < MAX_SHADOWS) return copy;
    free(copy);
    return mapped;
}

void *move_unshadow(void *copy)
{
    void *mapped = copy;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MAX_SHADOWS; i++) {
        if (copy == NULL || shadows[i].copy != copy) continue;
        mapped = shadows[i].mapped;
        if (shadows[i].flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
            memcpy(mapped, copy, shadows[i].bytes);
        memset(copy, 0xFF, shadows[i].bytes);
        shadows[i].copy = NULL;
        free(spoiled);
        spoiled = copy;
        break;
    }
    pthread_mutex_unlock(&lock);
    return mapped;
}
