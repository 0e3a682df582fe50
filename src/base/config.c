/* config.c - a spec becomes a struct through a table of fields, and a struct becomes a spec.
 *
 * One idea: a descriptor says once, in its table, what its options are called, of which type,
 * with which default and limits; reading, checking, defaults, messages and printing all follow
 * from the table.  Printing writes only what differs from the defaults, and reading it again
 * gives an equal struct; that is how a saved model keeps its configuration.
 *
 * How the text is cut into pairs is in spec.c; here every value is a zero-terminated text of its
 * own.
 *
 * Main thread (pure functions but for allocations; any thread would do). */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/config.h"
#include "base/mem.h"
#include "base/registry.h"

enum {
    MAX_FIELDS = 64,   /* the bits of the set of keys already read */
    NUMBER_BYTES = 64, /* longer texts are no numbers */
    VALUE_BYTES = 512  /* a full list, 16 numbers of at most 24 characters and their commas */
};

static const char *const none_word = "None";

/* Which fields may be None: texts, because NULL says so, and others where the default is None.
 * A number that has a default does not silently become NAN. */
static bool may_be_none(const cmi_field *field)
{
    if (field->type == CMI_FIELD_TEXT || field->type == CMI_FIELD_SPEC) return true;
    return field->fallback && strcmp(field->fallback, none_word) == 0 &&
           field->type != CMI_FIELD_BOOL && field->type != CMI_FIELD_ENUM;
}

static void store_none(const cmi_field *field, void *member)
{
    if (field->type == CMI_FIELD_INT) *(int64_t *)member = CMI_INT_NONE;
    if (field->type == CMI_FIELD_FLOAT) *(double *)member = NAN;
    if (field->type == CMI_FIELD_INTS) ((cmi_ints *)member)->count = 0;
    if (field->type == CMI_FIELD_FLOATS) ((cmi_floats *)member)->count = 0;
    if (field->type == CMI_FIELD_TEXT || field->type == CMI_FIELD_SPEC) *(char **)member = NULL;
}

static cm_status bad_value(const cmi_field *field, const char *text, const char *expected)
{
    return cmi_error(CM_E_INVALID, "%s=%s is not %s", field->key, text, expected);
}

static cm_status check_range(const cmi_field *field, const char *text, double value)
{
    char low[NUMBER_BYTES], high[NUMBER_BYTES];
    if ((field->min == 0 && field->max == 0) || (value >= field->min && value <= field->max))
        return CM_OK;
    cmi_print_double(field->min, low, sizeof low);
    cmi_print_double(field->max, high, sizeof high);
    if (field->max >= DBL_MAX) {
        return cmi_error(CM_E_INVALID, "%s=%s is out of range; it must be at least %s", field->key,
                         text, low);
    }
    if (field->min <= -DBL_MAX) {
        return cmi_error(CM_E_INVALID, "%s=%s is out of range; it must be at most %s", field->key,
                         text, high);
    }
    return cmi_error(CM_E_INVALID, "%s=%s is out of range; it must be from %s to %s", field->key,
                     text, low, high);
}

static cm_status read_int(const cmi_field *field, const char *text, int64_t *value)
{
    /* The smallest number stands for None and cannot be given as a number. */
    if (!cmi_parse_int(text, value) || *value == CMI_INT_NONE)
        return bad_value(field, text, "a whole number");
    return check_range(field, text, (double)*value);
}

/* A number, or a quotient of two such as 1/255. */
static bool parse_quotient(const char *text, double *value)
{
    char above[NUMBER_BYTES];
    double below;
    const char *slash = strchr(text, '/');
    if (!slash) return cmi_parse_double(text, value);
    size_t length = (size_t)(slash - text);
    if (length >= sizeof above) return false;
    memcpy(above, text, length);
    above[length] = '\0';
    if (!cmi_parse_double(above, value) || !cmi_parse_double(slash + 1, &below)) return false;
    *value /= below;
    return isfinite(*value);
}

static cm_status read_float(const cmi_field *field, const char *text, double *value)
{
    if (!parse_quotient(text, value)) return bad_value(field, text, "a finite number");
    return check_range(field, text, *value);
}

