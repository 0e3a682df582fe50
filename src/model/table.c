/* table.c - styled text, and the three-column table that summary() draws.
 *
 * Keras leaves the drawing to the Python package `rich`, whose habits show when a cell is too
 * small, and are reproduced here.  A WORD is a run of other characters with the blanks behind
 * it.  A line takes words as long as they fit, not counting the blanks at its end; a word longer
 * than the line stands alone on it and is then cut, ending in an ellipsis, which takes the
 * colour of the character it replaces.  Outside the table such a word is folded instead.
 *
 * Widths count characters (code points), never bytes.  Called by the thread of
 * cm_model_summary; allocates nothing. */
#include <string.h>
#include "model/table.h"

/* By cmi_style.  Each run of one style is closed by itself, as rich does. */
static const char *const escapes[] = {"", "\x1b[1m", "\x1b[38;5;33m", "\x1b[38;5;34m",
                                      "\x1b[38;5;45m"};
static const char reset[] = "\x1b[0m";
static const char ellipsis[] = "\xe2\x80\xa6";

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

void cmi_styled_add(cmi_styled *styled, cmi_style style, const char *text)
{
    size_t bytes = strlen(text), room = CMI_STYLED_BYTES - 1 - styled->bytes;

    if (bytes > room)
        for (bytes = room; bytes > 0 && continues(text[bytes]);)
            bytes--;
    memcpy(styled->text + styled->bytes, text, bytes);
    memset(styled->style + styled->bytes, (int)style, bytes);
    styled->bytes += bytes;
    styled->text[styled->bytes] = '\0';
}

/* ---- one output line ---- */

/* The longest: CMI_STYLED_BYTES of text outside a table with a few changes of style; inside,
 * three columns of together less than 88 characters, of which each may be 4 bytes long and the
 * colours change a dozen times. */
typedef struct line {
    char text[2 * CMI_STYLED_BYTES];
    size_t bytes;
    cmi_style open;
    bool color;
} line;

static void put_raw(line *out, const char *text, size_t bytes)
{
    if (bytes >= sizeof out->text - out->bytes) return;
    memcpy(out->text + out->bytes, text, bytes);
    out->bytes += bytes;
    out->text[out->bytes] = '\0';
}

/* Switches to a style; plain closes the run that is open. */
static void switch_style(line *out, cmi_style style)
{
    if (!out->color || style == out->open) return;
    if (out->open != CMI_STYLE_PLAIN) put_raw(out, reset, sizeof reset - 1);
    put_raw(out, escapes[style], strlen(escapes[style]));
    out->open = style;
}

static void put(line *out, cmi_style style, const char *text, size_t bytes)
{
    if (!bytes) return;
    switch_style(out, style);
    put_raw(out, text, bytes);
}

static void put_blanks(line *out, cmi_style style, int count)
{
    for (int i = 0; i < count; i++)
        put(out, style, " ", 1);
}

static void print_line(const cmi_page *page, line *out)
{
    switch_style(out, CMI_STYLE_PLAIN);
    put_raw(out, "\n", 1);
    page->print(page->user, out->text);
}

/* ---- wrapping ---- */

static int characters(const char *text, size_t bytes)
{
    int count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += !continues(text[i]);
    return count;
}

/* Place of the character `count` places behind `at`. */
static size_t skip_characters(const cmi_styled *s, size_t at, int count)
{
    while (at < s->bytes && count > 0) {
        at++;
        while (at < s->bytes && continues(s->text[at]))
            at++;
        count--;
    }
    return at;
}

/* End of the word at `at`, and in *bare the end without the blanks behind it. */
static size_t word_end(const cmi_styled *s, size_t at, size_t *bare)
{
    while (at < s->bytes && s->text[at] == ' ')
        at++; /* only in front of the first word */
    while (at < s->bytes && s->text[at] != ' ')
        at++;
    *bare = at;
    while (at < s->bytes && s->text[at] == ' ')
        at++;
    return at;
}

/* End of the line that begins at `start`, trailing blanks included. */
static size_t line_end(const cmi_styled *s, size_t start, int width, bool fold)
{
    size_t at = start, bare;
    int used = 0;

    while (at < s->bytes) {
        size_t end = word_end(s, at, &bare);
        int length = characters(s->text + at, bare - at);
        if (used + length > width) {
            if (at > start) return at;
            if (fold) return skip_characters(s, at, width);
        }
        used += characters(s->text + at, end - at);
        at = end;
    }
    return at;
}

static int count_lines(const cmi_styled *s, int width)
{
    int lines = 0;
    size_t at = 0;

    do {
        at = line_end(s, at, width, false);
        lines++;
    } while (at < s->bytes);
    return lines;
}

/* End of [begin, end) without the blanks that stand beyond `width` characters. */
static size_t strip_beyond(const cmi_styled *s, size_t begin, size_t end, int width)
{
    int excess = characters(s->text + begin, end - begin) - width;

    for (; excess > 0 && end > begin && s->text[end - 1] == ' '; excess--)
        end--;
    return end;
}

static void put_styled(line *out, const cmi_styled *s, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        put(out, (cmi_style)s->style[i], s->text + i, 1);
}

void cmi_page_put(const cmi_page *page, const cmi_styled *styled)
{
    size_t begin = 0;

    do {
        line out = {.color = page->color};
        size_t end = line_end(styled, begin, page->columns, true);
        put_styled(&out, styled, begin, strip_beyond(styled, begin, end, page->columns));
        print_line(page, &out);
        begin = end;
    } while (begin < styled->bytes);
}

/* ---- the table ---- */

typedef enum table_rule { RULE_TOP, RULE_HEAD, RULE_ROW, RULE_BOTTOM } table_rule;

