/* table.h - styled text, and the three-column table that summary() draws. */
#ifndef CMI_MODEL_TABLE_H
#define CMI_MODEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include "model/model.h"

/* Indexes of the escape codes in table.c. */
typedef enum cmi_style {
    CMI_STYLE_PLAIN,
    CMI_STYLE_BOLD,
    CMI_STYLE_CLASS,
    CMI_STYLE_NUMBER,
    CMI_STYLE_NONE
} cmi_style;

enum { CMI_TABLE_COLUMNS = 3, CMI_STYLED_BYTES = 1024 };

/* A text without line ends in which every byte has a style; zeroed, it is empty.
 * LIMIT: 1023 bytes; a longer name loses its end, far beyond what a column shows. */
typedef struct cmi_styled {
    size_t bytes;
    char text[CMI_STYLED_BYTES];
    unsigned char style[CMI_STYLED_BYTES];
} cmi_styled;

/* Appends; what does not fit is left out from a whole character on. */
void cmi_styled_add(cmi_styled *styled, cmi_style style, const char *text);

/* Where the lines go. */
typedef struct cmi_page {
    int columns; /* of the terminal */
    bool color;
    cmi_print print;
    void *user;
} cmi_page;

/* Prints text outside a table: wrapped at blanks, longer words folded. */
void cmi_page_put(const cmi_page *page, const cmi_styled *styled);

typedef struct cmi_table {
    const cmi_page *page;
    int width[CMI_TABLE_COLUMNS]; /* characters of text; a blank on each side is added */
    int rows;
} cmi_table;

/* Chooses the widths; prints nothing.  CM_E_INVALID when the terminal is too narrow for three
 * columns. */
cm_status cmi_table_init(cmi_table *table, const cmi_page *page);
void cmi_table_header(const cmi_table *table, const char *const titles[CMI_TABLE_COLUMNS]);
void cmi_table_row(cmi_table *table, const cmi_styled cells[CMI_TABLE_COLUMNS]);
void cmi_table_end(const cmi_table *table);

#endif
