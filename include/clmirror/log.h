/* log.h - where the library's remarks go.
 *
 * The library prints nothing by itself except warnings and errors that no return value can carry;
 * they go, one line each, to the sink (standard error unless set otherwise).  CLMIRROR_LOG=info,
 * =debug or =comm:debug,kernel:debug lets more through. */
#ifndef CLMIRROR_LOG_H
#define CLMIRROR_LOG_H

#include <clmirror/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_log_level { CM_LOG_ERROR, CM_LOG_WARNING, CM_LOG_INFO, CM_LOG_DEBUG } cm_log_level;

/* Receives one finished line without its newline.  Called from any thread, one call at a time; must
 * not call the library. */
typedef void (*cm_log_sink)(void *user, cm_log_level level, const char *line);

/* Replaces the sink; NULL restores the default.  Any thread. */
CM_API void cm_log_set_sink(cm_log_sink sink, void *user);

#ifdef __cplusplus
}
#endif

#endif
