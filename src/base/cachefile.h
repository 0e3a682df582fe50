/* cachefile.h - files that only save time: compiled kernels, the table of tuned choices.
 *
 * The folder is CLMIRROR_CACHE, else $XDG_CACHE_HOME/clmirror, else ~/.cache/clmirror; it is made
 * when something is to be written, with its parent but no more.  A file appears whole or not at
 * all: it is written under another name and renamed, so that any number of processes may write.
 * Two kinds: files with a name (the table), and entries, which are found by a key of any length
 * and carry that key and a check sum, so that what was cut, damaged, or belongs to another key is
 * never handed out.  Entries together are kept below a limit, the oldest go.
 *
 * Every failure is a status with a message, and never a reason to stop: the caller works without
 * the file.  Nothing is logged here.  Any thread. */
#ifndef CMI_BASE_CACHEFILE_H
#define CMI_BASE_CACHEFILE_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum { CMI_CACHE_PATH_BYTES = 4096 + 256 };

/* The folder, made or not.  CM_E_STATE: CLMIRROR_CACHE=off, or there is neither it, nor
 * XDG_CACHE_HOME, nor HOME. */
cm_status cmi_cache_folder(char path[CMI_CACHE_PATH_BYTES]);

/* A file with a name, at most `most` bytes of it else CM_E_FORMAT; a 0 follows the content.
 * *bytes is freed with cmi_free. CM_E_NOT_FOUND: there is none. */
cm_status cmi_cache_load(const char *name, size_t most, char **bytes, size_t *count);
cm_status cmi_cache_store(const char *name, const void *bytes, size_t count);

/* An entry; `kind` ("program") begins its file's name.  CM_E_NOT_FOUND: none, or another key's;
 * CM_E_FORMAT: damaged. */
cm_status cmi_cache_find(const char *kind, const char *key, char **bytes, size_t *count);
cm_status cmi_cache_keep(const char *kind, const char *key, const void *bytes, size_t count);

/* Removes entries, the oldest first, until they have at most `most` bytes, and what writers left
 * that did not finish.  cmi_cache_keep does it with 64 MiB. */
void cmi_cache_trim(uint64_t most);

#endif
