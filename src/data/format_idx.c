/* format_idx.c - IDX, the format of the MNIST files.
 *
 * Two zero bytes, a type code, the number of dimensions, one 32-bit size per dimension, then the
 * elements row by row; every number is big-endian.  uint8 stays uint8, the other integers become
 * int32, float and double become float32.
 *
 * The header promises a number of bytes.  Before memory is taken the promise is compared with the
 * file: exactly for a plain file, with the most that deflate can pack for a compressed one.  Then
 * exactly that many bytes are read, and one more is asked for to see that nothing is left.  See
 * format.h for who calls it. */
#include <math.h>
#include <float.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "data/format.h"

enum { MAX_HEADER = 4 + 4 * CM_MAX_RANK, CHUNK_BYTES = 8192 };

typedef struct type_info {
    int code;
    size_t bytes; /* of an element in the file */
    cm_dtype dtype;
} type_info;

static const type_info types[] = {
    {0x08, 1, CM_DTYPE_UINT8}, {0x09, 1, CM_DTYPE_INT32},   {0x0B, 2, CM_DTYPE_INT32},
    {0x0C, 4, CM_DTYPE_INT32}, {0x0D, 4, CM_DTYPE_FLOAT32}, {0x0E, 8, CM_DTYPE_FLOAT32},
};

typedef struct header {
    const type_info *type;
    int rank;
    uint32_t size[CM_MAX_RANK];
    size_t bytes;                /* of the header itself */
    uint64_t count, body, total; /* elements; their bytes in the file; with the header */
} header;

static uint32_t load32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t swap32(uint32_t value)
{
    return value >> 24 | (value >> 8 & 0xFF00u) | (value << 8 & 0xFF0000u) | value << 24;
}

/* "6 x 5 x 4" */
static const char *sizes_text(const header *h, char *text, size_t bytes)
{
    size_t used = 0;
    for (int i = 0; i < h->rank && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%lu", i ? " x " : "",
                                 (unsigned long)h->size[i]);
    return text;
}

/* Fills count, body and total; false when they do not fit.  One row is computed first, so that 0
 * rows of an impossible row are impossible too. */
static bool measure(header *h)
{
    size_t count = 1, body, total;
    for (int i = 1; i < h->rank; i++)
        if (!cmi_size_mul(count, h->size[i], &count)) return false;
    /* 8 is the widest element, in the file or in memory. */
    if (!cmi_size_mul(count, 8, &body) || !cmi_size_mul(count, h->size[0], &count)) return false;
    if (!cmi_size_mul(count, 8, &body) || body > PTRDIFF_MAX - MAX_HEADER) return false;
    body = count * h->type->bytes;
    total = body + h->bytes;
    h->count = count;
    h->body = body;
    h->total = total;
    return true;
}

/* Whether the file would fit if its sizes were little-endian. */
static const char *byte_order_hint(const header *h, const cmi_file *file)
{
    header other = *h;
    for (int i = 0; i < h->rank; i++) {
        other.size[i] = swap32(h->size[i]);
        if (other.size[i] == 0) return "";
    }
    if (!measure(&other) || other.total == h->total) return "";
    if (cmi_file_is_gzip(file) ? other.total > cmi_file_most_bytes(file)
                               : other.total != cmi_file_stored_bytes(file))
        return "";
    return "; perhaps written in the wrong byte order: IDX sizes are big-endian";
}

/* The first four bytes: zeros, type code, dimensions. */
static cm_status read_magic(const char *name, const unsigned char *head, header *h)
{
    if (head[0] != 0 || head[1] != 0)
        return cmi_error(
            CM_E_FORMAT,
            "%.512s: at byte 0: IDX begins with 00 00, found %02X %02X; not an IDX file", name,
            head[0], head[1]);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == head[2]) h->type = &types[i];
    if (!h->type)
        return cmi_error(CM_E_FORMAT,
                         "%.512s: at byte 2: type code %02X unknown; known are 08 09 0B 0C 0D 0E",
                         name, head[2]);
    if (head[3] == 0)
        return cmi_error(CM_E_FORMAT, "%.512s: at byte 3: no dimension; 1 to %d expected", name,
                         CM_MAX_RANK);
    if (head[3] > CM_MAX_RANK)
        return cmi_error(CM_E_FORMAT, "%.512s: at byte 3: %d dimensions, at most %d are supported",
                         name, head[3], CM_MAX_RANK);
    h->rank = head[3];
    h->bytes = 4 + 4 * (size_t)h->rank;
    return CM_OK;
}

