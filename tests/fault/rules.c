/* rules.c - what the fault layer is to do (rules) and what it has seen (objects, calls).
 *
 * Two tables under one mutex each: the rules, replaced as a whole by fault_set, and the living
 * objects with their reference counts.  No OpenCL in here.  Called by layer.c on whatever thread
 * calls OpenCL. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "fault/layer.h"
#include "fault/rules.h"

enum { MAX_RULES = 64, MAX_CALLS = 96, MAX_OBJECTS = 1 << 16, MAX_DEVICES = 64 };

typedef struct rule {
    char call[48], param[48];
    int device, queue; /* -1: any */
    long first;        /* 0: every call */
    bool onwards, delay;
    long milliseconds, seen;
    fault action;
} rule;

static pthread_mutex_t rule_lock = PTHREAD_MUTEX_INITIALIZER;
static rule rules[MAX_RULES];
static int rule_count;
static long fired;
static struct {
    const char *name; /* the layer's own literal */
    long count;
} calls[MAX_CALLS];

static pthread_mutex_t object_lock = PTHREAD_MUTEX_INITIALIZER;
static fault_object objects[MAX_OBJECTS];
static int object_count;
static const char *const kinds[] = {"context", "queue", "buffer", "program", "kernel", "event"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
static long made[KINDS][MAX_DEVICES + 1]; /* the last column: device unknown */

/* ---- rules
 * ------------------------------------------------------------------------------------------------
 */

static bool parse_action(const char *text, rule *out)
{
    static const struct {
        const char *word;
        fault_kind kind;
    } words[] = {{"hang", FAULT_HANG},
                 {"flip", FAULT_FLIP},
                 {"shadow", FAULT_SHADOW},
                 {"poison", FAULT_POISON}};
    int end = 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(text, words[i].word) == 0) {
            out->action.kind = words[i].kind;
            return true;
        }
    if (strncmp(text, "say ", 4) == 0) {
        out->action.kind = FAULT_SAY;
        snprintf(out->action.text, sizeof out->action.text, "%s", text + 4 + strspn(text + 4, " "));
        return true;
    }
    if (sscanf(text, "delay %ld ms%n", &out->milliseconds, &end) == 1 && end && text[end] == '\0')
        return out->delay = true;
    end = 0;
    out->action.kind = FAULT_CODE;
    return sscanf(text, "%d%n", &out->action.code, &end) == 1 && text[end] == '\0' &&
           out->action.code < 0;
}

static bool parse_place(char *place, rule *out)
{
    char *count = strchr(place, '#'), *device = strchr(place, '@'), *param = strchr(place, '.');
    int end = 0;
    if (count) {
        *count++ = '\0';
        if (sscanf(count, "%ld%n", &out->first, &end) != 1 || out->first < 1) return false;
        out->onwards = count[end] == '+';
        if (count[end + out->onwards] != '\0') return false;
    }
    if (device) {
        *device++ = '\0';
        bool is_queue = *device == 'q';
        end = 0;
        if (sscanf(device + is_queue, "%d%n", is_queue ? &out->queue : &out->device, &end) != 1 ||
            device[is_queue + end] != '\0')
            return false;
    }
    if (param && param < place + strlen(place))
        *param++ = '\0';
    else
        param = NULL;
    snprintf(out->call, sizeof out->call, "%s", place);
    snprintf(out->param, sizeof out->param, "%s", param ? param : "");
    return strncmp(out->call, "cl", 2) == 0;
}

static char *trim(char *text)
{
    char *end = text + strlen(text);
    while (end > text && strchr(" \t\r", end[-1]))
        *--end = '\0';
    return text + strspn(text, " \t\r");
}

static bool parse_rule(char *line, rule *out)
{
    char *arrow = strstr(line, "->");
    memset(out, 0, sizeof *out);
    out->device = out->queue = -1;
    if (arrow == NULL) return false;
    *arrow = '\0';
    return parse_place(trim(line), out) && parse_action(trim(arrow + 2), out);
}

int fault_set(const char *text)
{
    static rule parsed[MAX_RULES]; /* under rule_lock, as the result */
    char *copy = strdup(text ? text : ""), *rest = copy;
    int count = 0, result = copy ? 0 : -1;
    pthread_mutex_lock(&rule_lock);
    while (result == 0 && rest) {
        char *line = rest, *end = strpbrk(rest, ";\n");
        rest = end ? end + 1 : NULL;
        if (end) *end = '\0';
        line = trim(line);
        if (*line && (count == MAX_RULES || !parse_rule(line, &parsed[count++]))) result = -1;
    }
    if (result == 0) {
        memcpy(rules, parsed, sizeof rules);
        rule_count = count;
    }
    pthread_mutex_unlock(&rule_lock);
    free(copy);
    return result;
}

_Noreturn void fault_hang(void)
{
    for (;;)
        pause();
}

