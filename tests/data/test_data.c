/* test_data.c - the program that tests src/data, and its files.
 *
 * The cases of group E lie in tests/data/idx as they were handed over (git must not touch their
 * bytes, see .gitattributes).  A compile definition CM_TEST_DATA may name the folder tests/;
 * without it the program looks in its working folder and in tests/ below it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "data_tests.h"

enum { RING = 4, PATH_BYTES = 4096, FILE_BYTES = 8192 };

static char folder[64];

static char *next_path(void)
{
    static char ring[RING][PATH_BYTES];
    static int next;
    next = (next + 1) % RING;
    return ring[next];
}

static const char *root(void)
{
#ifdef CM_TEST_DATA
    return CM_TEST_DATA;
#else
    return access("data/idx", F_OK) == 0 ? "." : "tests";
#endif
}

const char *case_path(const char *name)
{
    char *path = next_path();
    snprintf(path, PATH_BYTES, "%s/data/idx/%s", root(), name);
    return path;
}

const unsigned char *case_bytes(const char *name, size_t *count)
{
    static unsigned char bytes[FILE_BYTES];
    FILE *file = fopen(case_path(name), "rb");
    ck_assert_msg(file != NULL, "%s is missing", case_path(name));
    *count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    ck_assert_uint_lt(*count, sizeof bytes);
    return bytes;
}

const char *folder_make(void)
{
    strcpy(folder, "/tmp/clmirror-test-data-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    return folder;
}

const char *folder_path(const char *name)
{
    char *path = next_path();
    snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return path;
}

void folder_write(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(folder_path(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}

void folder_copy(const char *name, const char *case_name)
{
    size_t count;
    const unsigned char *bytes = case_bytes(case_name, &count);
    folder_write(name, bytes, count);
}

void folder_remove(void)
{
    DIR *list = opendir(folder);
    struct dirent *entry;
    ck_assert_ptr_nonnull(list);
    while ((entry = readdir(list)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            if (unlink(folder_path(entry->d_name)) != 0) rmdir(folder_path(entry->d_name));
    closedir(list);
    ck_assert_int_eq(rmdir(folder), 0);
}

int main(int argc, char **argv)
{
    Suite *suites[] = {rows_suite(), idx_suite(), file_suite(), dataset_suite()};
    return cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
}
