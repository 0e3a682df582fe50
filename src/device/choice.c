/* choice.c - reads, keeps and writes the choice table; choice.h says what a line looks like and
 * means.
 *
 * A device has its choices as a small array, filled at the first product.  Reading is strict: what
 * does not look exactly like a line of this version is passed over.  Writing keeps the lines of
 * other devices that read well.
 *
 * Called by the owner of the device's stream. */
#include <stdio.h>
#include <string.h>
#include <clmirror/version.h>
#include "base/cachefile.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/choice.h"
#include "device/internal.h"

enum { MOST_BYTES = 1 << 18, LINE_BYTES = CMI_CHOICE_KEY_BYTES + 64 };

static const char FILE_NAME[] = "choices";
static const char *const class_names[CMI_GEMM_CLASS_COUNT] = {"small", "tall", "wide", "square"};
static const char *const implementation_names[] = {"auto", "packed", "clblast"};

const size_t cmi_tile_rows[CMI_TILE_ROW_COUNT] = {4, 6, 8, 12};

cmi_gemm_class cmi_gemm_class_of(const cmi_gemm *g)
{
    /* In double, which overflows for no size. */
    if ((double)g->m * (double)g->n * (double)g->k < 0x1p20) return CMI_GEMM_SMALL;
    if (g->m / 4 >= g->n) return CMI_GEMM_TALL;
    return g->n / 4 >= g->m ? CMI_GEMM_WIDE : CMI_GEMM_SQUARE;
}

const char *cmi_gemm_class_name(cmi_gemm_class of)
{
    return class_names[of];
}

void cmi_choice_key(const cmi_device *device, char key[CMI_CHOICE_KEY_BYTES])
{
    const cmi_device_facts *facts = &device->facts;

    snprintf(key, CMI_CHOICE_KEY_BYTES, "%s | %s | %u-wide | clmirror %s", facts->info.name,
             facts->info.driver, (unsigned)facts->vector, cm_version());
    for (char *c = key; *c; c++)
        if (*c > 0 && *c < ' ') *c = ' ';
}

/* ---- lines ---- */

/* The index of the word at *at in a list of names, and *at behind it and the blank that follows;
 * -1: none of them. */
static int take_word(const char **at, const char *const names[], int count)
{
    size_t length = strcspn(*at, " ");

    for (int i = 0; i < count; i++) {
        if (strlen(names[i]) != length || strncmp(*at, names[i], length) || (*at)[length] != ' ')
            continue;
        *at += length + 1;
        return i;
    }
    return -1;
}

static bool rows_allowed(int rows)
{
    for (int i = 0; i < CMI_TILE_ROW_COUNT; i++)
        if (cmi_tile_rows[i] == (size_t)rows) return true;
    return rows == 0;
}

/* Reads "gemm wide packed 6 <device>"; false: it is no such line.  *key is the rest. */
static bool read_line(const char *line, cmi_gemm_class *of, cmi_gemm_entry *entry, const char **key)
{
    static const char *const kinds[] = {"gemm"};
    const char *at = line;
    int rows = 0, digits = 0;

    if (take_word(&at, kinds, 1)) return false;
    int class = take_word(&at, class_names, CMI_GEMM_CLASS_COUNT);
    int implementation = class < 0 ? -1 : take_word(&at, implementation_names, 3);
    if (implementation <= CMI_GEMM_AUTO) return false;
    for (; digits < 3 && *at >= '0' && *at <= '9'; digits++)
        rows = 10 * rows + *at++ - '0';
    if (!digits || *at++ != ' ' || !*at || !rows_allowed(rows)) return false;
    *of = (cmi_gemm_class) class;
    *entry = (cmi_gemm_entry){(cmi_gemm_choice)implementation, (size_t)rows};
    *key = at;
    return true;
}

/* The next line of a text, without its end; NULL: no more.  A 0 inside ends the text. */
static char *next_line(char **text)
{
    char *line = *text, *end = strchr(line, '\n');

    if (!*line) return NULL;
    *text = end ? end + 1 : line + strlen(line);
    if (end) *end = '\0';
    return line;
}

/* The file's text, or NULL.  The caller's error record stays as it is: a missing table is no
 * failure. */
static char *load(void)
{
    char *text = NULL;
    size_t count = 0;
    cm_error before;

    cmi_error_save(&before);
    cm_status status = cmi_cache_load(FILE_NAME, MOST_BYTES, &text, &count);
    if (status && status != CM_E_NOT_FOUND && status != CM_E_STATE)
        cmi_log(CM_LOG_DEBUG, "device", "the choice table is not read: %s", cm_last_message());
    (void)cmi_error_restore(&before);
    return text;
}

/* ---- reading ---- */

static void read_table(cmi_device *device)
{
    char key[CMI_CHOICE_KEY_BYTES], *text = load(), *rest = text, *line;
    const char *other = NULL;
    cmi_gemm_class of = CMI_GEMM_SMALL;
    cmi_gemm_entry entry;

    memset(&device->choices, 0, sizeof device->choices);
    device->choices.known = true;
    cmi_choice_key(device, key);
    while (text && (line = next_line(&rest))) {
        if (!read_line(line, &of, &entry, &other)) {
            cmi_log(CM_LOG_DEBUG, "device", "no line of a choice table: %.100s", line);
            continue;
        }
        if (strcmp(other, key)) continue;
        device->choices.gemm[of] = entry;
        cmi_log(CM_LOG_DEBUG, "device", "%s: tuned: %.60s", device->facts.name, line);
    }
    cmi_free(text);
}

cmi_gemm_entry cmi_choice_gemm(cmi_device *device, const cmi_gemm *gemm)
{
    if (!device->choices.known) read_table(device);
    return device->choices.gemm[cmi_gemm_class_of(gemm)];
}

void cmi_choice_set(cmi_device *device, const cmi_gemm_entry entries[CMI_GEMM_CLASS_COUNT])
{
    device->choices.known = true;
    memcpy(device->choices.gemm, entries, sizeof device->choices.gemm);
}

void cmi_choice_forget(cmi_device *device)
{
    device->choices.known = false;
}

/* ---- writing ---- */

cm_status cmi_choice_save(cmi_device *device)
{
    char key[CMI_CHOICE_KEY_BYTES], *text = load(), *rest = text, *made = NULL, *line;
    size_t length = 0, room = (text ? strlen(text) : 0) + 1 + CMI_GEMM_CLASS_COUNT * LINE_BYTES;
    const char *other = NULL;
    cmi_gemm_class of = CMI_GEMM_SMALL;
    cmi_gemm_entry entry;
    cm_status status = CM_OK;

    cmi_choice_key(device, key);
    CM_TRY_GOTO(done, cmi_alloc(room, 1, (void **)&made));
    while (text && (line = next_line(&rest)))
        if (read_line(line, &of, &entry, &other) && strcmp(other, key))
            length += (size_t)snprintf(made + length, room - length, "%s\n", line);
    /* Room for ours is kept by letting the others go: the file is no archive. */
    if (length + CMI_GEMM_CLASS_COUNT * LINE_BYTES > MOST_BYTES) length = 0;
    for (int i = 0; i < CMI_GEMM_CLASS_COUNT && device->choices.known; i++) {
        entry = device->choices.gemm[i];
        if (entry.implementation == CMI_GEMM_AUTO) continue;
        length +=
            (size_t)snprintf(made + length, room - length, "gemm %s %s %zu %s\n", class_names[i],
                             implementation_names[entry.implementation], entry.rows, key);
    }
    status = cmi_cache_store(FILE_NAME, made, length);
done:
    cmi_free(text);
    cmi_free(made);
    return status;
}
