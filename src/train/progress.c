/* progress.c - the progress bar of fit, evaluate and predict: Keras' text, to the character.
 *
 * A drawing goes back over the one before (backspaces, a carriage return), writes the bar, the
 * time and the values, and covers with blanks what was longer.  What it looks like is a pure
 * function of the counts and of the times kept in cmi_progress: cmi_progress_line.  The clock
 * and the decision to draw are in cmi_progress_update.
 *
 * The values are shown in the order of the logs: those of training sorted, then val_*, then
 * what callbacks added.
 *
 * All functions are called on the thread of the public call.  Nothing is allocated. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/clock.h"
#include "base/config.h"
#include "train/train.h"

enum { BAR_CELLS = 20, DIGITS_BYTES = 32, NUMBER_BYTES = 400, DRAW_NS = 50 * 1000 * 1000 };

/* The part of a drawing that is seen; a "%.4f" of the largest double has 314 characters. */
typedef struct line {
    size_t bytes;
    char text[CMI_PROGRESS_LINE];
} line;

/* Appends all or, when it does not fit, nothing: an entry or an escape is never cut. */
static bool add(line *out, const char *fmt, ...) CM_PRINTF(2, 3);

static bool add(line *out, const char *fmt, ...)
{
    size_t room = sizeof out->text - out->bytes;
    va_list arguments;

    va_start(arguments, fmt);
    int length = cmi_vformat(out->text + out->bytes, room, fmt, arguments);
    va_end(arguments);
    bool fits = length >= 0 && (size_t)length < room;
    if (fits) out->bytes += (size_t)length;
    out->text[out->bytes] = '\0';
    return fits;
}

