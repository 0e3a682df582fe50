/* cachefile.c - the cache folder and its two kinds of files; see cachefile.h.
 *
 * An entry is a line "clmirror cache 1", a line with three numbers of 16 hexadecimal digits (bytes
 * of the key, bytes of the content, hash of both), the key, the content.  Its name has the hash of
 * the key, so two keys may meet in one file; the key inside tells.  FNV-1a notices every change of
 * a single byte, since each of its steps can be reversed.
 *
 * Called by whoever builds a program or asks for a tuned choice; nothing is shared but the folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/cachefile.h"
#include "base/hash.h"
#include "base/knob.h"
#include "base/mem.h"

enum {
    NAME_BYTES = 128,
    HEAD_BYTES = 17 + 3 * 17,
    LARGEST_ENTRY = 1 << 26,
    STALE_SECONDS = 3600,
    MOST_REMOVED = 4096
};

static const uint64_t KEPT_BYTES = 64u << 20;
static const char ENDING[] = ".cache", UNFINISHED[] = "unfinished-";

cm_status cmi_cache_folder(char path[CMI_CACHE_PATH_BYTES])
{
    const char *wish = cmi_knob_text(CMI_KNOB_CACHE), *home = getenv("XDG_CACHE_HOME"),
               *below = "/clmirror";
    enum { ROOM = CMI_CACHE_PATH_BYTES - NAME_BYTES };

    if (!strcmp(wish, "off")) return cmi_error(CM_E_STATE, "the cache is off (CLMIRROR_CACHE=off)");
    if (!*wish) {
        /* A relative XDG_CACHE_HOME is invalid, says its specification. */
        if (!home || home[0] != '/') home = getenv("HOME"), below = "/.cache/clmirror";
        if (!home || home[0] != '/')
            return cmi_error(CM_E_STATE,
                             "no cache folder: CLMIRROR_CACHE, XDG_CACHE_HOME and HOME name none");
    }
    int length = snprintf(path, ROOM, "%s%s", *wish ? wish : home, *wish ? "" : below);
    return length < ROOM ? CM_OK
                         : cmi_error(CM_E_STATE, "the path of the cache folder is too long");
}

/* The path of a file, behind that of the folder, which is `*folder` bytes long. */
static cm_status path_of(const char *name, char path[CMI_CACHE_PATH_BYTES], size_t *folder)
{
    CM_TRY(cmi_cache_folder(path));
    *folder = strlen(path);
    CM_ASSERT(strlen(name) + 2 <= NAME_BYTES);
    snprintf(path + *folder, CMI_CACHE_PATH_BYTES - *folder, "/%s", name);
    return CM_OK;
}

/* Makes the folder, and its parent, when they are missing.  A failure shows when the file is made.
 */
static void make_folder(char path[CMI_CACHE_PATH_BYTES], size_t folder)
{
    path[folder] = '\0';
    if (mkdir(path, 0700) && errno == ENOENT) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) return;
        *slash = '\0';
        bool made = !mkdir(path, 0700);
        *slash = '/';
        if (made) (void)mkdir(path, 0700);
    }
}

static cm_status refused(const char *path, int code)
{
    return cmi_error(code == ENOENT ? CM_E_NOT_FOUND : CM_E_IO, "%.512s: %s", path, strerror(code));
}

/* ---- reading ---- */

