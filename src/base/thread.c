/* thread.c - threads, mutexes and conditions over pthreads.
 *
 * Three things are settled here once for the whole library.  Conditions measure the monotonic
 * clock, so a changed wall clock neither shortens nor lengthens a deadline.  Library threads
 * leave signals to the threads of the program: a Ctrl-C handler never runs on a worker that
 * holds a lock.  A lock or wait that fails is a broken invariant of ours (EINVAL, EDEADLK), so
 * it asserts instead of returning a status nobody could use.
 *
 * Any thread. */

/* sched_getaffinity and CPU_COUNT are not in POSIX; nothing else in this file goes beyond it. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/thread.h"
#include "base/mem.h"

enum { NAME_BYTES = 16 };

/* What a new thread needs; it frees it. */
typedef struct start {
    void (*run)(void *);
    void *argument;
    char name[NAME_BYTES];
} start;

static _Thread_local char thread_name[NAME_BYTES];

cm_status cmi_mutex_init(cmi_mutex *mutex)
{
    int code = pthread_mutex_init(mutex, NULL);
    if (code)
        return cmi_error(CM_E_MEMORY, "a mutex could not be made: error %d of the system", code);
    return CM_OK;
}

void cmi_mutex_destroy(cmi_mutex *mutex)
{
    CM_ASSERT(pthread_mutex_destroy(mutex) == 0);
}

void cmi_mutex_lock(cmi_mutex *mutex)
{
    CM_ASSERT(pthread_mutex_lock(mutex) == 0);
}

void cmi_mutex_unlock(cmi_mutex *mutex)
{
    CM_ASSERT(pthread_mutex_unlock(mutex) == 0);
}

cm_status cmi_cond_init(cmi_cond *cond)
{
    pthread_condattr_t attributes;
    int code = pthread_condattr_init(&attributes);
    if (!code) {
        code = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        if (!code) code = pthread_cond_init(cond, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    if (code)
        return cmi_error(CM_E_MEMORY, "a condition could not be made: error %d of the system",
                         code);
    return CM_OK;
}

void cmi_cond_destroy(cmi_cond *cond)
{
    CM_ASSERT(pthread_cond_destroy(cond) == 0);
}

void cmi_cond_wait(cmi_cond *cond, cmi_mutex *mutex)
{
    CM_ASSERT(pthread_cond_wait(cond, mutex) == 0);
}

bool cmi_cond_wait_ms(cmi_cond *cond, cmi_mutex *mutex, int64_t ms)
{
    if (ms == 0) return false;
    if (ms < 0) {
        cmi_cond_wait(cond, mutex);
        return true;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int code = pthread_cond_timedwait(cond, mutex, &until);
    CM_ASSERT(code == 0 || code == ETIMEDOUT);
    return code == 0;
}

void cmi_cond_signal(cmi_cond *cond)
{
    CM_ASSERT(pthread_cond_signal(cond) == 0);
}

void cmi_cond_broadcast(cmi_cond *cond)
{
    CM_ASSERT(pthread_cond_broadcast(cond) == 0);
}

static void *thread_main(void *pointer)
{
    start begin = *(start *)pointer;
    cmi_free(pointer);
    memcpy(thread_name, begin.name, NAME_BYTES);
    begin.run(begin.argument);
    return NULL;
}

/* A thread inherits the mask of its maker, so the maker blocks while it creates: not one
 * instruction of the new thread runs with signals open.  Faults of the thread itself (SIGSEGV
 * and its kin) stay open: blocking them helps nobody and would silence debuggers, sanitizers and
 * drivers that catch their own. */
static int create_quiet(cmi_thread *thread, start *begin)
{
    sigset_t quiet, before;
    sigfillset(&quiet);
    sigdelset(&quiet, SIGSEGV);
    sigdelset(&quiet, SIGBUS);
    sigdelset(&quiet, SIGFPE);
    sigdelset(&quiet, SIGILL);
    pthread_sigmask(SIG_SETMASK, &quiet, &before);
    int code = pthread_create(thread, NULL, thread_main, begin);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

cm_status cmi_thread_start(cmi_thread *thread, const char *name, void (*run)(void *),
                           void *argument)
{
    start *begin;
    CM_TRY(CMI_NEW(1, &begin));
    begin->run = run;
    begin->argument = argument;
    snprintf(begin->name, sizeof begin->name, "%s", name);
    int code = create_quiet(thread, begin);
    if (code) {
        cmi_free(begin);
        return cmi_error(CM_E_MEMORY,
                         "thread \"%s\" could not be started: error %d of the system%s", name, code,
                         code == EAGAIN ? " (too many threads or too little memory)" : "");
    }
    return CM_OK;
}

void cmi_thread_join(cmi_thread thread)
{
    CM_ASSERT(pthread_join(thread, NULL) == 0);
}

const char *cmi_thread_name(void)
{
    return thread_name;
}

int cmi_cpu_count(void)
{
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
    /* More CPUs than cpu_set_t holds, or another system. */
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int)count : 1;
}
