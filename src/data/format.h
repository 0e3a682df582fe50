/* format.h - what a file format is: recognise, read into a tensor; inside data/ only.
 *
 * Rules every format keeps: content decides and the name only helps; a file that begins with 1F 8B
 * is inflated whatever it is called; sizes are computed without overflow and compared with the file
 * before memory is taken; too long is as wrong as too short; an error names the file as the user
 * wrote it, the place, what was found and expected, and what to do. */
#ifndef CMI_DATA_FORMAT_H
#define CMI_DATA_FORMAT_H

#include "base/registry.h"
#include "data/data.h"
#include "data/file.h"

typedef struct cmi_file_array {
    cm_tensor tensor; /* tensor.data == memory */
    void *memory;     /* cmi_free */
} cmi_file_array;

typedef struct cmi_file_format {
    cmi_entry entry;
    /* Whether the first bytes (inflated) or the name look like this format. */
    bool (*sniff)(const unsigned char *head, size_t count, const char *name);
    /* Reads the whole array from the first byte of the content to its end. */
    cm_status (*read)(cmi_file *file, cmi_file_array *array);
} cmi_file_format;

/* format.c.  The format whose name is the first `length` bytes of `name`; NULL when there is none.
 */
const cmi_file_format *cmi_format_find(const char *name, size_t length);
/* Names of all formats, "a, b, c". */
void cmi_format_names(char *text, size_t bytes);
/* Refuses what no format can be (empty, a web page, compressed twice), then reads; on failure
 * *array is zero. The second form reads a file that is open already. */
cm_status cmi_format_read(const cmi_file_format *format, const char *path, cmi_file_array *array);
cm_status cmi_format_read_file(const cmi_file_format *format, cmi_file *file,
                               cmi_file_array *array);

#endif
