/* knobs.h - the library's environment variables, for programs that show them. */
#ifndef CLMIRROR_KNOBS_H
#define CLMIRROR_KNOBS_H

#include <stdbool.h>
#include <clmirror/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All texts belong to the library and stay valid. */
typedef struct cm_knob_info {
    const char *variable, *fallback, *help;
    const char *value;     /* what is in force */
    bool from_environment; /* false: the default */
} cm_knob_info;

CM_API int cm_knob_count(void);
/* All members NULL when `index` is not 0 ... cm_knob_count()-1.  Any thread. */
CM_API cm_knob_info cm_knob_get(int index);

#ifdef __cplusplus
}
#endif

#endif