static cm_status read_bool(const cmi_field *field, const char *text, bool *value)
{
    bool yes = !strcmp(text, "true") || !strcmp(text, "True") || !strcmp(text, "1");
    bool no = !strcmp(text, "false") || !strcmp(text, "False") || !strcmp(text, "0");
    if (!yes && !no) return bad_value(field, text, "true or false");
    *value = yes;
    return CM_OK;
}

/* Adds ", word" to a list for a message; what does not fit is left out, messages end in "..."
 * anyway. */
static void add_word(char *list, size_t bytes, const char *word)
{
    size_t length = strlen(list);
    snprintf(list + length, bytes - length, "%s%s", length > 0 ? ", " : "", word);
}

static cm_status read_enum(const cmi_field *field, const char *text, int *value)
{
    char near[VALUE_BYTES], valid[CM_MESSAGE_BYTES] = "";
    size_t count = 0;
    for (; field->choices[count]; count++) {
        if (strcmp(text, field->choices[count]) == 0) {
            *value = (int)count;
            return CM_OK;
        }
        add_word(valid, sizeof valid, field->choices[count]);
    }
    cmi_nearest(text, field->choices, count, near, sizeof near);
    return cmi_error(CM_E_INVALID, "%s=%s is not known%s%s%s valid are: %s", field->key, text,
                     near[0] ? "; did you mean " : "", near, near[0] ? "?" : ";", valid);
}

/* Cuts the next element of a list out of [*at, end), without blanks; false when it has no room. */
static bool next_element(const char **at, const char *end, char element[NUMBER_BYTES])
{
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    const char *stop = comma ? comma : end, *begin = *at;
    *at = comma ? comma + 1 : NULL;
    while (begin < stop && *begin == ' ')
        begin++;
    while (stop > begin && stop[-1] == ' ')
        stop--;
    if (stop - begin >= NUMBER_BYTES) return false;
    memcpy(element, begin, (size_t)(stop - begin));
    element[stop - begin] = '\0';
    return true;
}

/* `3,3`, and Python's `(3,3)` and `[3,3]`. */
static cm_status read_list(const cmi_field *field, const char *text, void *member)
{
    char element[NUMBER_BYTES];
    const char *at = text, *end = text + strlen(text);
    bool whole = field->type == CMI_FIELD_INTS;
    if (end - at >= 2 && ((*at == '(' && end[-1] == ')') || (*at == '[' && end[-1] == ']'))) {
        at++;
        end--;
        if (end - at >= 2 && end[-1] == ',') end--; /* Python's (3,) */
    }
    int count = 0;
    for (; at; count++) {
        if (count == CMI_MAX_LIST) {
            return cmi_error(CM_E_INVALID, "%s=%s has more than %d elements", field->key, text,
                             CMI_MAX_LIST);
        }
        if (!next_element(&at, end, element)) return bad_value(field, text, "a list of numbers");
        if (whole) CM_TRY(read_int(field, element, &((cmi_ints *)member)->value[count]));
        if (!whole) CM_TRY(read_float(field, element, &((cmi_floats *)member)->value[count]));
    }
    if (whole) ((cmi_ints *)member)->count = count;
    if (!whole) ((cmi_floats *)member)->count = count;
    return CM_OK;
}

/* `l2(l2=0.01)` is kept as `l2 l2=0.01`: a bracket or comma becomes a blank, so the text never
 * grows. */
static cm_status read_spec(const char *text, char **out)
{
    char *key = NULL, *value, *outer = NULL;
    size_t bytes = strlen(text) + 1;
    cmi_pairs pairs;
    cm_status status;
    CM_TRY_GOTO(fail, CMI_NEW(bytes, &outer));
    CM_TRY_GOTO(fail, cmi_spec_name(text, outer, bytes));
    CM_TRY_GOTO(fail, cmi_pairs_open(text, &pairs));
    size_t length = strlen(outer);
    for (;;) {
        CM_TRY_GOTO(fail, cmi_pairs_next(&pairs, &key, &value));
        if (!key) break;
        length += (size_t)snprintf(outer + length, bytes - length, " %s=%s", key, value);
        CM_ASSERT(length < bytes);
        cmi_free(key);
    }
    *out = outer;
    return CM_OK;
fail:
    cmi_free(outer);
    return status;
}