static bool read_all(int file, char *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = read(file, bytes + done, count - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

cm_status cmi_cache_load(const char *name, size_t most, char **bytes, size_t *count)
{
    char path[CMI_CACHE_PATH_BYTES];
    size_t folder = 0;
    struct stat info;
    cm_status status = CM_OK;

    *bytes = NULL;
    *count = 0;
    CM_TRY(path_of(name, path, &folder));
    /* Without waiting: somebody may have put a pipe there. */
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return refused(path, errno);
    if (fstat(file, &info) || !S_ISREG(info.st_mode) || (uint64_t)info.st_size > most) {
        status = cmi_error(CM_E_FORMAT, "%.512s: not a file, or longer than %zu bytes", path, most);
        goto done;
    }
    CM_TRY_GOTO(done, cmi_alloc((size_t)info.st_size + 1, 1, (void **)bytes));
    *count = (size_t)info.st_size;
    if (!read_all(file, *bytes, *count)) {
        cmi_free(*bytes);
        *bytes = NULL;
        status = cmi_error(CM_E_IO, "%.512s: could not be read", path);
    }
done:
    close(file);
    return status;
}

/* ---- writing ---- */

static bool write_all(int file, const char *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t put = write(file, bytes + done, count - done);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        done += (size_t)put;
    }
    return true;
}

cm_status cmi_cache_store(const char *name, const void *bytes, size_t count)
{
    char path[CMI_CACHE_PATH_BYTES], temporary[CMI_CACHE_PATH_BYTES];
    size_t folder = 0;
    int code = 0;

    CM_TRY(path_of(name, path, &folder));
    memcpy(temporary, path, folder);
    make_folder(temporary, folder);
    snprintf(temporary + folder, sizeof temporary - folder, "/%sXXXXXX", UNFINISHED);
    int file = mkstemp(temporary);
    if (file < 0) return cmi_error(CM_E_IO, "%.512s: %s", path, strerror(errno));
    (void)fcntl(file, F_SETFD, FD_CLOEXEC);
    errno = 0;
    if (!write_all(file, bytes, count)) code = errno ? errno : EIO;
    if (close(file) && !code) code = errno;
    if (!code && rename(temporary, path)) code = errno;
    if (!code) return CM_OK;
    (void)unlink(temporary);
    return cmi_error(CM_E_IO, "%.512s: %s", path, strerror(code));
}

/* ---- entries ---- */

static void name_of(const char *kind, const char *key, char name[NAME_BYTES])
{
    CM_ASSERT(strlen(kind) < 64);
    snprintf(name, NAME_BYTES, "%s-%016" PRIx64 "%s", kind,
             cmi_hash(CMI_HASH_START, key, strlen(key)), ENDING);
}

static void head_of(const char *key, const void *bytes, size_t count, char head[HEAD_BYTES + 1])
{
    uint64_t sum = cmi_hash(cmi_hash(CMI_HASH_START, key, strlen(key)), bytes, count);

    snprintf(head, HEAD_BYTES + 1, "clmirror cache 1\n%016zx %016zx %016" PRIx64 "\n", strlen(key),
             count, sum);
}

cm_status cmi_cache_find(const char *kind, const char *key, char **bytes, size_t *count)
{
    char name[NAME_BYTES], head[HEAD_BYTES + 1];
    size_t skip = HEAD_BYTES + strlen(key), all = 0;

    *count = 0;
    name_of(kind, key, name);
    CM_TRY(cmi_cache_load(name, LARGEST_ENTRY, bytes, &all));
    char *whole = *bytes;
    bool ours = all >= skip && !memcmp(whole + HEAD_BYTES, key, skip - HEAD_BYTES);
    if (ours) {
        head_of(key, whole + skip, all - skip, head);
        if (!memcmp(whole, head, HEAD_BYTES)) {
            *count = all - skip;
            memmove(whole, whole + skip, *count + 1);
            return CM_OK;
        }
    }
    cmi_free(whole);
    *bytes = NULL;
    return cmi_error(ours ? CM_E_FORMAT : CM_E_NOT_FOUND, "%s in the cache folder is %s", name,
                     ours ? "damaged" : "cut or another key's");
}

cm_status cmi_cache_keep(const char *kind, const char *key, const void *bytes, size_t count)
{
    char name[NAME_BYTES], head[HEAD_BYTES + 1], *whole = NULL;
    size_t length = strlen(key);

    if (count > LARGEST_ENTRY || length > LARGEST_ENTRY ||
        HEAD_BYTES + length + count > LARGEST_ENTRY)
        return cmi_error(CM_E_UNSUPPORTED, "%zu bytes are too many for the cache", count);
    name_of(kind, key, name);
    head_of(key, bytes, count, head);
    CM_TRY(cmi_alloc(HEAD_BYTES + length + count, 1, (void **)&whole));
    memcpy(whole, head, HEAD_BYTES);
    memcpy(whole + HEAD_BYTES, key, length);
    memcpy(whole + HEAD_BYTES + length, bytes, count);
    cm_status status = cmi_cache_store(name, whole, HEAD_BYTES + length + count);
    cmi_free(whole);
    if (!status) cmi_cache_trim(KEPT_BYTES);
    return status;
}

/* ---- the limit ---- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), end = strlen(ending);

    return length > end && !strcmp(text + length - end, ending);
}

static bool older(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec < b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

/* Bytes of all entries and the name of the oldest; removes unfinished files that nobody can be
 * writing any more. */
static uint64_t look(DIR *folder, char oldest[NAME_BYTES])
{
    const struct dirent *entry;
    struct stat info, first = {0};
    uint64_t total = 0;

    *oldest = '\0';
    rewinddir(folder);
    while ((entry = readdir(folder))) {
        if (strlen(entry->d_name) >= NAME_BYTES) continue;
        if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(info.st_mode))
            continue;
        if (!strncmp(entry->d_name, UNFINISHED, sizeof UNFINISHED - 1)) {
            if (info.st_mtime < time(NULL) - STALE_SECONDS)
                (void)unlinkat(dirfd(folder), entry->d_name, 0);
        } else if (ends_with(entry->d_name, ENDING)) {
            total += (uint64_t)info.st_size;
            if (*oldest && !older(&info, &first)) continue;
            first = info;
            memcpy(oldest, entry->d_name, strlen(entry->d_name) + 1);
        }
    }
    return total;
}

void cmi_cache_trim(uint64_t most)
{
    char path[CMI_CACHE_PATH_BYTES], oldest[NAME_BYTES];
    DIR *folder = cmi_cache_folder(path) ? NULL : opendir(path);

    if (!folder) return;
    for (int removed = 0; look(folder, oldest) > most && removed < MOST_REMOVED; removed++)
        if (unlinkat(dirfd(folder), oldest, 0) && errno != ENOENT) break;
    closedir(folder);
}
