/* test_idx.c - case E01: every file of tests/data/idx has the result that the table names.
 *
 * A file is opened through the public cm_dataset_open.  Expected numbers come from formulas or
 * literals, expected messages are the facts that must be in them.  A file in the folder that no
 * line names is a failure, and so is the opposite. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <clmirror/dataset.h>
#include "base/mem.h"
#include "data/data.h"
#include "data/format.h"
#include "data_tests.h"

typedef struct idx_case {
    const char *file;
    const char *facts[6]; /* of an error's message; none: the file is accepted */
    cm_dtype dtype;
    int rank;
    int64_t shape[3];
    double (*value)(int64_t index);
    double list[9];
} idx_case;

static double pixel(int64_t k)
{
    int64_t i = k / 20, r = k / 4 % 5, c = k % 4;
    return (double)((37 * i + 11 * r + 3 * c) % 256);
}

static double label(int64_t k)
{
    return (double)((3 * k + 1) % 10);
}

static double ints(int64_t k)
{
    int64_t i = k / 8, j = k % 8;
    return (double)(j == 0 ? (3 * i + 1) % 10 : 1000 * i + j);
}

#define IMAGES .dtype = CM_DTYPE_UINT8, .rank = 3, .shape = {6, 5, 4}, .value = pixel
#define LABELS .dtype = CM_DTYPE_UINT8, .rank = 1, .value = label

static const idx_case cases[] = {
    {"images-6x5x4.idx3-ubyte", IMAGES},
    {"images-6x5x4.idx3-ubyte.gz", IMAGES},
    {"labels-6.idx1-ubyte", LABELS, .shape = {6}},
    {"labels-6.idx1-ubyte.gz", LABELS, .shape = {6}},
    {"gz-named-raw.idx3-ubyte", IMAGES},
    {"raw-named-gz.idx3-ubyte.gz", IMAGES},
    {"gz-all-header-fields.idx3-ubyte.gz", IMAGES},
    {"gz-two-members.idx3-ubyte.gz", IMAGES},
    {"gz-zero-padding.idx3-ubyte.gz", IMAGES},
    {"gz-truncated.idx3-ubyte.gz",
     .facts = {"compressed data ends early", "byte 60", "fetch the file again"}},
    {"gz-wrong-crc.idx3-ubyte.gz",
     .facts = {"check sum", "compressed data is wrong", "fetch the file again"}},
    {"gz-in-gz.idx3-ubyte.gz", .facts = {"compressed twice", "unpack once"}},
    {"gz-bomb.idx3-ubyte.gz", .facts = {"more than the 136 bytes that the header promises"}},
    {"html-instead-of-gz-images-idx3-ubyte.gz",
     .facts = {"looks like a web page, not like data", "<!DOCTYPE", "the download failed"}},
    {"empty.idx3-ubyte", .facts = {"empty file"}},
    {"empty.idx3-ubyte.gz", .facts = {"empty file"}},
    {"truncated-header.idx3-ubyte", .facts = {"header of 16 bytes", "file of 10"}},
    {"truncated-body.idx3-ubyte",
     .facts = {"136 bytes expected", "6 x 5 x 4", "129 found", "header of 16"}},
    {"trailing-5-bytes.idx3-ubyte", .facts = {"136 bytes expected", "141 found"}},
    {"overflow-32-bits.idx3-ubyte", .facts = {"65536 x 65536 x 1", "4294967296 bytes",
                                              "4294967312 bytes expected", "20 behind the header"}},
    {"overflow-64-bits.idx4-ubyte",
     .facts = {"sizes too large", "65536 x 65536 x 65536 x 65536", "0 bytes"}},
    {"overflow-96-bits.idx3-ubyte",
     .facts = {"sizes too large", "4294967295 x 4294967295 x 4294967295"}},
    {"count-2-to-31.idx1-ubyte",
     .facts = {"2147483648 bytes", "2147483656 bytes expected", "6 behind the header"}},
    {"little-endian-sizes.idx3-ubyte",
     .facts = {"100663296 x 83886080 x 67108864", "do not fit the 120 bytes", "wrong byte order"}},
    {"wrong-magic.idx3-ubyte", .facts = {"at byte 0", "IDX begins with 00 00", "found 00 01"}},
    {"wrong-type-code.idx3-ubyte",
     .facts = {"at byte 2", "type code 07 unknown", "08 09 0B 0C 0D 0E"}},
    {"no-dimensions.idx0-ubyte", .facts = {"at byte 3", "no dimension"}},
    {"255-dimensions.idx", .facts = {"at byte 3", "255 dimensions, at most 8"}},
    {"zero-images.idx3-ubyte", .dtype = CM_DTYPE_UINT8, .rank = 3, .shape = {0, 5, 4},
     .value = pixel},
    {"zero-rows.idx3-ubyte", .facts = {"a size of 0", "6 x 0 x 4"}},
    {"signed-bytes.idx2-byte", .dtype = CM_DTYPE_INT32, .rank = 2, .shape = {2, 3},
     .list = {-128, -1, 0, 1, 2, 127}},
    {"shorts.idx2-short", .dtype = CM_DTYPE_INT32, .rank = 2, .shape = {2, 3},
     .list = {-32768, -1, 0, 1, 258, 32767}},
    {"ints-5x8.idx2-int", .dtype = CM_DTYPE_INT32, .rank = 2, .shape = {5, 8}, .value = ints},
    {"floats-3x2.idx2-float", .dtype = CM_DTYPE_FLOAT32, .rank = 2, .shape = {3, 2},
     .list = {-1.5, 0, 0.25, 1, 3.5, (double)1e30f}},
    {"doubles-3x2.idx2-double", .dtype = CM_DTYPE_FLOAT32, .rank = 2, .shape = {3, 2},
     .list = {-1.5, 0, (double)0.1f, 1, 3.5, (double)0.001f}},
    {"double-too-large.idx1-double",
     .facts = {"element 1 is 1e+300", "too large for float32", "byte 16"}},
    {"labels-9.idx1-ubyte", LABELS, .shape = {9}},
    {"label-out-of-range.idx1-ubyte", .dtype = CM_DTYPE_UINT8, .rank = 1, .shape = {6},
     .list = {1, 4, 7, 200, 3, 6}},
};

