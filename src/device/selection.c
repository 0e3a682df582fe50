/* selection.c - from a text such as "gpu", "/GPU:1", "0.1,skylake" or "cpu*4" to devices in rank
 * order.
 *
 * A selection is a list of ITEMS; an item is a BASE, perhaps with "*n" behind it.  A base is, in
 * the order in which it is tried: platform.device, a kind word, a name of TensorFlow's, a part of a
 * name.  What a base names is never replaced by something else: a wrong base ends in an error that
 * lists what there is, because a training that runs on other devices than asked for is found out
 * hours later.
 *
 * The forms are documented in clmirror/device.h.  Any thread; reads only the list. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/knob.h"
#include "base/log.h"
#include "device/cl.h"

enum { TEXT_BYTES = 1024, LIST_BYTES = 560 };

typedef struct matches {
    int index[CM_MAX_DEVICES];
    int count;
} matches;

const char *cm_device_kind_name(cm_device_kind kind)
{
    static const char *const names[] = {"GPU", "accelerator", "CPU", "other"};
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "other";
}

/* ---- texts for messages
 * ----------------------------------------------------------------------------------- */

/* Appends to a text that keeps its end zero; what does not fit is cut. */
static void add(char *text, size_t bytes, const char *fmt, ...) CM_PRINTF(3, 4);

static void add(char *text, size_t bytes, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, fmt);
    vsnprintf(text + used, bytes - used, fmt, arguments);
    va_end(arguments);
}

/* Variables by which drivers and the loader hide devices; those that are set may explain a missing
 * one. */
static void add_hiding(char *text, size_t bytes)
{
    static const char *const variables[] = {
        "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
        "POCL_DEVICES",         "RUSTICL_ENABLE",       "OCL_ICD_VENDORS",     "OPENCL_LAYERS"};
    int found = 0;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value)
            add(text, bytes, "%s%s=\"%.60s\"",
                found++ ? ", " : "; set, and may hide devices: ", variables[i], value);
    }
}

static void add_device(char *text, size_t bytes, const cm_device_info *info)
{
    add(text, bytes, "%d.%d %s \"%.60s: %.60s\"%s", info->platform, info->device,
        cm_device_kind_name(info->kind), info->platform_name, info->name,
        info->usable ? "" : " (not usable)");
}

/* "there is: 0.0 CPU "...", ..." or the list's problem. */
static cm_status nothing(const cm_device_list *list, const char *what)
{
    char text[LIST_BYTES] = "";
    int count = cm_device_list_count(list);
    if (count == 0 || (what == NULL && cm_device_list_problem(list)[0]))
        return cmi_error(CM_E_NO_DEVICE, "%s%s%s", what ? what : "", what ? ": " : "",
                         cm_device_list_problem(list));
    for (int i = 0; i < count; i++) {
        add(text, sizeof text, "%s", i ? ", " : "there is: ");
        add_device(text, sizeof text, cm_device_list_get(list, i));
    }
    char hiding[LIST_BYTES] = "";
    add_hiding(hiding, sizeof hiding);
    return cmi_error(CM_E_NO_DEVICE, "%s; %s%s", what ? what : "no GPU, accelerator or CPU", text,
                     hiding);
}

/* ---- kinds
 * ------------------------------------------------------------------------------------------------
 */

static bool same_word(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

/* Whether `text` has `part` in it, in any case. */
static bool has_part(const char *text, const char *part)
{
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (part[i] == '\0') return true;
    }
    return false;
}

enum { ALL_KINDS = -1, NO_KIND = -2 };

/* A cm_device_kind, ALL_KINDS, or NO_KIND for a word that is none. */
static int kind_word(const char *word)
{
    if (same_word(word, "all")) return ALL_KINDS;
    for (int kind = CM_DEVICE_GPU; kind <= CM_DEVICE_CPU; kind++)
        if (same_word(word, cm_device_kind_name((cm_device_kind)kind))) return kind;
    return NO_KIND;
}

static bool of_kind(const cm_device_info *info, int kind)
{
    return info->usable && (kind == ALL_KINDS || (int)info->kind == kind);
}

