/* status.h - what a call may answer, and the record of the last failure.
 *
 * Every function that can fail returns a cm_status and nothing else; CM_OK is 0, so `if (cm_x(...))` means
 * "if it failed".  The detail (message, OpenCL code) is kept per thread until the next public call of that
 * thread that can fail.  Destroy functions leave it alone, so that a clean-up path can still print it. */
#ifndef CLMIRROR_STATUS_H
#define CLMIRROR_STATUS_H

#include <clmirror/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, text) */
#define CM_STATUS_LIST(X)                                                                          \
    X(OK, "success")                                                                               \
    X(E_INVALID, "an argument is not valid")                                                       \
    X(E_SHAPE, "shapes do not fit")                                                                \
    X(E_STATE, "not possible in the present state")                                                \
    X(E_SCOPE, "model, strategy and scope do not belong together")                                 \
    X(E_NOT_FOUND, "no such name")                                                                 \
    X(E_UNSUPPORTED, "not supported")                                                              \
    X(E_NO_DEVICE, "no usable OpenCL device")                                                      \
    X(E_OPENCL, "an OpenCL call failed")                                                           \
    X(E_BUILD, "a kernel did not compile")                                                         \
    X(E_MEMORY, "out of memory")                                                                   \
    X(E_IO, "a file could not be read or written")                                                 \
    X(E_FORMAT, "a file or text is malformed")                                                     \
    X(E_NUMERIC, "a number is not finite")                                                         \
    X(E_TIMEOUT, "a device or another rank did not answer in time")                                \
    X(E_ABORTED, "ended because another rank failed")                                              \
    X(E_REPLICAS, "replicas differ")

typedef enum cm_status {
#define X(name, text) CM_##name,
    CM_STATUS_LIST(X)
#undef X
        CM_STATUS_COUNT
} cm_status;

#define CM_MESSAGE_BYTES 1024

typedef struct cm_error {
    cm_status status;
    int cl_code;                    /* the OpenCL or CLBlast code, 0 if none was involved */
    char message[CM_MESSAGE_BYTES]; /* what happened, with which values, where, what to try */
} cm_error;

/* "CM_E_SHAPE" and "shapes do not fit"; static text, also for values that are not a cm_status. */
CM_API const char *cm_status_name(cm_status status);
CM_API const char *cm_status_text(cm_status status);

/* The calling thread's record of its last public call that could fail: status CM_OK and an empty message
 * after a success.  Valid until the next such call on this thread. */
CM_API const cm_error *cm_last_error(void);
CM_API cm_status cm_last_status(void);
CM_API const char *cm_last_message(void);

#ifdef __cplusplus
}
#endif

#endif