static void put_rule(const cmi_table *table, table_rule rule)
{
    static const char *const pieces[][4] = {
        {"\xe2\x94\x8f", "\xe2\x94\x81", "\xe2\x94\xb3", "\xe2\x94\x93"},  /* ┏━┳┓ */
        {"\xe2\x94\xa1", "\xe2\x94\x81", "\xe2\x95\x87", "\xe2\x94\xa9"},  /* ┡━╇┩ */
        {"\xe2\x94\x9c", "\xe2\x94\x80", "\xe2\x94\xbc", "\xe2\x94\xa4"},  /* ├─┼┤ */
        {"\xe2\x94\x94", "\xe2\x94\x80", "\xe2\x94\xb4", "\xe2\x94\x98"}}; /* └─┴┘ */
    const char *const *piece = pieces[rule];
    line out = {0};

    for (int c = 0; c < CMI_TABLE_COLUMNS; c++) {
        put_raw(&out, piece[c ? 2 : 0], 3);
        for (int i = 0; i < table->width[c] + 2; i++)
            put_raw(&out, piece[1], 3);
    }
    put_raw(&out, piece[3], 3);
    print_line(table->page, &out);
}

typedef struct piece {
    const cmi_styled *cell;
    size_t begin, end;
} piece;

/* One line of a cell in its column, between two blanks.  `base` is the style of the blanks; as
 * in rich the outer ones are runs of their own. */
static void put_piece(line *out, piece p, int width, bool right, cmi_style base)
{
    const char *text = p.cell->text;

    put_blanks(out, base, 1);
    switch_style(out, CMI_STYLE_PLAIN);
    while (right && p.end > p.begin && text[p.end - 1] == ' ')
        p.end--;
    p.end = strip_beyond(p.cell, p.begin, p.end, width);
    int count = characters(text + p.begin, p.end - p.begin);
    if (right) put_blanks(out, base, width - count);
    if (count > width) {
        size_t cut = skip_characters(p.cell, p.begin, width - 1);
        put_styled(out, p.cell, p.begin, cut);
        put(out, (cmi_style)p.cell->style[cut], ellipsis, sizeof ellipsis - 1);
    } else {
        put_styled(out, p.cell, p.begin, p.end);
    }
    if (!right) put_blanks(out, base, width - count);
    switch_style(out, CMI_STYLE_PLAIN);
    put_blanks(out, base, 1);
    switch_style(out, CMI_STYLE_PLAIN);
}

/* One row of cells.  Those of a header stand at the bottom of it, the others at the top. */
static void put_cells(const cmi_table *table, const cmi_styled cells[CMI_TABLE_COLUMNS],
                      bool header)
{
    const char *bar = header ? "\xe2\x94\x83" : "\xe2\x94\x82"; /* ┃ and │ */
    cmi_style base = header ? CMI_STYLE_BOLD : CMI_STYLE_PLAIN;
    int lines[CMI_TABLE_COLUMNS], most = 0;
    size_t at[CMI_TABLE_COLUMNS] = {0};

    for (int c = 0; c < CMI_TABLE_COLUMNS; c++) {
        lines[c] = count_lines(&cells[c], table->width[c]);
        if (lines[c] > most) most = lines[c];
    }
    for (int i = 0; i < most; i++) {
        line out = {.color = table->page->color};
        for (int c = 0; c < CMI_TABLE_COLUMNS; c++) {
            int own = header ? i - (most - lines[c]) : i;
            put_raw(&out, bar, 3);
            if (own < 0 || own >= lines[c]) {
                put_blanks(&out, base, table->width[c] + 2);
                switch_style(&out, CMI_STYLE_PLAIN);
                continue;
            }
            piece p = {&cells[c], at[c], line_end(&cells[c], at[c], table->width[c], false)};
            put_piece(&out, p, table->width[c], c == CMI_TABLE_COLUMNS - 1, base);
            at[c] = p.end;
        }
        put_raw(&out, bar, 3);
        print_line(table->page, &out);
    }
}

cm_status cmi_table_init(cmi_table *table, const cmi_page *page)
{
    /* Keras' arithmetic: stops at 45 %, 80 % and 100 % of the line, in double, cut to whole
     * characters. */
    int length = page->columns - 4 < 88 ? page->columns - 4 : 88;
    int first = (int)(0.45 * length), second = (int)(0.80 * length) - first;
    int third = length - first - second;

    if (first < 4 || second < 4 || third < 4)
        return cmi_error(
            CM_E_INVALID,
            "a terminal of %d columns is too narrow for the summary; make it 20 at least "
            "(the variable COLUMNS wins over the terminal's size)",
            page->columns);
    /* rich takes the four borders from the columns in this way, and two blanks of each are
     * padding. */
    *table = (cmi_table){page, {first - 1 - 2, second - 2 - 2, third - 1 - 2}, 0};
    return CM_OK;
}

void cmi_table_header(const cmi_table *table, const char *const titles[CMI_TABLE_COLUMNS])
{
    cmi_styled cells[CMI_TABLE_COLUMNS] = {{0}};

    for (int c = 0; c < CMI_TABLE_COLUMNS; c++)
        cmi_styled_add(&cells[c], CMI_STYLE_BOLD, titles[c]);
    put_rule(table, RULE_TOP);
    put_cells(table, cells, true);
    put_rule(table, RULE_HEAD);
}

void cmi_table_row(cmi_table *table, const cmi_styled cells[CMI_TABLE_COLUMNS])
{
    if (table->rows++) put_rule(table, RULE_ROW);
    put_cells(table, cells, false);
}

void cmi_table_end(const cmi_table *table)
{
    put_rule(table, RULE_BOTTOM);
}
