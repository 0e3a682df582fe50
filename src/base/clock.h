/* clock.h - monotonic time in nanoseconds. */
#ifndef CMI_BASE_CLOCK_H
#define CMI_BASE_CLOCK_H

#include <stdint.h>

int64_t cmi_now_ns(void);
void cmi_sleep_ns(int64_t ns);

#endif