/* One line for the whole selection, naming the first pair. */
static void warn_of_duplicates(const cm_device_list *list, int kind)
{
    const cm_device_info *dropped = NULL;
    int more = -1;
    for (int i = cm_device_list_count(list) - 1; i >= 0; i--) {
        const cm_device_info *info = cm_device_list_get(list, i);
        if (of_kind(info, kind) && info->duplicate_of >= 0) {
            dropped = info;
            more++;
        }
    }
    if (dropped == NULL) return;
    const cm_device_info *kept = cm_device_list_get(list, dropped->duplicate_of);
    char text[LIST_BYTES] = "", rest[48] = "";
    add_device(text, sizeof text, kept);
    add(text, sizeof text, " and ");
    add_device(text, sizeof text, dropped);
    if (more) snprintf(rest, sizeof rest, " (and %d more)", more);
    cmi_log(CM_LOG_WARNING, "device",
            "%s%s are taken for the same hardware: the first is used; to use both name them by "
            "number: %d.%d,%d.%d",
            text, rest, kept->platform, kept->device, dropped->platform, dropped->device);
}

/* Every usable device of a kind that is not a duplicate; of CPUs those of the first platform that
 * has any. */
static cm_status find_kind(const cm_device_list *list, int kind, matches *found)
{
    int platform = -1;
    for (int i = 0; i < cm_device_list_count(list); i++) {
        const cm_device_info *info = cm_device_list_get(list, i);
        if (!of_kind(info, kind) || info->duplicate_of >= 0) continue;
        if (platform < 0) platform = info->platform;
        if (kind == CM_DEVICE_CPU && info->platform != platform) continue;
        if (found->count == CM_MAX_DEVICES)
            return cmi_error(CM_E_INVALID, "more than %d devices; name some of them",
                             CM_MAX_DEVICES);
        found->index[found->count++] = i;
    }
    return CM_OK;
}

static cm_status find_default(const cm_device_list *list, matches *found)
{
    for (int kind = CM_DEVICE_GPU; kind <= CM_DEVICE_CPU; kind++) {
        CM_TRY(find_kind(list, kind, found));
        if (found->count) {
            warn_of_duplicates(list, kind);
            return CM_OK;
        }
    }
    return nothing(list, NULL);
}

/* ---- bases
 * ------------------------------------------------------------------------------------------------
 */

/* Reads digits only; false for anything else and for numbers over a million. */
static bool read_number(const char *text, const char *end, int *number)
{
    int value = 0;
    if (text == end) return false;
    for (; text < end; text++) {
        if (!isdigit((unsigned char)*text) || value > 100000) return false;
        value = 10 * value + (*text - '0');
    }
    *number = value;
    return true;
}

static cm_status find_numbered(const cm_device_list *list, int platform, int device, matches *found)
{
    char what[2 * CM_DEVICE_TEXT_BYTES];
    for (int i = 0; i < cm_device_list_count(list); i++) {
        const cm_device_info *info = cm_device_list_get(list, i);
        if (info->platform != platform || info->device != device) continue;
        if (info->usable) {
            found->index[found->count++] = i;
            return CM_OK;
        }
        snprintf(what, sizeof what, "device %d.%d is not usable: %s", platform, device,
                 info->reason);
        return nothing(list, what);
    }
    snprintf(what, sizeof what, "there is no device %d.%d (platform.device)", platform, device);
    return nothing(list, what);
}

/* Skips `prefix`, in any case, if it is there. */
static bool skip(const char **text, const char *prefix)
{
    const char *at = *text;
    for (; *prefix; prefix++, at++)
        if (tolower((unsigned char)*at) != *prefix) return false;
    *text = at;
    return true;
}

/* TensorFlow's names: [/job:localhost][/replica:0][/task:0]/device:GPU:1, /GPU:1, GPU:1.  *is_one
 * tells whether the text is meant to be such a name at all. */
static cm_status find_tensorflow(const cm_device_list *list, const char *base, matches *found,
                                 bool *is_one)
{
    const char *at = base;
    char word[16] = "", what[160];
    int number = 0;
    skip(&at, "/job:localhost");
    skip(&at, "/replica:0");
    skip(&at, "/task:0");
    if (!skip(&at, "/device:") && !skip(&at, "device:")) skip(&at, "/");
    const char *colon = strchr(at, ':');
    if (colon && colon - at < (ptrdiff_t)sizeof word) memcpy(word, at, (size_t)(colon - at));
    int kind = kind_word(word);
    *is_one = base[0] == '/' || kind >= 0;
    if (!*is_one) return CM_OK;
    if (kind < 0 || !read_number(colon + 1, base + strlen(base), &number))
        return cmi_error(
            CM_E_INVALID,
            "\"%.80s\" is no device name: say /GPU:0, /CPU:0 or /accelerator:0 (this process is "
            "/job:localhost/replica:0/task:0)",
            base);
    matches all = {.count = 0};
    CM_TRY(find_kind(list, kind, &all));
    if (number < all.count) {
        found->index[found->count++] = all.index[number];
        return CM_OK;
    }
    snprintf(what, sizeof what, "\"%.80s\": there %s %d %s%s", base, all.count == 1 ? "is" : "are",
             all.count, cm_device_kind_name((cm_device_kind)kind), all.count == 1 ? "" : "s");
    return nothing(list, what);
}