static cm_status store(const cmi_field *field, void *config, const char *text)
{
    void *member = (char *)config + field->offset;
    if (strcmp(text, none_word) == 0 && may_be_none(field)) {
        store_none(field, member);
        return CM_OK;
    }
    switch (field->type) {
    case CMI_FIELD_INT:
        return read_int(field, text, member);
    case CMI_FIELD_FLOAT:
        return read_float(field, text, member);
    case CMI_FIELD_BOOL:
        return read_bool(field, text, member);
    case CMI_FIELD_ENUM:
        return read_enum(field, text, member);
    case CMI_FIELD_TEXT:
        return cmi_strdup(text, member);
    case CMI_FIELD_INTS:
    case CMI_FIELD_FLOATS:
        return read_list(field, text, member);
    case CMI_FIELD_SPEC:
        CM_TRY_CTX(read_spec(text, member), "%s", field->key);
        return CM_OK;
    }
    cmi_assert_fail("the type of the field is one of the list", __FILE__, __LINE__);
}

static cm_status unknown_key(const cmi_entry *entry, const char *key)
{
    const char *keys[MAX_FIELDS];
    char near[VALUE_BYTES], valid[CM_MESSAGE_BYTES] = "";
    size_t count = 0;
    for (const cmi_field *field = entry->fields; field && field->key; field++) {
        keys[count++] = field->key;
        add_word(valid, sizeof valid, field->key);
    }
    if (count == 0)
        return cmi_error(CM_E_INVALID, "unknown key \"%s\"; %s has no keys", key, entry->name);
    cmi_nearest(key, keys, count, near, sizeof near);
    return cmi_error(CM_E_INVALID, "unknown key \"%s\"%s%s%s valid keys: %s", key,
                     near[0] ? "; did you mean " : "", near, near[0] ? "?" : ";", valid);
}

static cm_status store_pair(const cmi_entry *entry, void *config, const char *key,
                            const char *value, uint64_t *given)
{
    size_t i = 0;
    while (entry->fields && entry->fields[i].key && strcmp(entry->fields[i].key, key) != 0)
        i++;
    if (!entry->fields || !entry->fields[i].key) return unknown_key(entry, key);
    if (*given >> i & 1u) return cmi_error(CM_E_INVALID, "the key \"%s\" is given twice", key);
    *given |= (uint64_t)1 << i;
    return store(&entry->fields[i], config, value);
}

static cm_status store_pairs(const cmi_entry *entry, void *config, const char *spec,
                             uint64_t *given)
{
    cmi_pairs pairs;
    char *key, *value;
    CM_TRY(cmi_pairs_open(spec, &pairs));
    for (;;) {
        CM_TRY(cmi_pairs_next(&pairs, &key, &value));
        if (!key) return CM_OK;
        cm_status status = store_pair(entry, config, key, value, given);
        cmi_free(key);
        if (status) return status;
    }
}

static cm_status store_defaults(const cmi_entry *entry, void *config, uint64_t given)
{
    for (size_t i = 0; entry->fields && entry->fields[i].key; i++) {
        const cmi_field *field = &entry->fields[i];
        if (given >> i & 1u) continue;
        if (!field->fallback) {
            return cmi_error(CM_E_INVALID, "the key \"%s\" must be given (%s)", field->key,
                             field->help ? field->help : "it has no default");
        }
        CM_TRY_CTX(store(field, config, field->fallback), "default");
    }
    return CM_OK;
}

cm_status cmi_config_parse(const cmi_entry *entry, const char *spec, void **config)
{
    size_t fields = 0;
    while (entry->fields && entry->fields[fields].key)
        fields++;
    CM_ASSERT(fields <= MAX_FIELDS && (fields == 0 || entry->config_size > 0));

    uint64_t given = 0;
    *config = NULL;
    cm_status status = entry->config_size > 0 ? cmi_alloc(1, entry->config_size, config) : CM_OK;
    if (!status) status = store_pairs(entry, *config, spec, &given);
    if (!status) status = store_defaults(entry, *config, given);
    if (status) {
        cmi_error_prefix("%s", entry->name);
        cmi_config_free(entry, *config);
        *config = NULL;
    }
    return status;
}

void cmi_config_free(const cmi_entry *entry, void *config)
{
    if (!config) return;
    for (const cmi_field *field = entry->fields; field && field->key; field++) {
        if (field->type != CMI_FIELD_TEXT && field->type != CMI_FIELD_SPEC) continue;
        cmi_free(*(char **)(void *)((char *)config + field->offset));
    }
    cmi_free(config);
}

