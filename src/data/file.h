/* file.h - the content of a plain or gzip file as a stream of bytes; inside data/ only.
 *
 * Content decides: a file that begins with 1F 8B is inflated whatever its name is.  Nothing is
 * mapped and nothing is read ahead beyond one small buffer, so a format reader can look at a
 * header, judge what it promises, and only then take memory.  A block of memory can stand in for
 * the file (tests, fuzzing).  Errors begin with the name as the user wrote it.  One thread at a
 * time. */
#ifndef CMI_DATA_FILE_H
#define CMI_DATA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

typedef struct cmi_file cmi_file;

/* Opens a plain file; never waits for a writer.  CM_E_IO with the system's reason; a folder, a pipe
 * or a device is refused. */
cm_status cmi_file_open(const char *path, cmi_file **file);
/* The same over memory that stays unchanged until the file is closed. */
cm_status cmi_file_open_memory(const char *name, const void *bytes, size_t count, cmi_file **file);
void cmi_file_close(cmi_file *file); /* accepts NULL */

/* At most 512 bytes of it are meant for messages: use "%.512s". */
const char *cmi_file_name(const cmi_file *file);
bool cmi_file_is_gzip(const cmi_file *file);
/* Bytes on disk. */
uint64_t cmi_file_stored_bytes(const cmi_file *file);
/* The most bytes the content can have: exact for a plain file, deflate's limit for gzip. */
uint64_t cmi_file_most_bytes(const cmi_file *file);

/* The first bytes of the content, at most CMI_HEAD_BYTES, without taking them; before the first
 * read only. */
#define CMI_HEAD_BYTES 64
cm_status cmi_file_peek(cmi_file *file, const unsigned char **head, size_t *count);
/* Takes the next `count` bytes; *got is smaller only at the end of the content.  CM_E_IO when the
 * file was cut meanwhile, CM_E_FORMAT when the compressed data is damaged, ends early or has
 * something behind it. */
cm_status cmi_file_read(cmi_file *file, void *bytes, size_t count, size_t *got);

#endif
