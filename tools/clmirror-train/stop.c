/* stop.c - Ctrl-C and TERM: the first ends the training after its present step, the second ends the
 * process.
 *
 * DESIGN.  A thread of its own waits for the two signals, and all others keep them blocked.  A
 * handler would not do: the compiler inside a driver (LLVM in PoCL) puts its own handler before
 * ours, which removes the files of the kernel that is being built, and the training would end with
 * a failed build instead of a stop.  Blocked signals never reach it.
 *
 * A signal that comes while there is no model yet is kept in `caught`, which main.c looks at
 * between its stages; the first callback of fit looks at it again, since fit begins by clearing
 * the model's flag.  The mutex guards `current`, so that a model is not stopped while it is
 * destroyed, and `temporary`. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "train.h"

static atomic_int caught;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static cm_model *current;
static const char *temporary;

static void *wait_for_signals(void *signals)
{
    for (int number; sigwait(signals, &number) == 0;) {
        pthread_mutex_lock(&mutex);
        if (atomic_load(&caught)) {
            if (temporary) unlink(temporary);
            _exit(128 + number);
        }
        atomic_store(&caught, number);
        cm_model_stop(current);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

int train_catch_signals(void)
{
    static sigset_t signals;
    pthread_t thread;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    int code = pthread_sigmask(SIG_BLOCK, &signals, NULL);
    /* A shell starts background programs with SIGINT ignored; whoever sends one to us means it. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (!code) code = pthread_create(&thread, NULL, wait_for_signals, &signals);
    if (!code) code = pthread_detach(thread);
    if (code) fprintf(stderr, "clmirror-train: waiting for signals: %s\n", strerror(code));
    return code ? EXIT_FAILED : 0;
}

void train_stop_is_for(cm_model *model)
{
    pthread_mutex_lock(&mutex);
    current = model;
    pthread_mutex_unlock(&mutex);
}

int train_stopped(void)
{
    int number = atomic_load(&caught);
    return number ? 128 + number : 0;
}

void train_temporary_is(const char *path)
{
    pthread_mutex_lock(&mutex);
    temporary = path;
    pthread_mutex_unlock(&mutex);
}