/* Characters that move the cursor: code points outside the escapes, which all end in 'm'. */
static int visible_width(const char *text)
{
    int width = 0;

    for (; *text; text++) {
        if (*text == '\x1b')
            while (text[1] && *text != 'm')
                text++;
        else
            width += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return width;
}

/* ---- the parts ---- */

static double seconds(int64_t ns)
{
    return (double)ns / 1e9; /* not times 1e-9: 60 s must be 60 exactly */
}

/* Seconds per step.  The first step is left out once a time after it is known: it may contain a
 * compilation. */
static double step_time(const cmi_progress *progress, int64_t current, int64_t now_ns)
{
    if (current <= 0) return 0;
    if (progress->first_step_ns >= 0 && current > 1)
        return seconds(now_ns - progress->first_step_ns) / (double)(current - 1);
    return seconds(now_ns - progress->start_ns) / (double)current;
}

static void add_step_time(line *out, double time)
{
    if (time >= 1 || time == 0)
        (void)add(out, " %.0fs/step", time);
    else if (time >= 1e-3)
        (void)add(out, " %.0fms/step", time * 1e3);
    else
        (void)add(out, " %.0fus/step", time * 1e6);
}

static void add_time_left(line *out, double left)
{
    int64_t whole = left < 1e15 ? (int64_t)left : (int64_t)1e15;

    if (left > 3600)
        (void)add(out, "%" PRId64 ":%02d:%02d", whole / 3600, (int)(whole % 3600 / 60),
                  (int)(whole % 60));
    else if (left > 60)
        (void)add(out, "%" PRId64 ":%02d", whole / 60, (int)(whole % 60));
    else
        (void)add(out, "%" PRId64 "s", whole);
}

/* The values that fit.  Keras compares the value itself with 1e-3 in the one line of verbose 2,
 * and so writes every negative number with an exponent there.  Python has no sign on a
 * not-a-number; C may write "-nan". */
static void add_values(line *out, const cm_logs *logs, bool absolute)
{
    for (int i = 0; logs && i < logs->count; i++) {
        double value = logs->value[i], size = absolute ? fabs(value) : value;
        char number[NUMBER_BYTES];
        (void)cmi_format(number, sizeof number, size > 1e-3 ? "%.4f" : "%.4e", value);
        if (!add(out, " - %s: %s", logs->name[i], isnan(value) ? "nan" : number)) return;
    }
}

static void add_count(line *out, int64_t current, int64_t total)
{
    char digits[DIGITS_BYTES];
    int width = cmi_format(digits, sizeof digits, "%" PRId64, total);

    (void)add(out, "%*" PRId64 "/%s", width, current, digits);
}

static void add_bar(line *out, const cmi_progress *progress, int64_t current)
{
    const char *cell = progress->ascii ? "=" : "\xe2\x94\x81"; /* U+2501 */
    int done = (int)(BAR_CELLS * ((double)current / (double)progress->total));

    (void)add(out, "\x1b[1m");
    add_count(out, current, progress->total);
    (void)add(out, "\x1b[0m ");
    if (done > BAR_CELLS) done = BAR_CELLS;
    if (done > 0) (void)add(out, "\x1b[32m");
    for (int i = 0; i < done; i++)
        (void)add(out, "%s", cell);
    (void)add(out, done > 0 ? "\x1b[0m\x1b[37m" : "\x1b[37m");
    for (int i = done; i < BAR_CELLS; i++)
        (void)add(out, "%s", cell);
    (void)add(out, "\x1b[0m");
}

/* ---- a drawing ---- */

static void plain_line(const cmi_progress *progress, int64_t current, const cm_logs *logs,
                       int64_t now_ns, line *out)
{
    double elapsed = seconds(now_ns - progress->start_ns);

    add_count(out, current, progress->total);
    (void)add(out, " - %.0fs -", elapsed);
    add_step_time(out, current > 0 ? elapsed / (double)current : 0);
    add_values(out, logs, false);
}

int cmi_progress_line(const cmi_progress *progress, const cmi_progress_state *state,
                      char text[CMI_PROGRESS_BYTES])
{
    int64_t current = state->current;
    double time = step_time(progress, current, state->now_ns);
    line out = {.bytes = 0};

    out.text[0] = '\0';
    if (progress->verbose == 2) {
        plain_line(progress, current, state->logs, state->now_ns, &out);
        (void)cmi_format(text, CMI_PROGRESS_BYTES, "%s\n", out.text);
        return 0;
    }
    add_bar(&out, progress, current);
    (void)add(&out, " \x1b[1m");
    if (state->final)
        (void)add(&out, "%.0fs", seconds(state->now_ns - progress->start_ns));
    else
        add_time_left(&out, time * (double)(progress->total - current));
    (void)add(&out, "\x1b[0m");
    add_step_time(&out, time);
    add_values(&out, state->logs, true);

    int width = visible_width(out.text), before = progress->width;
    memset(text, '\b', (size_t)before);
    (void)cmi_format(text + before, CMI_PROGRESS_BYTES - (size_t)before, "\r%s%*s%s", out.text,
                     before > width ? before - width : 0, "", state->final ? "\n" : "");
    return width;
}

/* ---- when to draw ---- */

/* A C program has the "C" locale until it calls setlocale, so what the terminal shows is read
 * from the variables that setlocale would obey, the first that is set.  With none set the text
 * is UTF-8: Python, whose output this is, replaces an absent locale by UTF-8 too (since 3.7),
 * and terminals of today expect it. */
static bool output_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value) continue;
        for (; *value; value++)
            if (!strncasecmp(value, "UTF-8", 5) || !strncasecmp(value, "UTF8", 4)) return true;
        return false;
    }
    return true;
}

void cmi_progress_begin(cmi_progress *progress, int verbose, cm_output output, void *user,
                        int64_t total)
{
    *progress = (cmi_progress){
        .verbose = verbose, .output = output, .user = user, .total = total, .first_step_ns = -1};
    progress->ascii = !output_is_utf8();
    progress->start_ns = cmi_now_ns();
}

void cmi_progress_update(cmi_progress *progress, int64_t current, const cm_logs *logs, bool final)
{
    char text[CMI_PROGRESS_BYTES];

    if (!progress) return;
    progress->seen = current;
    if (progress->verbose != 1 && !(progress->verbose == 2 && final)) return;
    int64_t now_ns = cmi_now_ns();
    /* A width of 0: nothing stands there yet, so the first step is always shown. */
    if (final || progress->width == 0 || now_ns - progress->last_draw_ns >= DRAW_NS) {
        int width =
            cmi_progress_line(progress, &(cmi_progress_state){current, logs, final, now_ns}, text);
        progress->output(progress->user, text);
        progress->width = final ? 0 : width;
        progress->last_draw_ns = now_ns;
    }
    /* Also when the drawing was left out; and after it, because the first drawing tells the time
     * of the first step. */
    if (current == 1) progress->first_step_ns = now_ns;
}

void cmi_progress_abandon(cmi_progress *progress)
{
    if (!progress || progress->width == 0) return;
    progress->output(progress->user, "\n");
    progress->width = 0;
}

void cmi_output_standard(void *user, const char *text)
{
    (void)user;
    fputs(text, stdout);
    fflush(stdout);
}