/* Usable devices whose name or "platform: name" has the part.  Hardware that is certainly the same
 * counts once; a CPU that two platforms offer does not, since the two drivers are not the same
 * thing. */
static void find_part(const cm_device_list *list, const char *part, matches *found,
                      const char **unusable)
{
    for (int i = 0; i < cm_device_list_count(list) && found->count < CM_MAX_DEVICES; i++) {
        const cm_device_info *info = cm_device_list_get(list, i);
        char full[2 * CM_DEVICE_TEXT_BYTES + 2];
        snprintf(full, sizeof full, "%s: %s", info->platform_name, info->name);
        if (!has_part(full, part)) continue;
        bool known = false;
        for (int j = 0; j < found->count; j++)
            known |= info->duplicate_of == found->index[j] && cmi_device_list_certain(list, i);
        if (!info->usable)
            *unusable = info->reason;
        else if (!known)
            found->index[found->count++] = i;
    }
}

static cm_status ambiguous(const cm_device_list *list, const char *part, const matches *all)
{
    char text[LIST_BYTES] = "";
    for (int i = 0; i < all->count; i++) {
        const cm_device_info *info = cm_device_list_get(list, all->index[i]);
        add(text, sizeof text, "%s", i ? ", " : "");
        add_device(text, sizeof text, info);
        if (strlen(part) < 40) add(text, sizeof text, " (or \"%s:%d\")", part, i);
    }
    return cmi_error(
        CM_E_INVALID,
        "\"%.80s\" is ambiguous, %d devices have it in their names; name one by its number: %s",
        part, all->count, text);
}

/* "part" or "part:i", the i-th of the devices that have the part. */
static cm_status find_name(const cm_device_list *list, const char *base, matches *found)
{
    const char *unusable = NULL, *colon = strrchr(base, ':');
    char part[TEXT_BYTES], what[TEXT_BYTES / 2];
    int number = -1;
    matches all = {.count = 0};
    snprintf(part, sizeof part, "%s", base);
    find_part(list, part, &all, &unusable);
    if (all.count == 0 && colon && read_number(colon + 1, base + strlen(base), &number)) {
        part[colon - base] = '\0';
        find_part(list, part, &all, &unusable);
    } else {
        number = -1;
    }
    if (number >= 0 && number < all.count) {
        found->index[found->count++] = all.index[number];
        return CM_OK;
    }
    if (all.count == 1 && number < 0) {
        *found = all;
        return CM_OK;
    }
    if (all.count && number < 0) return ambiguous(list, part, &all);
    if (unusable)
        snprintf(what, sizeof what, "\"%.80s\" names a device that is not usable: %s", base,
                 unusable);
    else if (all.count)
        snprintf(what, sizeof what, "\"%.80s\": only %d device%s \"%.60s\" in the name", base,
                 all.count, all.count == 1 ? " has" : "s have", part);
    else
        snprintf(
            what, sizeof what,
            "no device has \"%.80s\" in its name, and it is no kind (gpu, cpu, accelerator, all)",
            base);
    return nothing(list, what);
}

static cm_status find_base(const cm_device_list *list, const char *base, matches *found)
{
    const char *end = base + strlen(base), *dot = strchr(base, '.');
    int platform = 0, device = 0, kind = kind_word(base);
    char what[64];
    bool is_one = false;
    if (dot && read_number(base, dot, &platform) && read_number(dot + 1, end, &device))
        return find_numbered(list, platform, device, found);
    if (end - base <= 2 && read_number(base, end, &device))
        return cmi_error(CM_E_INVALID,
                         "\"%s\": a device has two numbers, platform.device, such as 0.%s", base,
                         base);
    if (kind == NO_KIND) {
        CM_TRY(find_tensorflow(list, base, found, &is_one));
        return is_one ? CM_OK : find_name(list, base, found);
    }
    CM_TRY(find_kind(list, kind, found));
    if (found->count == 0) {
        snprintf(what, sizeof what, "there is no %s",
                 kind == ALL_KINDS ? "usable device" : cm_device_kind_name((cm_device_kind)kind));
        return nothing(list, what);
    }
    warn_of_duplicates(list, kind);
    return CM_OK;
}

/* ---- items and choices
 * ------------------------------------------------------------------------------------ */

