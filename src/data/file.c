/* file.c - plain or gzip bytes behind one read function.
 *
 * Two layers.  `fetch` brings stored bytes from the descriptor or from memory; `take_plain` and
 * `take_inflated` turn them into content.  The size on disk is asked once, when the file is opened,
 * and a file that turns out shorter is an error: because bytes are read and never mapped, a file
 * that another process cuts cannot raise SIGBUS.  A gzip file may have several members one after
 * another and zeros behind the last; anything else behind it is an error, since it usually means
 * that two files were mixed up.
 *
 * Called by format.c and the format readers on the thread that opens a data set. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "base/mem.h"
#include "data/file.h"

enum {
    INPUT_BYTES = 32768,
    /* Two bits of deflate stand for at most 258 bytes, 1032 to 1; a little more is granted, and a
     * small constant so that the shortest files are not judged by their header. */
    MOST_RATIO = 1040,
    MOST_EXTRA = 4096
};

struct cmi_file {
    char *name;
    int fd; /* -1: bytes come from `memory` */
    const unsigned char *memory;
    uint64_t stored, fetched; /* bytes on disk; bytes brought from there so far */
    bool gzip;
    bool inflate_ready;      /* z holds memory */
    bool member_done, ended; /* the current gzip member, the whole content */
    z_stream z; /* next_in and avail_in are the unread part of `input`, also for plain files */
    unsigned char head[CMI_HEAD_BYTES]; /* content taken by peek and not yet by read */
    size_t head_count, head_used;
    unsigned char input[INPUT_BYTES];
};

/* zlib's memory is counted with ours and takes part in the tests' allocation faults. */
static voidpf zlib_alloc(voidpf user, uInt items, uInt size)
{
    void *memory = NULL;
    (void)user;
    return cmi_alloc(items, size, &memory) ? Z_NULL : memory;
}

static void zlib_free(voidpf user, voidpf memory)
{
    (void)user;
    cmi_free(memory);
}

/* Brings up to `count` of the stored bytes that are left. */
static cm_status fetch(cmi_file *file, unsigned char *bytes, size_t count, size_t *got)
{
    *got = 0;
    if (count > file->stored - file->fetched) count = (size_t)(file->stored - file->fetched);
    if (file->fd < 0) {
        if (count > 0) memcpy(bytes, file->memory + file->fetched, count);
        file->fetched += count;
        *got = count;
        return CM_OK;
    }
    while (*got < count) {
        ssize_t n = read(file->fd, bytes + *got, count - *got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return cmi_error(CM_E_IO, "%.512s: cannot be read at byte %llu: %s", file->name,
                             (unsigned long long)file->fetched, strerror(errno));
        if (n == 0)
            return cmi_error(
                CM_E_IO,
                "%.512s: the file was cut to %llu bytes while it was read; it had %llu; try again "
                "when nobody writes to it",
                file->name, (unsigned long long)file->fetched, (unsigned long long)file->stored);
        *got += (size_t)n;
        file->fetched += (size_t)n;
    }
    return CM_OK;
}

static cm_status refill(cmi_file *file)
{
    size_t got;
    CM_TRY(fetch(file, file->input, INPUT_BYTES, &got));
    file->z.next_in = file->input;
    file->z.avail_in = (uInt)got;
    return CM_OK;
}

/* Place of the next unread stored byte. */
static unsigned long long place(const cmi_file *file)
{
    return (unsigned long long)(file->fetched - file->z.avail_in);
}

static cm_status inflate_failed(const cmi_file *file, int code)
{
    const char *text = file->z.msg ? file->z.msg : "no detail";
    if (code == Z_MEM_ERROR)
        return cmi_error(CM_E_MEMORY, "%.512s: no memory to inflate the compressed data",
                         file->name);
    if (code == Z_BUF_ERROR)
        return cmi_error(
            CM_E_FORMAT,
            "%.512s: the compressed data ends early, at byte %llu; fetch the file again",
            file->name, place(file));
    if (strcmp(text, "incorrect data check") == 0 || strcmp(text, "incorrect length check") == 0)
        return cmi_error(
            CM_E_FORMAT,
            "%.512s: the check sum of the compressed data is wrong (%s near byte %llu); fetch the "
            "file again",
            file->name, text, place(file));
    return cmi_error(
        CM_E_FORMAT,
        "%.512s: the compressed data is damaged near byte %llu (%s); fetch the file again",
        file->name, place(file), text);
}

/* All that is left must be zeros, which some tools write to fill a block. */
static cm_status skip_padding(cmi_file *file)
{
    while (file->z.avail_in > 0) {
        if (*file->z.next_in != 0)
            return cmi_error(
                CM_E_FORMAT,
                "%.512s: byte %02X at byte %llu behind the end of the compressed data; nothing or "
                "another gzip member expected; fetch the file again",
                file->name, *file->z.next_in, place(file));
        file->z.next_in++;
        file->z.avail_in--;
        if (file->z.avail_in == 0) CM_TRY(refill(file));
    }
    file->ended = true;
    return CM_OK;
}

/* Behind a finished member: the end, another member, or padding. */
static cm_status next_member(cmi_file *file)
{
    if (file->z.avail_in == 0 || *file->z.next_in != 0x1F) return skip_padding(file);
    int code = inflateReset(&file->z);
    if (code != Z_OK) return inflate_failed(file, code);
    file->member_done = false;
    return CM_OK;
}

static cm_status take_inflated(cmi_file *file, unsigned char *bytes, size_t count, size_t *got)
{
    z_stream *z = &file->z;
    *got = 0;
    while (*got < count && !file->ended) {
        if (z->avail_in == 0) CM_TRY(refill(file));
        if (file->member_done) {
            CM_TRY(next_member(file));
            continue;
        }
        /* zlib counts in 32 bits and never writes more than avail_out: this stops a bomb. */
        uInt room = count - *got > (1u << 30) ? 1u << 30 : (uInt)(count - *got);
        z->next_out = bytes + *got;
        z->avail_out = room;
        int code = inflate(z, Z_NO_FLUSH);
        *got += room - z->avail_out;
        if (code == Z_STREAM_END)
            file->member_done = true;
        else if (code != Z_OK)
            return inflate_failed(file, code);
    }
    return CM_OK;
}

static cm_status take_plain(cmi_file *file, unsigned char *bytes, size_t count, size_t *got)
{
    size_t first = count < file->z.avail_in ? count : file->z.avail_in, rest;
    memcpy(bytes, file->z.next_in, first);
    file->z.next_in += first;
    file->z.avail_in -= (uInt)first;
    *got = first;
    CM_TRY(fetch(file, bytes + first, count - first, &rest));
    *got += rest;
    return CM_OK;
}

/* Looks at the first stored bytes and gets ready to inflate if they ask for it. */
static cm_status prepare(cmi_file *file)
{
    CM_TRY(refill(file));
    file->gzip = file->z.avail_in >= 2 && file->input[0] == 0x1F && file->input[1] == 0x8B;
    if (!file->gzip) return CM_OK;
    file->z.zalloc = zlib_alloc;
    file->z.zfree = zlib_free;
    int code = inflateInit2(&file->z, 16 + MAX_WBITS); /* 16: gzip members only */
    if (code != Z_OK) return inflate_failed(file, code);
    file->inflate_ready = true;
    return CM_OK;
}

static cm_status open_descriptor(const char *path, int *fd, uint64_t *bytes)
{
    struct stat info;
    /* O_NONBLOCK: opening a named pipe must not wait for its writer. */
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &info) != 0)
        return cmi_error(CM_E_IO, "%.512s: cannot be opened: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return cmi_error(CM_E_IO, "%.512s: cannot be read: %s; name the file in it", path,
                         strerror(EISDIR));
    if (!S_ISREG(info.st_mode))
        return cmi_error(CM_E_IO,
                         "%.512s: not a plain file but a %s; save the data to a file first", path,
                         S_ISFIFO(info.st_mode) ? "pipe" : "device or socket");
    *bytes = (uint64_t)info.st_size;
    return CM_OK;
}

