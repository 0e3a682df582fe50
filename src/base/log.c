/* log.c - remarks that no return value can carry.
 *
 * One idea: a remark becomes finished lines, "clmirror: warning: [comm] rank 1 courier: text",
 * and one mutex hands them to one sink, so that lines of several threads never mix.  A remark of
 * several lines (the log of a compiler) reaches the sink as several lines, one after another,
 * each with the same beginning.
 *
 * Which lines pass is decided by the knob CLMIRROR_LOG, a list of `level` and `category:level`.
 *
 * Any thread.  The mutex is the last in the lock order: the sink must not call the library. */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/log.h"
#include "base/config.h"
#include "base/knob.h"
#include "base/mem.h"
#include "base/thread.h"

enum { LINE_BYTES = 1024 };

static void to_stderr(void *user, cm_log_level level, const char *line)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", line);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cm_log_sink current_sink = to_stderr; /* under `lock` */
static void *current_user;                   /* under `lock` */

static _Thread_local int thread_rank = -1;

static const char *const level_names[] = {"error", "warning", "info", "debug"};

void cm_log_set_sink(cm_log_sink sink, void *user)
{
    cmi_mutex_lock(&lock);
    current_sink = sink ? sink : to_stderr;
    current_user = sink ? user : NULL;
    cmi_mutex_unlock(&lock);
}

void cmi_log_set_rank(int rank)
{
    thread_rank = rank;
}

static bool same(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static int level_of(const char *text, size_t length)
{
    for (int i = CM_LOG_ERROR; i <= CM_LOG_DEBUG; i++) {
        if (same(text, length, level_names[i])) return i;
    }
    return -1;
}

/* The level in force for a category: the last `category:level` that names it, else the last
 * plain `level`, else warning.  *bad is the first item that is neither, or NULL. */
static int level_for(const char *setting, const char *category, const char **bad)
{
    int general = CM_LOG_WARNING, special = -1;
    *bad = NULL;
    while (*setting) {
        setting += strspn(setting, " \t,");
        size_t item = strcspn(setting, " \t,");
        const char *colon = memchr(setting, ':', item);
        const char *name = colon ? colon + 1 : setting;
        int level = level_of(name, item - (size_t)(name - setting));
        if (level < 0 && item > 0 && !*bad) *bad = setting;
        if (level >= 0 && !colon) general = level;
        if (level >= 0 && colon && same(setting, (size_t)(colon - setting), category))
            special = level;
        setting += item;
    }
    return special >= 0 ? special : general;
}

bool cmi_log_enabled(cm_log_level level, const char *category)
{
    static atomic_bool told;
    const char *bad;
    bool enabled = (int)level <= level_for(cmi_knob_text(CMI_KNOB_LOG), category, &bad);
    if (bad && !atomic_exchange(&told, true)) {
        cmi_log(CM_LOG_WARNING, "knob",
                "CLMIRROR_LOG: \"%.*s\" is not understood; valid are error, warning, info, debug, "
                "or category:level, separated by commas",
                (int)strcspn(bad, " \t,"), bad);
    }
    return enabled;
}

/* "clmirror: info: [comm] rank 1 courier: " */
static size_t begin_line(char line[LINE_BYTES], cm_log_level level, const char *category)
{
    const char *thread = cmi_thread_name();
    char rank[24] = "";
    if (thread_rank >= 0) snprintf(rank, sizeof rank, " rank %d", thread_rank);
    int length =
        snprintf(line, LINE_BYTES / 2, "clmirror: %s: [%s]%s%s%s%s ", level_names[level], category,
                 rank, thread[0] ? " " : "", thread, rank[0] || thread[0] ? ":" : "");
    return length < LINE_BYTES / 2 ? (size_t)length : LINE_BYTES / 2 - 1;
}

/* Cuts the text at its newlines; a line that is too long goes on in the next one. */
static void send(cm_log_level level, const char *category, const char *text)
{
    char line[LINE_BYTES];
    size_t begin = begin_line(line, level, category);
    cmi_mutex_lock(&lock);
    do {
        size_t length = strcspn(text, "\n");
        bool fits = length < LINE_BYTES - begin;
        size_t part = fits ? length : LINE_BYTES - begin - 1;
        memcpy(line + begin, text, part);
        line[begin + part] = '\0';
        current_sink(current_user, level, line);
        text += part;
        if (fits && *text) text++;
    } while (*text);
    cmi_mutex_unlock(&lock);
}

/* Room for a long text, or NULL; a remark must not replace the failure that it speaks of. */
static char *room(size_t bytes)
{
    cm_error record;
    char *text;
    cmi_error_save(&record);
    if (CMI_NEW(bytes, &text)) cmi_error_restore(&record);
    return text;
}

void cmi_log(cm_log_level level, const char *category, const char *fmt, ...)
{
    if (!cmi_log_enabled(level, category)) return;
    char small[LINE_BYTES], *text = small;
    va_list arguments;
    va_start(arguments, fmt);
    int length = cmi_vformat(small, sizeof small, fmt, arguments);
    va_end(arguments);
    if (length < 0) return;
    if ((size_t)length >= sizeof small && (text = room((size_t)length + 1))) {
        va_start(arguments, fmt);
        cmi_vformat(text, (size_t)length + 1, fmt, arguments);
        va_end(arguments);
    }
    if (!text) { /* no memory: better the beginning of the remark than none */
        text = small;
        memcpy(small + sizeof small - sizeof "...", "...", sizeof "...");
    }
    send(level, category, text);
    if (text != small) cmi_free(text);
}
