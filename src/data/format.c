/* format.c - the list of file formats, and what is wrong with a file whatever its format should be.
 *
 * A failed download most often leaves an empty file, a web page, or the pointer of a version
 * control system.  These are recognised here once, from the first bytes, so that a format reader
 * never explains them.  A new format is one file and one line in registry.def.
 *
 * Called by dataset.c on the thread that opens a data set. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "base/mem.h"
#include "data/format.h"

#define CM_FORMAT(name) extern const cmi_file_format cmi_format_##name;
#include "data/registry.def"
#undef CM_FORMAT

static const cmi_file_format *const formats[] = {
#define CM_FORMAT(name) &cmi_format_##name,
#include "data/registry.def"
#undef CM_FORMAT
};

enum { FORMATS = sizeof formats / sizeof *formats };

const cmi_file_format *cmi_format_find(const char *name, size_t length)
{
    for (int i = 0; i < FORMATS; i++)
        if (strlen(formats[i]->entry.name) == length &&
            memcmp(formats[i]->entry.name, name, length) == 0)
            return formats[i];
    return NULL;
}

void cmi_format_names(char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < FORMATS && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i ? ", " : "",
                                 formats[i]->entry.name);
}

static bool begins(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

/* Content that is text of a known wrong kind.  `head` is copied: it does not end in a zero. */
static cm_status check_text(const char *name, const unsigned char *head, size_t count)
{
    static const char *const pages[] = {"<!doctype", "<html", "<head", "<body", "<?xml", "<!--"};
    char text[CMI_HEAD_BYTES + 1] = {0}, *word = text;
    memcpy(text, head, count);
    if (strncmp(word, "\xEF\xBB\xBF", 3) == 0) word += 3;
    word += strspn(word, " \t\r\n");
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (begins(word, pages[i]))
            return cmi_error(
                CM_E_FORMAT,
                "%.512s: looks like a web page, not like data (first bytes \"%.*s\"); the download "
                "failed, fetch the file again",
                name, (int)strlen(pages[i]), word);
    if (begins(word, "version https://git-lfs"))
        return cmi_error(CM_E_FORMAT, "%.512s: a Git LFS pointer, not the data; run `git lfs pull`",
                         name);
    return CM_OK;
}

static cm_status check_head(const cmi_file_format *format, const cmi_file *file,
                            const unsigned char *head, size_t count)
{
    const char *name = cmi_file_name(file);
    if (count == 0)
        return cmi_error(CM_E_FORMAT, "%.512s: empty file%s; fetch it again", name,
                         cmi_file_is_gzip(file) ? " (compressed, with nothing in it)" : "");
    if (count >= 2 && head[0] == 0x1F && head[1] == 0x8B)
        return cmi_error(CM_E_FORMAT,
                         "%.512s: compressed twice; unpack once, for example with gunzip", name);
    CM_TRY(check_text(name, head, count));
    if (format->sniff(head, count, name)) return CM_OK;
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->sniff(head, count, name))
            return cmi_error(CM_E_FORMAT, "%.512s: looks like %s, not like %s", name,
                             formats[i]->entry.name, format->entry.name);
    return CM_OK; /* nobody knows it: the reader that was asked for says what is wrong */
}

cm_status cmi_format_read_file(const cmi_file_format *format, cmi_file *file, cmi_file_array *array)
{
    const unsigned char *head;
    size_t count;
    cm_status status;
    memset(array, 0, sizeof *array);
    CM_TRY_GOTO(fail, cmi_file_peek(file, &head, &count));
    CM_TRY_GOTO(fail, check_head(format, file, head, count));
    CM_TRY_GOTO(fail, format->read(file, array));
    array->tensor.data = array->memory;
    return CM_OK;
fail:
    cmi_free(array->memory);
    memset(array, 0, sizeof *array);
    return status;
}

cm_status cmi_format_read(const cmi_file_format *format, const char *path, cmi_file_array *array)
{
    cmi_file *file = NULL;
    memset(array, 0, sizeof *array);
    CM_TRY(cmi_file_open(path, &file));
    cm_status status = cmi_format_read_file(format, file, array);
    cmi_file_close(file);
    return status;
}