enum { CASES = sizeof cases / sizeof *cases };

static double element(const cm_tensor *tensor, int64_t k)
{
    switch (tensor->dtype) {
    case CM_DTYPE_UINT8:
        return ((const uint8_t *)tensor->data)[k];
    case CM_DTYPE_INT32:
        return ((const int32_t *)tensor->data)[k];
    case CM_DTYPE_FLOAT32:
        return (double)((const float *)tensor->data)[k];
    case CM_DTYPE_NONE:
        break;
    }
    return NAN;
}

static void check_accepted(const idx_case *c, const cm_tensor *x)
{
    int64_t count = 1;
    ck_assert_int_eq(x->dtype, c->dtype);
    ck_assert_int_eq(x->rank, c->rank);
    for (int i = 0; i < c->rank; i++) {
        ck_assert_int_eq(x->shape[i], c->shape[i]);
        count *= c->shape[i];
    }
    for (int64_t k = 0; k < count; k++) {
        double want = c->value ? c->value(k) : c->list[k], got = element(x, k);
        ck_assert_msg(got == want, "%s: element %lld is %.9g, expected %.9g", c->file, (long long)k,
                      got, want);
    }
}

START_TEST(e01_every_file)
{
    const idx_case *c = &cases[_i];
    const uint64_t live = cmi_mem_live();
    char source[4096];
    cm_dataset *dataset = NULL;
    snprintf(source, sizeof source, "idx:%s", case_path(c->file));
    cm_status status = cm_dataset_open(source, &dataset);
    ck_assert_msg(status == (c->facts[0] ? CM_E_FORMAT : CM_OK), "%s: %s: %s", c->file,
                  cm_status_name(status), cm_last_message());
    if (c->facts[0]) {
        ck_assert_ptr_null(dataset);
        /* the file as the user wrote it comes first */
        ck_assert_msg(strncmp(cm_last_message(), source + 4, strlen(source + 4)) == 0, "%s",
                      cm_last_message());
        for (int i = 0; i < 6 && c->facts[i]; i++)
            ck_assert_message_has(c->facts[i]);
    } else {
        cm_data data = cm_dataset_data(dataset);
        check_accepted(c, &data.x);
        ck_assert_int_eq(data.y.dtype, CM_DTYPE_NONE);
    }
    cm_dataset_destroy(dataset);
    ck_assert_uint_eq(cmi_mem_live(), live);
}
END_TEST