typedef struct target {
    cm_device_choice *choices;
    int count;
} target;

static cm_status add_choice(target *out, const cm_device_choice *choice)
{
    if (out->count == CM_MAX_DEVICES)
        return cmi_error(CM_E_INVALID, "more than %d devices and parts", CM_MAX_DEVICES);
    out->choices[out->count++] = *choice;
    return CM_OK;
}

static cm_status add_parts(const cm_device_list *list, int index, int parts, target *out)
{
    const cm_device_info *info = cm_device_list_get(list, index);
    uint32_t n = (uint32_t)parts, units = info->compute_units;
    for (int i = 0; i < out->count; i++)
        if (out->choices[i].index == index)
            return cmi_error(
                CM_E_INVALID,
                "device %d.%d \"%.80s\" is named twice; for two replicas on one device say %d.%d*2",
                info->platform, info->device, info->name, info->platform, info->device);
    for (uint32_t part = 0; part < n; part++) {
        cm_device_choice choice = {.index = index, .part = (int)part, .parts = parts};
        choice.subdevice = n > 1 && n <= info->parts;
        choice.units = units / n + (part < units % n);
        if (choice.units == 0)
            choice.units = 1; /* more logical replicas than compute units share them in turn */
        CM_TRY(add_choice(out, &choice));
    }
    return CM_OK;
}

/* Cuts "*n" off the item; parts 0: there is none. */
static cm_status cut_parts(char *item, int *parts)
{
    char *star = strrchr(item, '*');
    *parts = 0;
    if (star == NULL) return CM_OK;
    if (star == item || !read_number(star + 1, item + strlen(item), parts) || *parts < 1 ||
        *parts > CM_MAX_DEVICES)
        return cmi_error(CM_E_INVALID, "\"%.80s\": say SEL*n with n = 1 ... %d, such as cpu*2",
                         item, CM_MAX_DEVICES);
    while (star > item && isspace((unsigned char)star[-1]))
        star--;
    *star = '\0';
    return CM_OK;
}

static cm_status add_item(const cm_device_list *list, char *item, target *out)
{
    matches found = {.count = 0};
    int parts = 0;
    CM_TRY(cut_parts(item, &parts));
    CM_TRY(find_base(list, item, &found));
    if (parts) return add_parts(list, found.index[0], parts, out);
    for (int i = 0; i < found.count; i++)
        CM_TRY(add_parts(list, found.index[i], 1, out));
    return CM_OK;
}

/* Without the blanks at both ends, in place. */
static char *trim(char *text)
{
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static cm_status add_items(const cm_device_list *list, const char *selection, target *out)
{
    char text[TEXT_BYTES];
    if (strlen(selection) >= sizeof text)
        return cmi_error(CM_E_INVALID, "a selection of %zu characters; at most %d are read",
                         strlen(selection), TEXT_BYTES - 1);
    memcpy(text, selection, strlen(selection) + 1);
    char *rest = text;
    for (int number = 1; rest; number++) {
        char *item = rest, *comma = strchr(rest, ',');
        rest = comma ? comma + 1 : NULL;
        if (comma) *comma = '\0';
        item = trim(item);
        if (*item == '\0')
            return cmi_error(CM_E_INVALID, "\"%.200s\": item %d of the list is empty", selection,
                             number);
        CM_TRY(add_item(list, item, out));
    }
    return CM_OK;
}

static bool is_blank(const char *text)
{
    return text == NULL || text[strspn(text, " \t\n")] == '\0';
}

cm_status cm_device_select(const cm_device_list *list, const char *selection,
                           cm_device_choice choices[CM_MAX_DEVICES], int *count)
{
    cmi_error_clear();
    if (count) *count = 0;
    if (list == NULL || choices == NULL || count == NULL)
        return cmi_error(CM_E_INVALID, "cm_device_select: `list`, `choices` or `count` is NULL");
    target out = {choices, 0};
    bool from_environment = is_blank(selection);
    if (from_environment) selection = cmi_knob_text(CMI_KNOB_DEVICES);
    if (!is_blank(selection)) {
        cm_status status = add_items(list, selection, &out);
        if (status) {
            cmi_error_prefix("%s\"%.120s\"", from_environment ? "CLMIRROR_DEVICES=" : "devices ",
                             selection);
            return status;
        }
    } else {
        matches found = {.count = 0};
        CM_TRY(find_default(list, &found));
        for (int i = 0; i < found.count; i++)
            CM_TRY(add_parts(list, found.index[i], 1, &out));
    }
    *count = out.count;
    return CM_OK;
}
