/* strategy.h - the mirrored strategy: which devices train in step, and the scope in which models
 * are made. */
#ifndef CLMIRROR_STRATEGY_H
#define CLMIRROR_STRATEGY_H

#include <clmirror/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_strategy cm_strategy;

/* Opens the devices and starts one thread for each.
 *
 * `devices`  a selection text (device.h); NULL: CLMIRROR_DEVICES, or all GPUs, else accelerators, else the CPU
 * `options`  "key=value ..." or NULL; each wins over its environment variable:
 *            collective=auto|direct|ring|naive   how gradients are summed (CLMIRROR_COLLECTIVE);
 *                                         "ring(segment=65536)"
 *            update=auto|replicated|sharded      every replica updates all parameters, or its share and passes it
 *                                         on (CLMIRROR_UPDATE); devices of different kinds are always sharded
 *            bucket_bytes=N               limit of a gradient bucket (CLMIRROR_BUCKET_BYTES)
 *            timeout_ms=N                 how long a rank or device may stay silent (CLMIRROR_TIMEOUT_MS)
 *
 * The strategy owns devices and threads; models made in its scope stop working when it is
 * destroyed.
 *
 * CM_E_NO_DEVICE  nothing matches; the message lists what there is
 * CM_E_INVALID    a malformed selection or option
 * CM_E_OPENCL, CM_E_MEMORY, CM_E_STATE (in a child process of a fork) */
CM_API CM_CHECK cm_status cm_mirrored_strategy_create(const char *devices, const char *options,
                                                      cm_strategy **strategy);

/* Waits for the devices, frees everything, closes a scope that this thread left open.  Accepts
 * NULL; does not touch the last error.  Not while a call on one of its models is running, nor while
 * its scope is open on another thread. */
CM_API void cm_strategy_destroy(cm_strategy *strategy);

/* Models that this thread creates between begin and end belong to the strategy. CM_E_SCOPE  a scope
 * is open on this thread, or this one is open on another thread; end: it is not open here */
CM_API cm_status cm_strategy_scope_begin(cm_strategy *strategy);
CM_API cm_status cm_strategy_scope_end(cm_strategy *strategy);

/* How many replicas train in step, and the device of one of them. */
CM_API int cm_strategy_replicas(const cm_strategy *strategy);
CM_API const char *cm_strategy_device_name(const cm_strategy *strategy, int replica);
CM_API const cm_device_info *cm_strategy_device_info(const cm_strategy *strategy, int replica);
/* Name of the collective that replicated updates use ("direct"); a sharded update has an exchange
 * of its own. */
CM_API const char *cm_strategy_collective(const cm_strategy *strategy);

#ifdef __cplusplus
}
#endif

#endif
