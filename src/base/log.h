/* log.h - one line, one sink; see log.c.  Categories: "device", "kernel", "comm", "train", "data",
 * "knob". */
#ifndef CMI_BASE_LOG_H
#define CMI_BASE_LOG_H

#include <stdbool.h>
#include <clmirror/log.h>

void cmi_log(cm_log_level level, const char *category, const char *fmt, ...) CM_PRINTF(3, 4);
/* Whether a line of this level and category would reach the sink; guards costly formatting. */
bool cmi_log_enabled(cm_log_level level, const char *category);
/* The rank shown in lines of the calling thread; -1 (the default) shows none. */
void cmi_log_set_rank(int rank);

#endif
