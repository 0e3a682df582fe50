/* thread.h - thread, mutex and condition over pthreads.  Barriers live in comm/, where abort and
 * blame are.
 *
 * Library threads block all signals but those of their own faults.  Times are relative
 * milliseconds; 0 means "do not wait", a negative value "for ever". */
#ifndef CMI_BASE_THREAD_H
#define CMI_BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

typedef pthread_mutex_t cmi_mutex;
typedef pthread_cond_t cmi_cond;
typedef pthread_t cmi_thread;

cm_status cmi_mutex_init(cmi_mutex *mutex);
void cmi_mutex_destroy(cmi_mutex *mutex);
void cmi_mutex_lock(cmi_mutex *mutex);
void cmi_mutex_unlock(cmi_mutex *mutex);

/* Conditions use the monotonic clock. */
cm_status cmi_cond_init(cmi_cond *cond);
void cmi_cond_destroy(cmi_cond *cond);
void cmi_cond_wait(cmi_cond *cond, cmi_mutex *mutex);
/* False when the time passed first. */
bool cmi_cond_wait_ms(cmi_cond *cond, cmi_mutex *mutex, int64_t ms);
void cmi_cond_signal(cmi_cond *cond);
void cmi_cond_broadcast(cmi_cond *cond);

/* `name` (copied, cut at 15 bytes) is shown in the log lines of the thread. */
cm_status cmi_thread_start(cmi_thread *thread, const char *name, void (*run)(void *),
                           void *argument);
void cmi_thread_join(cmi_thread thread);
/* Name of the calling thread; empty for threads that are not ours. */
const char *cmi_thread_name(void);
/* CPUs that this process may use (affinity mask). */
int cmi_cpu_count(void);

#endif
