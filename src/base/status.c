/* status.c - names of status codes, and the error record of each thread.
 *
 * One idea: a failure is described once, by the line that saw it, into a record that belongs to
 * the thread. Callers only put context in front ("fit: epoch 2: layer 4: ..."), so the finished
 * message reads from the outside to the inside.  A worker's record is copied by value to the
 * thread that reports it.
 *
 * Messages are formatted in a buffer on the stack first, because their arguments may point into
 * the very record that is being replaced (a message that quotes cm_last_message()).
 *
 * Any thread; no locks, the record is thread-local. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/config.h"

static _Thread_local cm_error record;

const char *cm_status_name(cm_status status)
{
    static const char *const names[] = {
#define X(name, text) "CM_" #name,
        CM_STATUS_LIST(X)
#undef X
    };
    size_t index = (size_t)status; /* a negative value becomes a huge one */
    return index < CM_STATUS_COUNT ? names[index] : "CM_UNKNOWN";
}

const char *cm_status_text(cm_status status)
{
    static const char *const texts[] = {
#define X(name, text) text,
        CM_STATUS_LIST(X)
#undef X
    };
    size_t index = (size_t)status;
    return index < CM_STATUS_COUNT ? texts[index] : "unknown status";
}

const cm_error *cm_last_error(void)
{
    return &record;
}

cm_status cm_last_status(void)
{
    return record.status;
}

const char *cm_last_message(void)
{
    return record.message;
}

/* Replaces the end of a text that fills its buffer by "...", without leaving half a UTF-8
 * character. */
static void mark_cut(char *text, size_t bytes)
{
    size_t end = bytes - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xc0u) == 0x80u)
        end--;
    memcpy(text + end, "...", sizeof "...");
}

static void format(char message[CM_MESSAGE_BYTES], const char *fmt, va_list arguments)
{
    int length = cmi_vformat(message, CM_MESSAGE_BYTES, fmt, arguments);
    if (length < 0) message[0] = '\0';
    if (length >= CM_MESSAGE_BYTES) mark_cut(message, CM_MESSAGE_BYTES);
}

static cm_status set(cm_status status, int cl_code, const char *fmt, va_list arguments)
{
    char message[CM_MESSAGE_BYTES];
    format(message, fmt, arguments);
    record.status = status;
    record.cl_code = cl_code;
    memcpy(record.message, message, sizeof message);
    return status;
}

cm_status cmi_error(cm_status status, const char *fmt, ...)
{
    va_list arguments;
    va_start(arguments, fmt);
    set(status, 0, fmt, arguments);
    va_end(arguments);
    return status;
}

cm_status cmi_error_code(cm_status status, int cl_code, const char *fmt, ...)
{
    va_list arguments;
    va_start(arguments, fmt);
    set(status, cl_code, fmt, arguments);
    va_end(arguments);
    return status;
}

void cmi_error_prefix(const char *fmt, ...)
{
    if (!record.status) return; /* nothing failed: there is nothing to put context to */
    char context[CM_MESSAGE_BYTES], message[2 * CM_MESSAGE_BYTES + 2];
    va_list arguments;
    va_start(arguments, fmt);
    format(context, fmt, arguments);
    va_end(arguments);
    int length = snprintf(message, sizeof message, "%s: %s", context, record.message);
    if (length >= CM_MESSAGE_BYTES) mark_cut(message, CM_MESSAGE_BYTES);
    memcpy(record.message, message, CM_MESSAGE_BYTES);
}

void cmi_error_clear(void)
{
    record.status = CM_OK;
    record.cl_code = 0;
    record.message[0] = '\0';
}

void cmi_error_save(cm_error *copy)
{
    *copy = record;
}

cm_status cmi_error_restore(const cm_error *copy)
{
    record = *copy;
    return record.status;
}

/* Straight to standard error: the log's mutex may be what the failing thread holds. */
void cmi_assert_fail(const char *condition, const char *file, int line)
{
    fprintf(stderr, "clmirror: internal error: %s:%d: %s does not hold\n", file, line, condition);
    fflush(stderr);
    abort();
}
