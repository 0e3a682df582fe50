/* registry.c - from a word that a user wrote to a descriptor.
 *
 * One idea: exact names first; a word with capitals is taken for a class name in Keras' spelling
 * (`SparseCategoricalCrossentropy`, `PReLU`, `MSE`) and compared without capitals and
 * underscores, which gives the same as Keras' own rule for the snake form.  Small words with a
 * wrong underscore stay errors, as they are in Keras, but the message knows what was meant.
 *
 * Main thread, mostly; pure but for the allocation of a configuration. */
#include <stdio.h>
#include <string.h>
#include "base/registry.h"

enum {
    NAME_BYTES = 64, /* longer words are nobody's name */
    NEAREST = 3,
    FAR = NAME_BYTES
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a')
                                : c; /* tolower would ask the locale (Turkish i) */
}

static bool equal_folded(const char *a, const char *b)
{
    for (;;) {
        while (*a == '_')
            a++;
        while (*b == '_')
            b++;
        if (lower(*a) != lower(*b)) return false;
        if (!*a) return true;
        a++;
        b++;
    }
}

static bool has_capital(const char *word)
{
    for (; *word; word++) {
        if (lower(*word) != *word) return true;
    }
    return false;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance, without regard to capitals: the fewest letters to insert, delete or
 * replace.  One row of the table is kept; row[j] is the distance between the letters of `a` so
 * far and the first j of `b`. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_BYTES], length_a = strlen(a), length_b = strlen(b);
    if (length_a >= NAME_BYTES || length_b >= NAME_BYTES) return FAR;
    for (size_t j = 0; j <= length_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t replaced = diagonal + (lower(a[i - 1]) != lower(b[j - 1]) ? 1 : 0);
            diagonal = row[j];
            row[j] = smallest(row[j] + 1, row[j - 1] + 1, replaced);
        }
    }
    return row[length_b];
}

/* The best candidates so far, nearest first. */
typedef struct nearest {
    const char *word, *found[NEAREST];
    size_t distance[NEAREST], count;
} nearest;

/* Near is 2 letters, or a third of a long word; but never all letters of a short one. */
static void consider(nearest *best, const char *candidate)
{
    size_t length = strlen(best->word), d = distance(best->word, candidate);
    size_t limit = length / 3 > 2 ? length / 3 : 2;
    if (d > limit || d >= length || d >= strlen(candidate)) return;
    size_t place = best->count;
    while (place > 0 && best->distance[place - 1] > d)
        place--;
    if (place == NEAREST) return;
    if (best->count < NEAREST) best->count++;
    for (size_t i = best->count - 1; i > place; i--) {
        best->found[i] = best->found[i - 1];
        best->distance[i] = best->distance[i - 1];
    }
    best->found[place] = candidate;
    best->distance[place] = d;
}

static void show(const nearest *best, char *text, size_t bytes)
{
    size_t length = 0;
    if (bytes > 0) text[0] = '\0';
    for (size_t i = 0; i < best->count && length < bytes; i++) {
        length += (size_t)snprintf(text + length, bytes - length, "%s\"%s\"", i > 0 ? ", " : "",
                                   best->found[i]);
    }
}

void cmi_nearest(const char *word, const char *const *words, size_t count, char *text, size_t bytes)
{
    nearest best = {.word = word};
    for (size_t i = 0; i < count; i++)
        consider(&best, words[i]);
    show(&best, text, bytes);
}

static const cmi_entry *entry_named(const cmi_registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (strcmp(registry->entries[i]->name, name) == 0) return registry->entries[i];
    }
    return NULL;
}

/* The name that a word stands for, or NULL. */
static const char *canonical(const cmi_registry *registry, const char *word)
{
    bool folded = has_capital(word);
    const cmi_alias *alias = registry->aliases;
    if (entry_named(registry, word)) return word;
    for (; alias && alias->alias; alias++) {
        if (strcmp(alias->alias, word) == 0 || (folded && equal_folded(alias->alias, word)))
            return alias->name;
    }
    for (size_t i = 0; folded && i < registry->count; i++) {
        if (equal_folded(registry->entries[i]->name, word)) return registry->entries[i]->name;
    }
    return NULL;
}

static cm_status not_found(const cmi_registry *registry, const char *word)
{
    char valid[CM_MESSAGE_BYTES] = "", near[4 * NAME_BYTES];
    nearest best = {.word = word};
    size_t length = 0;
    for (size_t i = 0; i < registry->count; i++) {
        const char *name = registry->entries[i]->name;
        consider(&best, name);
        if (length >= sizeof valid) continue; /* the message will end in "..." */
        length += (size_t)snprintf(valid + length, sizeof valid - length, "%s%s", i > 0 ? ", " : "",
                                   name);
    }
    show(&best, near, sizeof near);
    return cmi_error(CM_E_NOT_FOUND, "unknown %s \"%s\"%s%s%s valid names: %s", registry->kind,
                     word, near[0] ? "; did you mean " : "", near, near[0] ? "?" : ";", valid);
}

cm_status cmi_registry_find(const cmi_registry *registry, const char *name, const cmi_entry **entry)
{
    const char *found = canonical(registry, name);
    *entry = NULL;
    if (!found) return not_found(registry, name);
    *entry = entry_named(registry, found);
    CM_ASSERT(*entry); /* an alias of a name that is not registered */
    return CM_OK;
}

cm_status cmi_registry_parse(const cmi_registry *registry, const char *spec,
                             const cmi_entry **entry, void **config)
{
    char name[NAME_BYTES];
    *entry = NULL;
    *config = NULL;
    CM_TRY_CTX(cmi_spec_name(spec, name, sizeof name), "%s", registry->kind);
    CM_TRY(cmi_registry_find(registry, name, entry));
    cm_status status = cmi_config_parse(*entry, spec, config);
    if (status) *entry = NULL;
    return status;
}
