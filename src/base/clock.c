/* clock.c - time that never jumps.
 *
 * The monotonic clock of POSIX, in nanoseconds of a 64-bit integer (292 years), so that callers
 * subtract and compare without a struct.  Deadlines, time-outs and measurements all use it,
 * because the wall clock may be set back under our feet.  Any thread. */
#include <errno.h>
#include <time.h>
#include "base/clock.h"

enum { NS_PER_S = 1000000000 };

int64_t cmi_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void cmi_sleep_ns(int64_t ns)
{
    if (ns <= 0) return;
    struct timespec left = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) { /* a signal: sleep what is left */
    }
}