/* Text that counts what it would need and keeps what fits, as snprintf. */
typedef struct printer {
    char *text;
    size_t bytes, length;
} printer;

static void put(printer *out, const char *text)
{
    for (; *text; text++, out->length++) {
        if (out->length + 1 < out->bytes) out->text[out->length] = *text;
    }
    if (out->bytes > 0) out->text[out->length < out->bytes ? out->length : out->bytes - 1] = '\0';
}

static void put_int(printer *out, int64_t value)
{
    char text[NUMBER_BYTES];
    cmi_format(text, sizeof text, "%" PRId64, value);
    put(out, value == CMI_INT_NONE ? none_word : text);
}

static void put_float(printer *out, double value)
{
    char text[NUMBER_BYTES];
    put(out, isnan(value) ? none_word : cmi_print_double(value, text, sizeof text));
}

/* `l2 l2=0.01` is written `l2(l2=0.01)`: the blanks at depth 0 become a bracket and commas. */
static void put_spec(printer *out, const char *outer)
{
    int depth = 0;
    bool open = false;
    for (; *outer; outer++) {
        char one[] = {*outer, '\0'};
        depth += (*outer == '(') - (*outer == ')');
        if (*outer == ' ' && depth == 0) {
            one[0] = open ? ',' : '(';
            open = true;
        }
        put(out, one);
    }
    if (open) put(out, ")");
}

static void put_list(printer *out, const cmi_field *field, const void *member)
{
    const cmi_ints *ints = member;
    const cmi_floats *floats = member;
    bool whole = field->type == CMI_FIELD_INTS;
    int count = whole ? ints->count : floats->count;
    if (count == 0) put(out, none_word);
    for (int i = 0; i < count; i++) {
        if (i > 0) put(out, ",");
        if (whole) put_int(out, ints->value[i]);
        if (!whole) put_float(out, floats->value[i]);
    }
}

static void put_value(printer *out, const cmi_field *field, const void *member)
{
    const char *text;
    switch (field->type) {
    case CMI_FIELD_INT:
        put_int(out, *(const int64_t *)member);
        break;
    case CMI_FIELD_FLOAT:
        put_float(out, *(const double *)member);
        break;
    case CMI_FIELD_BOOL:
        put(out, *(const bool *)member ? "true" : "false");
        break;
    case CMI_FIELD_ENUM:
        put(out, field->choices[*(const int *)member]);
        break;
    case CMI_FIELD_INTS:
    case CMI_FIELD_FLOATS:
        put_list(out, field, member);
        break;
    case CMI_FIELD_TEXT:
        text = *(char *const *)member;
        put(out, text ? text : none_word);
        break;
    case CMI_FIELD_SPEC:
        text = *(char *const *)member;
        put_spec(out, text ? text : none_word);
        break;
    }
}

/* Compares as printed: 1e-3 and 0.001 are the same default.  A text is compared with the
 * fallback as it stands in the table; one written in another way than it is printed is only
 * printed needlessly. */
static bool is_default(const cmi_field *field, const void *member)
{
    if (!field->fallback) return false;
    char shown[VALUE_BYTES] = "", expected[VALUE_BYTES] = "";
    printer value = {shown, sizeof shown, 0}, fallback = {expected, sizeof expected, 0};
    put_value(&value, field, member);
    if (value.length >= sizeof shown) return false;
    if (field->type == CMI_FIELD_TEXT || field->type == CMI_FIELD_SPEC)
        return strcmp(shown, field->fallback) == 0;
    union {
        int64_t whole;
        double number;
        bool flag;
        int choice;
        cmi_ints ints;
        cmi_floats floats;
    } scratch;
    cmi_field at_zero = *field;
    at_zero.offset = 0;
    if (store(&at_zero, &scratch, field->fallback)) return false;
    put_value(&fallback, field, &scratch);
    return strcmp(shown, expected) == 0;
}

size_t cmi_config_print(const cmi_entry *entry, const void *config, char *text, size_t bytes)
{
    printer out = {text, bytes, 0};
    put(&out, entry->name);
    for (const cmi_field *field = entry->fields; field && field->key; field++) {
        const void *member = (const char *)config + field->offset;
        if (is_default(field, member)) continue;
        put(&out, " ");
        put(&out, field->key);
        put(&out, "=");
        put_value(&out, field, member);
    }
    return out.length;
}
