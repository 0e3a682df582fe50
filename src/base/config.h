/* config.h - "name key=value ..." read into a struct through a table of fields, and printed back.
 *
 * Grammar.  A SPEC is `name key=value ...`; inside another value it is written
 * `name(key=value,...)`.  A comma followed by `key=` starts a key, any other comma continues a
 * list.  A MODEL is specs separated by `;` or new lines, `#` starts a comment.  Numbers are read
 * and printed in the C locale whatever the program's is. Every descriptor (layer, loss, ...) has
 * such a table, so one parser and one --help serve them all. */
#ifndef CMI_BASE_CONFIG_H
#define CMI_BASE_CONFIG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

typedef enum cmi_field_type {
    CMI_FIELD_INT,    /* int64_t */
    CMI_FIELD_FLOAT,  /* double; `1/255` is accepted as a quotient */
    CMI_FIELD_BOOL,   /* bool; true, false, 1, 0 */
    CMI_FIELD_ENUM,   /* int, index into `choices` */
    CMI_FIELD_TEXT,   /* char *, owned; NULL for None */
    CMI_FIELD_INTS,   /* cmi_ints */
    CMI_FIELD_FLOATS, /* cmi_floats */
    CMI_FIELD_SPEC /* char *, owned; a nested spec in its outer form "name key=value ...", NULL for None */
} cmi_field_type;

#define CMI_MAX_LIST 16

typedef struct cmi_ints {
    int count;
    int64_t value[CMI_MAX_LIST];
} cmi_ints;

typedef struct cmi_floats {
    int count;
    double value[CMI_MAX_LIST];
} cmi_floats;

/* "None" is NAN for FLOAT, CMI_INT_NONE for INT, count 0 for lists, NULL for TEXT and SPEC.  It is
 * accepted for every TEXT and SPEC, and for the others where the fallback is None; never for BOOL
 * and ENUM (an ENUM may list it among its choices). */
#define CMI_INT_NONE INT64_MIN

typedef struct cmi_field {
    const char *key;
    cmi_field_type type;
    size_t offset;        /* of the member in the config struct */
    const char *fallback; /* default as text, "None" allowed; NULL: the key must be given */
    double min, max;      /* inclusive; both 0: no limit.  For lists: of every element */
    const char *help;
    const char *const *choices; /* ENUM: NULL-terminated names */
} cmi_field;

/* The last row of a table of fields. */
#define CMI_FIELDS_END {NULL, CMI_FIELD_INT, 0, NULL, 0, 0, NULL, NULL}

/* What every descriptor begins with; a field table ends with a NULL key (NULL table: no options).
 */
typedef struct cmi_entry {
    const char *name;
    const char *doc; /* one line */
    size_t config_size;
    const cmi_field *fields;
} cmi_entry;

/* Reads "name key=value ..." whose name was already resolved to `entry`; allocates *config
 * (config_size bytes, NULL if 0) with every field set.  CM_E_INVALID names the spec, the key, the
 * value, and what is valid. */
cm_status cmi_config_parse(const cmi_entry *entry, const char *spec, void **config);
/* Frees texts inside and the struct; accepts NULL. */
void cmi_config_free(const cmi_entry *entry, void *config);
/* Prints the spec back: name and every field that differs from its default, in table order; always
 * ends in a zero; returns the length that was needed, as snprintf. */
size_t cmi_config_print(const cmi_entry *entry, const void *config, char *text, size_t bytes);

/* Cuts the first word of a spec into `name`; accepts `name(...)`.  CM_E_INVALID for an empty spec
 * or a name that is not [A-Za-z_][A-Za-z0-9_]* or too long. */
cm_status cmi_spec_name(const char *spec, char *name, size_t bytes);
/* Takes the next spec of a model text (or of a comma list of specs when `separators` is ","):
 * copies it, trimmed, comments removed, into *spec (caller frees) and advances *cursor; *spec is
 * NULL at the end. */
cm_status cmi_spec_next(const char **cursor, const char *separators, char **spec);

/* Walks the pairs of a spec.  Open steps over the name and, if there are, into its brackets; next
 * copies one pair, with the blanks around its commas dropped, into one block: *key (caller frees)
 * and *value inside it. *key is NULL at the end. */
typedef struct cmi_pairs {
    const char *at, *end;
} cmi_pairs;
cm_status cmi_pairs_open(const char *spec, cmi_pairs *pairs);
cm_status cmi_pairs_next(cmi_pairs *pairs, char **key, char **value);

/* snprintf in the C locale: "%g" never writes a decimal comma, "%'d" never groups. */
int cmi_format(char *text, size_t bytes, const char *fmt, ...) CM_PRINTF(3, 4);
int cmi_vformat(char *text, size_t bytes, const char *fmt, va_list arguments) CM_PRINTF(3, 0);

/* strtod and strtoll in the C locale; the whole text must be a number that is finite and fits.
 * Integers may end in K, M or G (powers of 1024).  On false *value is unchanged. */
bool cmi_parse_double(const char *text, double *value);
bool cmi_parse_int(const char *text, int64_t *value);
/* Shortest decimal that reads back as the same double. */
const char *cmi_print_double(double value, char *text, size_t bytes);

#endif