static cm_status create(const char *name, cmi_file **file)
{
    cm_status status = CMI_NEW(1, file);
    if (status) return status;
    (*file)->fd = -1;
    return cmi_strdup(name, &(*file)->name);
}

cm_status cmi_file_open(const char *path, cmi_file **file)
{
    cm_status status;
    *file = NULL;
    CM_TRY_GOTO(fail, create(path, file));
    CM_TRY_GOTO(fail, open_descriptor(path, &(*file)->fd, &(*file)->stored));
    CM_TRY_GOTO(fail, prepare(*file));
    return CM_OK;
fail:
    cmi_file_close(*file);
    *file = NULL;
    return status;
}

cm_status cmi_file_open_memory(const char *name, const void *bytes, size_t count, cmi_file **file)
{
    cm_status status;
    *file = NULL;
    CM_TRY_GOTO(fail, create(name, file));
    (*file)->memory = bytes;
    (*file)->stored = count;
    CM_TRY_GOTO(fail, prepare(*file));
    return CM_OK;
fail:
    cmi_file_close(*file);
    *file = NULL;
    return status;
}

void cmi_file_close(cmi_file *file)
{
    if (!file) return;
    if (file->inflate_ready) inflateEnd(&file->z);
    if (file->fd >= 0) close(file->fd);
    cmi_free(file->name);
    cmi_free(file);
}

const char *cmi_file_name(const cmi_file *file)
{
    return file->name;
}

bool cmi_file_is_gzip(const cmi_file *file)
{
    return file->gzip;
}

uint64_t cmi_file_stored_bytes(const cmi_file *file)
{
    return file->stored;
}

uint64_t cmi_file_most_bytes(const cmi_file *file)
{
    if (!file->gzip) return file->stored;
    if (file->stored > (UINT64_MAX - MOST_EXTRA) / MOST_RATIO) return UINT64_MAX;
    return file->stored * MOST_RATIO + MOST_EXTRA;
}

cm_status cmi_file_peek(cmi_file *file, const unsigned char **head, size_t *count)
{
    if (file->head_count == 0)
        CM_TRY(cmi_file_read(file, file->head, CMI_HEAD_BYTES, &file->head_count));
    CM_ASSERT(file->head_used == 0);
    *head = file->head;
    *count = file->head_count;
    return CM_OK;
}

cm_status cmi_file_read(cmi_file *file, void *bytes, size_t count, size_t *got)
{
    size_t first = file->head_count - file->head_used, rest;
    unsigned char *next = bytes;
    /* Peek reads into `head` itself: head_count is still 0 then, and nothing is copied. */
    if (first > count) first = count;
    if (first > 0) memcpy(next, file->head + file->head_used, first);
    file->head_used += first;
    *got = first;
    if (first == count) return CM_OK;
    CM_TRY(file->gzip ? take_inflated(file, next + first, count - first, &rest)
                      : take_plain(file, next + first, count - first, &rest));
    *got += rest;
    return CM_OK;
}