START_TEST(e01_table_is_complete)
{
    char path[4096];
    struct dirent *entry;
    int found = 0;
    snprintf(path, sizeof path, "%s", case_path(""));
    DIR *list = opendir(path);
    ck_assert_msg(list != NULL, "no folder %s", path);
    while ((entry = readdir(list))) {
        int known = entry->d_name[0] == '.';
        for (int i = 0; i < CASES; i++)
            if (strcmp(entry->d_name, cases[i].file) == 0) known = 1, found++;
        ck_assert_msg(known, "%s is in no line of the table", entry->d_name);
    }
    closedir(list);
    ck_assert_int_eq(found, CASES);
    ck_assert_int_gt(found, 0);
}
END_TEST

/* "fit: no samples" comes from the check of the data, not from the reader. */
START_TEST(e01_zero_images)
{
    char source[4096];
    cm_dataset *dataset = NULL;
    snprintf(source, sizeof source, "idx:%s", case_path("zero-images.idx3-ubyte"));
    ck_assert_cm_ok(cm_dataset_open(source, &dataset));
    cm_data data = cm_dataset_data(dataset);
    ck_assert_cm_status(cmi_data_check(&data, "fit", false), CM_E_INVALID);
    ck_assert_message_has("fit: no samples");
    cm_dataset_destroy(dataset);
}
END_TEST

static cm_status read_bytes(const void *bytes, size_t count, cmi_file_array *array)
{
    cmi_file *file = NULL;
    memset(array, 0, sizeof *array);
    CM_TRY(cmi_file_open_memory("bytes", bytes, count, &file));
    cm_status status = cmi_format_read_file(cmi_format_find("idx", 3), file, array);
    cmi_file_close(file);
    return status;
}

/* A size that the file cannot keep is refused before memory for it is taken: as many allocations as
 * for a file that is refused at its first byte. */
static uint64_t allocations(const void *bytes, size_t count)
{
    uint64_t before = cmi_mem_total();
    cmi_file_array array;
    ck_assert_cm_status(read_bytes(bytes, count, &array), CM_E_FORMAT);
    return cmi_mem_total() - before;
}

