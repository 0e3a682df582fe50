/* error.h - the per-thread error record and the macros that carry a failure upwards.
 *
 * The failing line writes the message once (what happened; the values; what to try) and returns the
 * status; callers may put context in front while they pass it up.  See status.c. */
#ifndef CMI_BASE_ERROR_H
#define CMI_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <clmirror/status.h>

/* Records a failure of the calling thread and returns `status`. */
cm_status cmi_error(cm_status status, const char *fmt, ...) CM_PRINTF(2, 3);
/* The same with an OpenCL code. */
cm_status cmi_error_code(cm_status status, int cl_code, const char *fmt, ...) CM_PRINTF(3, 4);
/* Puts "context: " in front of the recorded message; a message that grows too long loses its end.
 */
void cmi_error_prefix(const char *fmt, ...) CM_PRINTF(1, 2);

/* Public functions that can fail begin with this. */
void cmi_error_clear(void);
/* Copies a record out of and into the calling thread (a worker's failure is shown on the caller's
 * thread). Setting returns the record's status. */
void cmi_error_save(cm_error *record);
cm_status cmi_error_restore(const cm_error *record);

#define CM_TRY(expr)                                                                               \
    do {                                                                                           \
        cm_status cm_try_status = (expr);                                                          \
        if (cm_try_status) return cm_try_status;                                                   \
    } while (0)

#define CM_TRY_CTX(expr, ...)                                                                      \
    do {                                                                                           \
        cm_status cm_try_status = (expr);                                                          \
        if (cm_try_status) {                                                                       \
            cmi_error_prefix(__VA_ARGS__);                                                         \
            return cm_try_status;                                                                  \
        }                                                                                          \
    } while (0)

/* For functions that hold resources: leaves `status` set and jumps to the single exit. */
#define CM_TRY_GOTO(label, expr)                                                                   \
    do {                                                                                           \
        status = (expr);                                                                           \
        if (status) goto label;                                                                    \
    } while (0)

/* Our own broken invariant: prints and aborts, in release too.  Never for user input or the world.
 */
#define CM_ASSERT(cond)                                                                            \
    do {                                                                                           \
        if (!(cond)) cmi_assert_fail(#cond, __FILE__, __LINE__);                                   \
    } while (0)

_Noreturn void cmi_assert_fail(const char *condition, const char *file, int line);

#endif
