/* knob.c - the environment variables of the library.
 *
 * One idea: the environment is read once, at the first question, and copied.  Later setenv calls
 * of the program change nothing and cannot pull a text away under a thread that reads it.  The
 * copies live in static memory, so that knobs neither allocate nor appear in the count of live
 * blocks.
 *
 * Any thread may ask.  cmi_knob_override is for tests, while no other thread asks. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/knob.h"
#include "base/config.h"
#include "base/log.h"

enum { VALUE_BYTES = 4096 }; /* PATH_MAX of Linux: the longest sensible value is a path */

typedef struct knob {
    const char *variable, *fallback, *help;
    bool from_environment;
    atomic_bool too_long;        /* the variable was ignored and nobody was told yet */
    atomic_bool bad_number_told; /* the warning about the number was given */
    char value[VALUE_BYTES];
} knob;

static knob knobs[CMI_KNOB_COUNT] = {
#define X(id, name, text, what) {.variable = name, .fallback = text, .help = what},
    CMI_KNOB_LIST(X)
#undef X
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* An empty variable counts as unset, as `VARIABLE= program` is how people switch one off. */
static void read_one(knob *k)
{
    const char *given = getenv(k->variable);
    bool too_long = given && strlen(given) >= VALUE_BYTES;
    k->from_environment = given && given[0] && !too_long;
    atomic_store(&k->too_long, too_long);
    atomic_store(&k->bad_number_told, false);
    snprintf(k->value, VALUE_BYTES, "%s", k->from_environment ? given : k->fallback);
}

static void read_all(void)
{
    for (int i = 0; i < CMI_KNOB_COUNT; i++)
        read_one(&knobs[i]);
}

/* Warnings wait until here: the log asks for a knob itself, which inside read_all would never
 * return. */
static knob *get(cmi_knob id)
{
    CM_ASSERT((size_t)id < CMI_KNOB_COUNT);
    pthread_once(&once, read_all);
    knob *k = &knobs[id];
    if (atomic_load(&k->too_long) && atomic_exchange(&k->too_long, false)) {
        cmi_log(CM_LOG_WARNING, "knob", "%s is longer than %d bytes and is ignored; \"%s\" is used",
                k->variable, VALUE_BYTES - 1, k->fallback);
    }
    return k;
}

const char *cmi_knob_text(cmi_knob id)
{
    return get(id)->value;
}

int64_t cmi_knob_number(cmi_knob id)
{
    knob *k = get(id);
    int64_t number;
    if (cmi_parse_int(k->value, &number) && number >= 0) return number;
    if (!atomic_exchange(&k->bad_number_told, true)) {
        cmi_log(CM_LOG_WARNING, "knob", "%s=%s is not a whole number of at least 0; %s is used",
                k->variable, k->value, k->fallback);
    }
    bool fallback_is_number = cmi_parse_int(k->fallback, &number);
    CM_ASSERT(fallback_is_number);
    return number;
}

bool cmi_knob_has(cmi_knob id, const char *word)
{
    const char *at = get(id)->value;
    size_t length = strlen(word);
    while (*at) {
        at += strspn(at, " \t,");
        size_t item = strcspn(at, " \t,");
        if (item == length && memcmp(at, word, length) == 0) return length > 0;
        at += item;
    }
    return false;
}

cmi_knob_info cmi_knob_describe(cmi_knob id)
{
    const knob *k = get(id);
    return (cmi_knob_info){k->variable, k->fallback, k->help, k->value, k->from_environment};
}

void cmi_knob_override(cmi_knob id, const char *value)
{
    knob *k = get(id);
    if (!value) {
        read_one(k);
        return;
    }
    CM_ASSERT(strlen(value) < VALUE_BYTES);
    snprintf(k->value, VALUE_BYTES, "%s", value);
    k->from_environment = false;
    atomic_store(&k->bad_number_told, false);
}
