/* spec.c - the text level of the grammar: numbers, names, pairs, and the pieces of a model.
 *
 * One idea: all text that the library reads or writes goes through the C locale, whatever the
 * program has set.  Under a locale with a decimal comma printf would turn `rate=0.5` into
 * `rate=0,5`, which is a list.
 *
 * Words.  A PIECE is what stands between two separators of a model text.  A PAIR is `key=value`.
 * DEPTH is the number of open brackets; separators, commas and blanks count only at depth 0, so
 * brackets may nest without recursion.  What pairs mean is the business of config.c.
 *
 * Pure functions but for allocations, any thread. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/config.h"
#include "base/mem.h"

#define BLANKS " \t\r\n"

enum { SHOWN = 60 }; /* of a user's text in a message */

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Returns what `leave` needs.  If the locale could not be made uselocale changes nothing. */
static locale_t enter_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return uselocale(c_locale);
}

int cmi_vformat(char *text, size_t bytes, const char *fmt, va_list arguments)
{
    locale_t before = enter_c_locale();
    int length = vsnprintf(text, bytes, fmt, arguments);
    uselocale(before);
    return length;
}

int cmi_format(char *text, size_t bytes, const char *fmt, ...)
{
    va_list arguments;
    va_start(arguments, fmt);
    int length = cmi_vformat(text, bytes, fmt, arguments);
    va_end(arguments);
    return length;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cuts off what strtod and strtoll would take beside numbers: leading blanks, "nan", "inf". */
static bool begins_number(const char *text)
{
    if (*text == '+' || *text == '-') text++;
    if (*text == '.') text++;
    return is_digit(*text);
}

bool cmi_parse_double(const char *text, double *value)
{
    if (!begins_number(text)) return false;
    char *end;
    locale_t before = enter_c_locale();
    double number = strtod(text, &end);
    uselocale(before);
    if (*end || !isfinite(number)) return false;
    *value = number;
    return true;
}

bool cmi_parse_int(const char *text, int64_t *value)
{
    if (!begins_number(text)) return false;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno == ERANGE || end == text) return false;
    int64_t unit = *end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : *end == 'G' ? 1 << 30 : 1;
    if (unit > 1) end++;
    if (*end || number > INT64_MAX / unit || number < INT64_MIN / unit) return false;
    *value = number * unit;
    return true;
}

const char *cmi_print_double(double value, char *text, size_t bytes)
{
    char shortest[64];
    double back;
    /* 17 digits always read back (IEEE 754); most values need fewer. */
    for (int digits = 1; digits <= 17; digits++) {
        cmi_format(shortest, sizeof shortest, "%.*g", digits, value);
        if (cmi_parse_double(shortest, &back) && back == value) break;
    }
    /* Whole numbers without an exponent: 100000, not 1e+05. */
    if (strchr(shortest, 'e') && fabs(value) >= 1 && fabs(value) < 1e15) {
        cmi_format(shortest, sizeof shortest, "%.0f", value);
    }
    if (isnan(value)) cmi_format(shortest, sizeof shortest, "nan");
    cmi_format(text, bytes, "%s", shortest);
    return text;
}

/* Length of [A-Za-z_][A-Za-z0-9_]* at the beginning of the text. */
static size_t word_length(const char *text)
{
    static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return is_digit(*text) ? 0 : strspn(text, word);
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, BLANKS);
}

static bool is_blank(char c)
{
    return c != '\0' && strchr(BLANKS, c) != NULL;
}

cm_status cmi_spec_name(const char *spec, char *name, size_t bytes)
{
    const char *begin = skip_blanks(spec);
    size_t length = word_length(begin);
    char after = begin[length];
    if (bytes > 0) name[0] = '\0';
    if (!*begin) return cmi_error(CM_E_INVALID, "the text is empty; expected: name key=value ...");
    if (length == 0 || (after && after != '(' && !is_blank(after))) {
        return cmi_error(CM_E_INVALID, "\"%.*s\" is not a name; expected: name key=value ...",
                         (int)(strcspn(begin, BLANKS) < SHOWN ? strcspn(begin, BLANKS) : SHOWN),
                         begin);
    }
    if (length >= bytes) {
        return cmi_error(
            CM_E_INVALID, "the name \"%.*s\" has %zu characters; at most %zu are possible",
            length < SHOWN ? (int)length : SHOWN, begin, length, bytes > 0 ? bytes - 1 : 0);
    }
    memcpy(name, begin, length);
    name[length] = '\0';
    return CM_OK;
}

/* `text` is shown to its end or for SHOWN bytes; `at` points to the bracket. */
static cm_status unbalanced(const char *text, const char *at)
{
    int shown = (int)strcspn(text, "\n") < SHOWN ? (int)strcspn(text, "\n") : SHOWN;
    return cmi_error(CM_E_INVALID, "\"%c\" at character %td of \"%.*s%s\" has no partner", *at,
                     at - text + 1, shown, text, text[shown] ? "..." : "");
}

/* The end of the piece that begins at `text`: the first separator at depth 0, or the end of the
 * text. */
static cm_status piece_end(const char *text, const char *separators, const char **end)
{
    const char *open = NULL, *at = text;
    size_t depth = 0;
    for (; *at; at++) {
        if (*at == '#') {
            at += strcspn(at, "\n");
            if (!*at) break;
        }
        if (depth == 0 && strchr(separators, *at)) break;
        if (*at == '(' && depth++ == 0) open = at;
        if (*at == ')' && depth-- == 0) return unbalanced(text, at);
    }
    if (depth > 0) return unbalanced(text, open);
    *end = at;
    return CM_OK;
}

