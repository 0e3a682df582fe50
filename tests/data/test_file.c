/* test_file.c - plain and gzip bytes (src/data/file.c): case E07, not a plain file, and damage at
 * every byte. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <clmirror/dataset.h>
#include "base/mem.h"
#include "data/file.h"
#include "data_tests.h"

static cm_status open_source(const char *path)
{
    char source[4096];
    cm_dataset *dataset = NULL;
    snprintf(source, sizeof source, "idx:%s", path);
    cm_status status = cm_dataset_open(source, &dataset);
    cm_dataset_destroy(dataset);
    return status;
}

START_TEST(e07_missing)
{
    ck_assert_cm_status(open_source("/no/such/file"), CM_E_IO);
    ck_assert_message_has("/no/such/file");
    ck_assert_message_has(strerror(ENOENT));
}
END_TEST

START_TEST(e07_folder)
{
    ck_assert_cm_status(open_source(case_path("")), CM_E_IO);
    ck_assert_message_has(strerror(EISDIR));
}
END_TEST

START_TEST(e07_no_permission)
{
    const uid_t user = geteuid();
    folder_make();
    folder_write("secret", "\0\0\10\1\0\0\0\0", 8);
    ck_assert_int_eq(chmod(folder_path("secret"), 0), 0);
    /* root may read everything: become somebody else for a moment */
    if (user == 0) {
        ck_assert_int_eq(chmod(folder_path("."), 0755), 0);
        ck_assert_int_eq(seteuid(65534), 0);
    }
    cm_status status = open_source(folder_path("secret"));
    if (user == 0) ck_assert_int_eq(seteuid(user), 0);
    ck_assert_cm_status(status, CM_E_IO);
    ck_assert_message_has(strerror(EACCES));
    folder_remove();
}
END_TEST

START_TEST(e07_named_pipe)
{
    folder_make();
    ck_assert_int_eq(mkfifo(folder_path("pipe"), 0600), 0);
    ck_assert_cm_status(open_source(folder_path("pipe")), CM_E_IO); /* at once: nobody writes */
    ck_assert_message_has("not a plain file but a pipe");
    folder_remove();
}
END_TEST

START_TEST(e07_device)
{
    ck_assert_cm_status(open_source("/dev/null"), CM_E_IO);
    ck_assert_message_has("not a plain file");
}
END_TEST

/* The file becomes half as long between opening and reading. */
START_TEST(e07_cut_while_read)
{
    enum { BYTES = 200000 };
    static unsigned char bytes[BYTES];
    cmi_file *file = NULL;
    size_t got;
    folder_make();
    folder_write("cut", bytes, BYTES);
    ck_assert_cm_ok(cmi_file_open(folder_path("cut"), &file));
    ck_assert_uint_eq(cmi_file_stored_bytes(file), BYTES);
    ck_assert_cm_ok(cmi_file_read(file, bytes, 1000, &got));
    ck_assert_uint_eq(got, 1000);
    ck_assert_int_eq(truncate(folder_path("cut"), BYTES / 2), 0);
    ck_assert_cm_status(cmi_file_read(file, bytes, BYTES - 1000, &got), CM_E_IO);
    ck_assert_message_has("cut to 100000 bytes while it was read");
    ck_assert_message_has("200000");
    cmi_file_close(file);
    folder_remove();
}
END_TEST

/* Whole content in pieces of `step`; the status of the last call. */
static cm_status read_all(const void *bytes, size_t count, size_t step, unsigned char *content,
                          size_t *length)
{
    cmi_file *file = NULL;
    size_t got = step;
    cm_status status = cmi_file_open_memory("bytes", bytes, count, &file);
    for (*length = 0; !status && got == step; *length += got)
        if ((status = cmi_file_read(file, content + *length, step, &got))) break;
    cmi_file_close(file);
    return status;
}

