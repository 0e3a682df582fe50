/* rules.h - the fault layer's rules and its table of living objects; see layer.h for the grammar.
 */
#ifndef TESTS_FAULT_RULES_H
#define TESTS_FAULT_RULES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_CODE,
    FAULT_HANG, /* only for callers that said they take it, else the call never comes back */
    FAULT_FLIP,
    FAULT_SAY,
    FAULT_SHADOW,
    FAULT_POISON
} fault_kind;

typedef struct fault {
    fault_kind kind;
    int code;
    char text[256];
} fault;

/* Counts the call and answers what to do with it.  Delays and hangs happen inside, except that a
 * hang is returned when `soft_hang`.  device, queue: -1 when unknown; param: NULL when it is no
 * query. */
fault fault_check(const char *call, const char *param, int device, int queue, bool soft_hang);
int fault_set(const char *rules);
_Noreturn void fault_hang(void);

/* Objects by kind: "context", "queue", "buffer", "program", "kernel", "event". */
typedef struct fault_object {
    const void *handle;
    const char *kind;
    int device;
    int number; /* among the objects of its kind, in the order made; of an event: the number of its queue */
    long references;
    bool marked; /* a program that "does not build", an event that never ends */
} fault_object;

/* queue: of an event, the number of its queue; else -1. */
void fault_made(const char *kind, const void *handle, int device, int queue);
void fault_retained(const void *handle);
void fault_released(const void *handle);
void fault_mark(const void *handle, bool marked);
/* A copy of the entry; false when the handle is not known. */
bool fault_find(const void *handle, fault_object *object);
long fault_count(const char *what);

#endif