static cm_status read_header(cmi_file *file, header *h)
{
    unsigned char head[MAX_HEADER];
    const char *name = cmi_file_name(file);
    size_t got, more = 0;
    CM_TRY(cmi_file_read(file, head, 4, &got));
    if (got < 4)
        return cmi_error(CM_E_FORMAT,
                         "%.512s: an IDX header has at least 8 bytes, the file %zu; fetch it again",
                         name, got);
    CM_TRY(read_magic(name, head, h));
    CM_TRY(cmi_file_read(file, head + 4, h->bytes - 4, &more));
    if (more < h->bytes - 4)
        return cmi_error(CM_E_FORMAT,
                         "%.512s: a header of %zu bytes expected for %d dimensions, a file of %zu "
                         "found; fetch it again",
                         name, h->bytes, h->rank, got + more);
    for (int i = 0; i < h->rank; i++)
        h->size[i] = load32(head + 4 + 4 * i);
    return CM_OK;
}

/* Too short or too long; `found` counts all bytes of the content. */
static cm_status wrong_length(const cmi_file *file, const header *h, uint64_t found)
{
    char sizes[128];
    return cmi_error(
        CM_E_FORMAT,
        "%.512s: %llu bytes expected (%s elements of %zu = %llu bytes behind a header of %zu), "
        "%llu found (%llu behind the header)%s%s",
        cmi_file_name(file), (unsigned long long)h->total, sizes_text(h, sizes, sizeof sizes),
        h->type->bytes, (unsigned long long)h->body, h->bytes, (unsigned long long)found,
        (unsigned long long)(found - h->bytes),
        found < h->total ? "; fetch the file again" : "; wrong type or wrong sizes?",
        byte_order_hint(h, file));
}

/* Whether the file can keep what the header promises; no memory has been taken yet. */
static cm_status check_promise(const cmi_file *file, header *h)
{
    const char *name = cmi_file_name(file);
    char sizes[128];
    for (int i = 1; i < h->rank; i++)
        if (h->size[i] == 0)
            return cmi_error(CM_E_FORMAT,
                             "%.512s: a size of 0 (%s); only the first, the rows, may be 0", name,
                             sizes_text(h, sizes, sizeof sizes));
    if (!measure(h))
        return cmi_error(
            CM_E_FORMAT,
            "%.512s: sizes too large: %s do not fit the %llu bytes behind the header%s", name,
            sizes_text(h, sizes, sizeof sizes),
            (unsigned long long)(cmi_file_most_bytes(file) - h->bytes), byte_order_hint(h, file));
    if (!cmi_file_is_gzip(file) && h->total != cmi_file_stored_bytes(file))
        return wrong_length(file, h, cmi_file_stored_bytes(file));
    if (h->total > cmi_file_most_bytes(file))
        return cmi_error(CM_E_FORMAT,
                         "%.512s: sizes too large: %s are %llu bytes, and %llu compressed bytes "
                         "unpack to at most "
                         "%llu%s",
                         name, sizes_text(h, sizes, sizeof sizes), (unsigned long long)h->total,
                         (unsigned long long)cmi_file_stored_bytes(file),
                         (unsigned long long)cmi_file_most_bytes(file), byte_order_hint(h, file));
    return CM_OK;
}

static int32_t load_int(const unsigned char *p, size_t bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | p[i];
    /* Widening the sign: flip the sign bit and take its weight away again. */
    const uint32_t sign = 1u << (8 * bytes - 1);
    return (int32_t)((int64_t)(value ^ sign) - (int64_t)sign);
}