START_TEST(sizes_before_memory)
{
    static const char *const lies[] = {"overflow-32-bits.idx3-ubyte", "overflow-64-bits.idx4-ubyte",
                                       "overflow-96-bits.idx3-ubyte", "count-2-to-31.idx1-ubyte",
                                       "truncated-body.idx3-ubyte"};
    /* gzip of 00 00 08 01 C0 00 00 00: 28 bytes promise 3 GiB */
    static const unsigned char packed_lie[] = {
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xFF, 0x63, 0x60, 0xE0, 0x60,
        0x3C, 0xC0, 0xC0, 0xC0, 0x00, 0x00, 0xB2, 0x9A, 0x5C, 0xC2, 0x08, 0x00, 0x00, 0x00};
    /* gzip of nothing */
    static const unsigned char packed_no_idx[] = {0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00,
                                                  0x00, 0x02, 0xFF, 0x03, 0x00, 0x00, 0x00,
                                                  0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
    size_t count;
    const unsigned char *bytes = case_bytes("wrong-magic.idx3-ubyte", &count);
    uint64_t least = allocations(bytes, count);
    for (int i = 0; i < CM_TEST_COUNT(lies); i++) {
        bytes = case_bytes(lies[i], &count);
        ck_assert_uint_eq(allocations(bytes, count), least);
    }
    least = allocations(packed_no_idx, sizeof packed_no_idx);
    ck_assert_message_has("empty file (compressed");
    /* zlib's window, which only content that is not empty needs */
    ck_assert_uint_le(allocations(packed_lie, sizeof packed_lie), least + 1);
    ck_assert_message_has("sizes too large: 3221225472");
    ck_assert_message_has("3221225480 bytes");
}
END_TEST

START_TEST(packed_but_too_short)
{
    static const unsigned char bytes[] = {0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
                                          0x02, 0xFF, 0x63, 0x60, 0xE0, 0x60, 0x64, 0x60,
                                          0x60, 0x60, 0x65, 0x64, 0x62, 0x06, 0x00, 0x57,
                                          0xBA, 0xD6, 0x81, 0x0B, 0x00, 0x00, 0x00};
    cmi_file_array array;
    ck_assert_cm_status(read_bytes(bytes, sizeof bytes, &array), CM_E_FORMAT);
    ck_assert_message_has("13 bytes expected");
    ck_assert_message_has("11 found");
}
END_TEST

typedef struct float_case {
    uint64_t bits;
    const char *fact; /* NULL: accepted as `value` */
    float value;
} float_case;

/* Values at the edges of float32, as IDX doubles. */
static const float_case float_cases[] = {
    {0x7FF8000000000000u, "element 0 is nan, not a finite number", 0},
    {0x7FF0000000000000u, "element 0 is inf, not a finite number", 0},
    {0xFFF0000000000000u, "element 0 is -inf, not a finite number", 0},
    {0x47EFFFFFE0000000u, NULL, 3.40282347e38f}, /* FLT_MAX */
    {0x47EFFFFFEFFFFFFFu, NULL, 3.40282347e38f}, /* the last that rounds to it */
    {0x47EFFFFFF0000000u, "too large for float32", 0},
    {0xC7EFFFFFF0000000u, "too large for float32", 0},
    {0x36A0000000000000u, NULL, 0x1p-149f}, /* the smallest float32 above 0 */
    {0x0000000000000001u, NULL, 0.0f},      /* too small becomes 0 */
};

START_TEST(float_edges)
{
    const float_case *c = &float_cases[_i];
    unsigned char bytes[16] = {0, 0, 0x0E, 1, 0, 0, 0, 1};
    cmi_file_array array;
    for (int i = 0; i < 8; i++)
        bytes[8 + i] = (unsigned char)(c->bits >> (56 - 8 * i));
    ck_assert_cm_status(read_bytes(bytes, sizeof bytes, &array), c->fact ? CM_E_FORMAT : CM_OK);
    if (c->fact)
        ck_assert_message_has(c->fact);
    else
        ck_assert(((float *)array.memory)[0] == c->value);
    cmi_free(array.memory);
}
END_TEST

START_TEST(float32_not_finite)
{
    static const unsigned char bytes[] = {0,    0,    0x0D, 1, 0,    0,    0, 2,
                                          0x3F, 0x80, 0,    0, 0x7F, 0x80, 0, 0};
    cmi_file_array array;
    ck_assert_cm_status(read_bytes(bytes, sizeof bytes, &array), CM_E_FORMAT);
    ck_assert_message_has("element 1 is inf, not a finite number (at byte 12)");
}
END_TEST

/* The place counts from the beginning of the file, also behind the first chunk of the converter. */
START_TEST(float32_not_finite_later)
{
    enum { N = 3000 };
    static unsigned char bytes[8 + 4 * N] = {0, 0, 0x0D, 1, 0, 0, N >> 8, N & 255};
    cmi_file_array array;
    bytes[8 + 4 * (N - 1)] = 0x7F;
    bytes[9 + 4 * (N - 1)] = 0xC0;
    ck_assert_cm_status(read_bytes(bytes, sizeof bytes, &array), CM_E_FORMAT);
    ck_assert_message_has("element 2999 is nan, not a finite number (at byte 12004)");
}
END_TEST

/* No rows of a row that no memory can hold. */
START_TEST(no_rows_of_an_impossible_row)
{
    static const unsigned char bytes[20] = {0,    0,    8,    4,    0,    0,    0,
                                            0,    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    cmi_file_array array;
    ck_assert_cm_status(read_bytes(bytes, sizeof bytes, &array), CM_E_FORMAT);
    ck_assert_message_has("sizes too large: 0 x 4294967295 x 4294967295 x 4294967295");
}
END_TEST

/* More elements than one chunk of the converter holds. */
START_TEST(many_elements)
{
    enum { N = 5000 };
    static unsigned char bytes[8 + 2 * N] = {0, 0, 0x0B, 1, 0, 0, N >> 8, N & 255};
    cmi_file_array array;
    for (int i = 0; i < N; i++) {
        int value = i * 7 - 16000;
        bytes[8 + 2 * i] = (unsigned char)(value >> 8 & 255);
        bytes[9 + 2 * i] = (unsigned char)(value & 255);
    }
    ck_assert_cm_ok(read_bytes(bytes, sizeof bytes, &array));
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(((int32_t *)array.memory)[i], i * 7 - 16000);
    cmi_free(array.memory);
}
END_TEST

/* Every allocation fails once: CM_E_MEMORY, nothing leaked, and the next try succeeds. */
static int fail_every_allocation(const char *file)
{
    char source[4096];
    cm_dataset *dataset = NULL;
    uint64_t live = cmi_mem_live();
    snprintf(source, sizeof source, "idx:%s,%s scale=1/255", case_path(file),
             case_path("labels-6.idx1-ubyte.gz"));
    for (int k = 1; k < 100; k++) {
        cmi_mem_fail_at((uint64_t)k);
        cm_status status = cm_dataset_open(source, &dataset);
        cmi_mem_fail_at(0);
        if (!status) {
            cm_dataset_destroy(dataset);
            ck_assert_uint_eq(cmi_mem_live(), live);
            return k - 1;
        }
        ck_assert_msg(status == CM_E_MEMORY, "allocation %d: %s: %s", k, cm_status_name(status),
                      cm_last_message());
        ck_assert_ptr_null(dataset);
        ck_assert_uint_eq(cmi_mem_live(), live);
    }
    return 0;
}

START_TEST(allocation_faults)
{
    /* text and data set; file, name and array for each of two files; zlib's state for gzip */
    ck_assert_int_ge(fail_every_allocation("images-6x5x4.idx3-ubyte"), 9);
    ck_assert_int_ge(fail_every_allocation("images-6x5x4.idx3-ubyte.gz"), 10);
}
END_TEST

/* The fuzzer's function over all files, their beginnings, and one flipped byte in each place. */
START_TEST(fuzz_replay)
{
    size_t count;
    unsigned char bytes[8192];
    memcpy(bytes, case_bytes(cases[_i].file, &count), sizeof bytes);
    LLVMFuzzerTestOneInput(bytes, count);
    for (size_t n = 0; n<count; n += count> 1000 ? 37 : 1)
        LLVMFuzzerTestOneInput(bytes, n);
    for (size_t i = 0; i<count; i += count> 1000 ? 37 : 1)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1 << bit);
            LLVMFuzzerTestOneInput(bytes, count);
            bytes[i] ^= (unsigned char)(1 << bit);
        }
}
END_TEST

Suite *idx_suite(void)
{
    Suite *suite = suite_create("idx");
    TCase *e01 = tcase_create("e01"), *more = tcase_create("idx_more");
    tcase_add_loop_test(e01, e01_every_file, 0, CASES);
    tcase_add_test(e01, e01_table_is_complete);
    tcase_add_test(e01, e01_zero_images);
    tcase_add_test(more, sizes_before_memory);
    tcase_add_test(more, packed_but_too_short);
    tcase_add_loop_test(more, float_edges, 0, CM_TEST_COUNT(float_cases));
    tcase_add_test(more, float32_not_finite);
    tcase_add_test(more, float32_not_finite_later);
    tcase_add_test(more, no_rows_of_an_impossible_row);
    tcase_add_test(more, many_elements);
    tcase_add_test(more, allocation_faults);
    tcase_add_loop_test(more, fuzz_replay, 0, CASES);
    suite_add_tcase(suite, e01);
    suite_add_tcase(suite, more);
    return suite;
}