cm_status cmi_spec_next(const char **cursor, const char *separators, char **spec)
{
    const char *at = *cursor, *end = NULL;
    *spec = NULL;
    /* Empty pieces and comments between pieces; what follows is a piece with something in it. */
    while (*at && (is_blank(*at) || *at == '#' || strchr(separators, *at))) {
        at += *at == '#' ? strcspn(at, "\n") : 1;
    }
    if (!*at) {
        *cursor = at;
        return CM_OK;
    }
    CM_TRY(piece_end(at, separators, &end));
    char *out;
    CM_TRY(CMI_NEW(end - at + 1, &out));
    size_t length = 0;
    for (; at < end; at++) {
        if (*at == '#') at += strcspn(at, "\n");
        if (at < end) out[length++] = *at;
    }
    while (length > 0 && is_blank(out[length - 1]))
        length--;
    out[length] = '\0';
    *spec = out;
    *cursor = end;
    return CM_OK;
}

cm_status cmi_pairs_open(const char *spec, cmi_pairs *pairs)
{
    const char *name = skip_blanks(spec), *at = name + word_length(name);
    *pairs = (cmi_pairs){at, at + strlen(at)};
    if (*at != '(') return CM_OK;
    size_t depth = 1;
    const char *close = at + 1;
    for (; *close; close++) {
        if (*close == '(') depth++;
        if (*close == ')' && --depth == 0) break;
    }
    if (!*close) return unbalanced(name, at);
    const char *rest = skip_blanks(close + 1);
    if (*rest) {
        return cmi_error(CM_E_INVALID,
                         "\"%.*s\" stands behind the closing bracket; write name(key=value,...)",
                         SHOWN, rest);
    }
    *pairs = (cmi_pairs){at + 1, close};
    return CM_OK;
}

/* Whether a pair begins here.  Blanks before "=" count too: they are reported as what they are. */
static bool begins_pair(const char *text)
{
    size_t length = word_length(text);
    return length > 0 && *skip_blanks(text + length) == '=';
}

/* Copies a value up to the blank or comma that ends it; a comma that no pair follows continues a
 * list. Returns false at a bracket without partner, with `at` on it. */
static bool copy_value(cmi_pairs *pairs, char *value)
{
    const char *open = NULL, *at = pairs->at;
    size_t depth = 0;
    while (at < pairs->end) {
        if (depth == 0 && (*at == ',' || is_blank(*at))) {
            const char *next = skip_blanks(at);
            bool comma = *next == ',' && next < pairs->end;
            if (comma) next = skip_blanks(next + 1);
            if (!comma || begins_pair(next)) break;
            *value++ = ',';
            at = next;
            continue;
        }
        if (*at == '(' && depth++ == 0) open = at;
        if (*at == ')' && depth-- == 0) {
            pairs->at = at;
            return false;
        }
        *value++ = *at++;
    }
    *value = '\0';
    pairs->at = depth > 0 ? open : at;
    return depth == 0;
}

/* Checks what stands before a value; *length is that of the key. */
static cm_status check_key(const cmi_pairs *pairs, size_t *length)
{
    const char *at = pairs->at;
    int word = (int)word_length(at);
    const char *behind = at + word;
    if (word == 0) {
        size_t rest = (size_t)(pairs->end - at), shown = strcspn(at, BLANKS);
        if (shown > rest) shown = rest;
        return cmi_error(CM_E_INVALID, "\"%.*s\" stands where key=value was expected",
                         (int)(shown < SHOWN ? shown : SHOWN), at);
    }
    if (is_blank(*behind) && *skip_blanks(behind) == '=') {
        return cmi_error(CM_E_INVALID, "blank before the \"=\" of \"%.*s\"; write %.*s=value", word,
                         at, word, at);
    }
    if (*behind != '=') {
        return cmi_error(CM_E_INVALID, "\"%.*s\" has no value; write %.*s=value", word, at, word,
                         at);
    }
    behind++;
    if (behind < pairs->end && is_blank(*behind) && skip_blanks(behind) < pairs->end &&
        !begins_pair(skip_blanks(behind))) {
        return cmi_error(CM_E_INVALID, "blank behind the \"=\" of \"%.*s\"; write %.*s=value", word,
                         at, word, at);
    }
    if (behind >= pairs->end || is_blank(*behind) || *behind == ',') {
        return cmi_error(CM_E_INVALID, "\"%.*s=\" has no value", word, at);
    }
    *length = (size_t)word;
    return CM_OK;
}

cm_status cmi_pairs_next(cmi_pairs *pairs, char **key, char **value)
{
    const char *before = pairs->at;
    size_t length = 0;
    *key = *value = NULL;
    pairs->at = skip_blanks(pairs->at);
    if (*pairs->at == ',') pairs->at = skip_blanks(pairs->at + 1);
    if (pairs->at >= pairs->end) return CM_OK;
    CM_TRY(check_key(pairs, &length));
    /* The value shrinks or stays while it is copied, so key, two zeros and the rest of the text
     * suffice. */
    char *block;
    CM_TRY(CMI_NEW(pairs->end - pairs->at + 2, &block));
    memcpy(block, pairs->at, length);
    pairs->at += length + 1;
    if (!copy_value(pairs, block + length + 1)) {
        cmi_free(block);
        return unbalanced(skip_blanks(before), pairs->at);
    }
    *key = block;
    *value = block + length + 1;
    return CM_OK;
}