static double load_float(const unsigned char *p, size_t bytes)
{
    uint64_t bits = load32(p);
    double wide;
    float narrow;
    if (bytes == 4) {
        uint32_t bits32 = (uint32_t)bits;
        memcpy(&narrow, &bits32, sizeof narrow);
        return (double)narrow;
    }
    bits = bits << 32 | load32(p + 4);
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

/* The largest double that still rounds to a finite float32 is just below FLT_MAX plus half a unit
 * of its last place, 2^103. */
static bool fits_float(double value)
{
    return fabs(value) < (double)FLT_MAX + 0x1p103;
}

static cm_status store_float(const cmi_file *file, const header *h, uint64_t element, double value,
                             float *to)
{
    const char *what = !isfinite(value) ? "not a finite number" : "too large for float32";
    if (isfinite(value) && fits_float(value)) {
        *to = (float)value;
        return CM_OK;
    }
    return cmi_error(CM_E_FORMAT, "%.512s: element %llu is %g, %s (at byte %llu)",
                     cmi_file_name(file), (unsigned long long)element, value, what,
                     (unsigned long long)(h->bytes + element * h->type->bytes));
}

static cm_status convert(const cmi_file *file, const header *h, const unsigned char *from,
                         uint64_t first, uint64_t count, void *memory)
{
    const size_t bytes = h->type->bytes;
    for (uint64_t i = 0; i < count; i++, from += bytes) {
        if (h->type->dtype == CM_DTYPE_INT32)
            ((int32_t *)memory)[first + i] = load_int(from, bytes);
        else
            CM_TRY(store_float(file, h, first + i, load_float(from, bytes),
                               (float *)memory + first + i));
    }
    return CM_OK;
}

static cm_status read_exactly(cmi_file *file, const header *h, void *bytes, size_t count,
                              uint64_t before)
{
    size_t got;
    CM_TRY(cmi_file_read(file, bytes, count, &got));
    return got == count ? CM_OK : wrong_length(file, h, h->bytes + before + got);
}

static cm_status read_body(cmi_file *file, const header *h, void *memory)
{
    unsigned char chunk[CHUNK_BYTES];
    const uint64_t step = CHUNK_BYTES / h->type->bytes;
    if (h->type->dtype == CM_DTYPE_UINT8) return read_exactly(file, h, memory, (size_t)h->count, 0);
    for (uint64_t first = 0; first < h->count; first += step) {
        uint64_t count = h->count - first < step ? h->count - first : step;
        CM_TRY(
            read_exactly(file, h, chunk, (size_t)count * h->type->bytes, first * h->type->bytes));
        CM_TRY(convert(file, h, chunk, first, count, memory));
    }
    return CM_OK;
}

/* Asking for one byte more also makes zlib compare the check sums. */
static cm_status check_end(cmi_file *file, const header *h)
{
    unsigned char extra;
    size_t got;
    CM_TRY(cmi_file_read(file, &extra, 1, &got));
    if (got == 0) return CM_OK;
    return cmi_error(CM_E_FORMAT,
                     "%.512s: more than the %llu bytes that the header promises come out of the "
                     "compressed data; a "
                     "damaged header, or not the file it should be",
                     cmi_file_name(file), (unsigned long long)h->total);
}

static cm_status idx_read(cmi_file *file, cmi_file_array *array)
{
    header h = {0};
    cm_tensor *tensor = &array->tensor;
    CM_TRY(read_header(file, &h));
    CM_TRY(check_promise(file, &h));
    tensor->dtype = h.type->dtype;
    tensor->rank = h.rank;
    for (int i = 0; i < h.rank; i++)
        tensor->shape[i] = h.size[i];
    CM_TRY_CTX(cmi_alloc((size_t)h.count, cmi_dtype_bytes(tensor->dtype), &array->memory), "%.512s",
               cmi_file_name(file));
    CM_TRY(read_body(file, &h, array->memory));
    return check_end(file, &h);
}

static bool idx_sniff(const unsigned char *head, size_t count, const char *name)
{
    return (count >= 2 && head[0] == 0 && head[1] == 0) || strstr(name, ".idx") ||
           strstr(name, "-idx");
}

const cmi_file_format cmi_format_idx = {
    .entry = {.name = "idx", .doc = "IDX, the format of the MNIST files, plain or gzip"},
    .sniff = idx_sniff,
    .read = idx_read,
};
