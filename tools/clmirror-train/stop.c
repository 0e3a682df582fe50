/* stop.c - Ctrl-C and TERM: the first ends the training after its present step, the second ends the process.
 *
 * The handler does only what a handler may do: it stores a number, sets the model's flag and, the second time, removes a
 * half-written file and leaves by _exit.  A signal that comes while there is no model yet is kept in `caught`, which
 * main.c looks at between its stages and the first callback of fit looks at again, since fit begins by clearing the flag.
 * A handler may run on any thread: drivers have threads of their own that do not block signals. */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#include "train.h"

static atomic_int caught;
static _Atomic(cm_model *) current;
static _Atomic(const char *) temporary;

static void on_signal(int number)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&caught, &none, number)) {
        cm_model_stop(atomic_load(&current));
        return;
    }
    const char *path = atomic_load(&temporary);
    if (path) unlink(path);
    _exit(128 + number);
}

void train_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void train_stop_is_for(cm_model *model)
{
    atomic_store(&current, model);
    if (atomic_load(&caught)) cm_model_stop(model);
}

int train_stopped(void)
{
    int number = atomic_load(&caught);
    return number ? 128 + number : 0;
}

void train_temporary_is(const char *path)
{
    atomic_store(&temporary, path);
}