/* Any size of the pieces, with and without a look at the head, gives the same content. */
START_TEST(pieces)
{
    static const char *const files[] = {
        "images-6x5x4.idx3-ubyte", "images-6x5x4.idx3-ubyte.gz", "gz-two-members.idx3-ubyte.gz",
        "gz-zero-padding.idx3-ubyte.gz", "gz-all-header-fields.idx3-ubyte.gz"};
    unsigned char want[512], content[1024];
    const unsigned char *head;
    size_t count, length, got;
    memcpy(want, case_bytes(files[0], &count), 136);
    for (int i = 0; i < CM_TEST_COUNT(files); i++) {
        const unsigned char *bytes = case_bytes(files[i], &count);
        for (size_t step = 1; step < 200; step++) {
            ck_assert_cm_ok(read_all(bytes, count, step, content, &length));
            ck_assert_uint_eq(length, 136);
            ck_assert_mem_eq(content, want, 136);
        }
        cmi_file *file = NULL;
        ck_assert_cm_ok(cmi_file_open_memory("bytes", bytes, count, &file));
        ck_assert_cm_ok(cmi_file_peek(file, &head, &got));
        ck_assert_uint_eq(got, CMI_HEAD_BYTES);
        ck_assert_mem_eq(head, want, got);
        ck_assert_cm_ok(cmi_file_read(file, content, 10, &got));
        ck_assert_cm_ok(cmi_file_read(file, content + 10, 500, &got));
        ck_assert_uint_eq(got, 126);
        ck_assert_mem_eq(content, want, 136);
        ck_assert_uint_ge(cmi_file_most_bytes(file), 136);
        cmi_file_close(file);
    }
}
END_TEST

/* A compressed file that lacks its end is refused, wherever it was cut. */
START_TEST(cut_anywhere)
{
    unsigned char content[1024];
    char place[64];
    size_t count, length;
    const unsigned char *bytes = case_bytes("images-6x5x4.idx3-ubyte.gz", &count);
    for (size_t n = 2; n < count; n++) {
        ck_assert_cm_status(read_all(bytes, n, 64, content, &length), CM_E_FORMAT);
        snprintf(place, sizeof place, "ends early, at byte %zu;", n);
        ck_assert_message_has(place);
    }
}
END_TEST

/* One wrong bit is found, except where gzip keeps time, system and the like. */
START_TEST(flip_anywhere)
{
    unsigned char content[1 << 16], bytes[512], want[136];
    size_t count, length, refused = 0;
    memcpy(want, case_bytes("images-6x5x4.idx3-ubyte", &count), 136);
    memcpy(bytes, case_bytes("images-6x5x4.idx3-ubyte.gz", &count), sizeof bytes);
    for (size_t bit = 0; bit < 8 * count; bit++) {
        if (bit / 8 < 2) continue; /* then it is no gzip file at all */
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (read_all(bytes, count, 300, content, &length))
            refused++;
        else
            ck_assert(length == 136 && memcmp(content, want, 136) == 0);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ck_assert_uint_ge(refused, 8 * (count - 10));
}
END_TEST

START_TEST(something_behind)
{
    unsigned char content[1024], bytes[512];
    size_t count, length;
    memcpy(bytes, case_bytes("images-6x5x4.idx3-ubyte.gz", &count), sizeof bytes);
    bytes[count] = 'x';
    ck_assert_cm_status(read_all(bytes, count + 1, 300, content, &length), CM_E_FORMAT);
    ck_assert_message_has("byte 78 at byte 159 behind the end of the compressed data");
    memset(bytes + count, 0, 20);
    bytes[count + 19] = 7;
    ck_assert_cm_status(read_all(bytes, count + 19, 300, content, &length), CM_OK);
    ck_assert_cm_status(read_all(bytes, count + 20, 300, content, &length), CM_E_FORMAT);
    ck_assert_message_has("byte 07 at byte 178");
}
END_TEST

Suite *file_suite(void)
{
    Suite *suite = suite_create("file");
    TCase *e07 = tcase_create("e07"), *gzip = tcase_create("gzip");
    tcase_add_test(e07, e07_missing);
    tcase_add_test(e07, e07_folder);
    tcase_add_test(e07, e07_no_permission);
    tcase_add_test(e07, e07_named_pipe);
    tcase_add_test(e07, e07_device);
    tcase_add_test(e07, e07_cut_while_read);
    tcase_add_test(gzip, pieces);
    tcase_add_test(gzip, cut_anywhere);
    tcase_add_test(gzip, flip_anywhere);
    tcase_add_test(gzip, something_behind);
    suite_add_tcase(suite, e07);
    suite_add_tcase(suite, gzip);
    return suite;
}