static bool matches(rule *r, const char *call, const char *param, int device, int queue)
{
    if (strcmp(r->call, call) || (r->param[0] && (!param || strcmp(r->param, param)))) return false;
    if ((r->device >= 0 && r->device != device) || (r->queue >= 0 && r->queue != queue))
        return false;
    r->seen++;
    return r->first == 0 || r->seen == r->first || (r->onwards && r->seen > r->first);
}

static void count_call(const char *call)
{
    int i = 0;
    while (i < MAX_CALLS - 1 && calls[i].name && strcmp(calls[i].name, call))
        i++;
    calls[i].name = call;
    calls[i].count++;
}

fault fault_check(const char *call, const char *param, int device, int queue, bool soft_hang)
{
    fault found = {FAULT_NONE, 0, ""};
    long wait_ms = 0;
    pthread_mutex_lock(&rule_lock);
    count_call(call);
    for (int i = 0; i < rule_count; i++) {
        if (!matches(&rules[i], call, param, device, queue)) continue;
        if (rules[i].delay)
            wait_ms += rules[i].milliseconds;
        else if (found.kind == FAULT_NONE)
            found = rules[i].action;
        fired++;
    }
    pthread_mutex_unlock(&rule_lock);
    if (wait_ms) nanosleep(&(struct timespec){wait_ms / 1000, wait_ms % 1000 * 1000000}, NULL);
    if (found.kind == FAULT_HANG && !soft_hang) fault_hang();
    return found;
}

/* ---- objects
 * ---------------------------------------------------------------------------------------------- */

static int kind_index(const char *kind, size_t length)
{
    for (int i = 0; i < KINDS; i++)
        if (strlen(kinds[i]) == length && strncmp(kinds[i], kind, length) == 0) return i;
    return -1;
}

static fault_object *look_up(const void *handle)
{
    for (int i = object_count - 1; i >= 0; i--)
        if (objects[i].handle == handle) return &objects[i];
    return NULL;
}

void fault_made(const char *kind, const void *handle, int device, int queue)
{
    int index = kind_index(kind, strlen(kind)),
        column = device >= 0 && device < MAX_DEVICES ? device : MAX_DEVICES;
    long number = 0;
    pthread_mutex_lock(&object_lock);
    for (int i = 0; i <= MAX_DEVICES; i++)
        number += made[index][i];
    made[index][column]++;
    if (object_count < MAX_OBJECTS)
        objects[object_count++] =
            (fault_object){handle, kinds[index], device, queue < 0 ? (int)number : queue, 1, false};
    pthread_mutex_unlock(&object_lock);
}

static void change(const void *handle, long by)
{
    pthread_mutex_lock(&object_lock);
    fault_object *object = look_up(handle);
    if (object && (object->references += by) <= 0) *object = objects[--object_count];
    pthread_mutex_unlock(&object_lock);
}

void fault_retained(const void *handle)
{
    change(handle, 1);
}

void fault_released(const void *handle)
{
    change(handle, -1);
}

void fault_mark(const void *handle, bool marked)
{
    pthread_mutex_lock(&object_lock);
    fault_object *object = look_up(handle);
    if (object) object->marked = marked;
    pthread_mutex_unlock(&object_lock);
}

bool fault_find(const void *handle, fault_object *out)
{
    pthread_mutex_lock(&object_lock);
    const fault_object *object = look_up(handle);
    if (object) *out = *object;
    pthread_mutex_unlock(&object_lock);
    return object != NULL;
}

static long count_calls(const char *what)
{
    long count = strncmp(what, "cl", 2) == 0 ? 0 : -1;
    pthread_mutex_lock(&rule_lock);
    for (int i = 0; i < MAX_CALLS && calls[i].name; i++)
        if (strcmp(calls[i].name, what) == 0) count = calls[i].count;
    if (strcmp(what, "rules") == 0) count = fired;
    pthread_mutex_unlock(&rule_lock);
    return count;
}

long fault_count(const char *what)
{
    bool all_made = strncmp(what, "made:", 5) == 0;
    const char *kind = all_made ? what + 5 : what, *at = strchr(kind, '@');
    size_t length = at ? (size_t)(at - kind) : strlen(kind);
    int device = at ? atoi(at + 1) : -1, index = kind_index(kind, length);
    bool every = length == 4 && strncmp(kind, "live", 4) == 0;
    long count = 0;
    if (index < 0 && !every) return count_calls(what);
    pthread_mutex_lock(&object_lock);
    if (all_made) {
        for (int k = 0; k < KINDS; k++)
            for (int i = 0; i <= MAX_DEVICES; i++)
                if ((every || k == index) && (device < 0 || i == device)) count += made[k][i];
    } else {
        for (int i = 0; i < object_count; i++)
            if ((every || objects[i].kind == kinds[index]) &&
                (device < 0 || objects[i].device == device))
                count += objects[i].references;
    }
    pthread_mutex_unlock(&object_lock);
    return count;
}
