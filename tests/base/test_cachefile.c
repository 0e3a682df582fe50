/* test_cachefile.c - the cache folder: where it is, what is found there again, and all that can be
 * wrong with it. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/cachefile.h"
#include "base/hash.h"
#include "base/knob.h"
#include "base/mem.h"
#include "base/suites.h"
#include "base/thread.h"
#include "support/cm_test.h"

static char root[64], folder[128];
static uint64_t blocks;

static void setup(void)
{
    strcpy(root, "/tmp/clmirror-cache-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(folder, sizeof folder, "%s/cache", root);
    cmi_knob_override(CMI_KNOB_CACHE, folder);
    blocks = cmi_mem_live();
}

static void empty(const char *path)
{
    char name[512];
    DIR *open = opendir(path);
    const struct dirent *entry;

    while (open && (entry = readdir(open))) {
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        (void)unlink(name);
        if (entry->d_name[0] != '.') (void)rmdir(name);
    }
    if (open) closedir(open);
}

static void teardown(void)
{
    ck_assert_uint_eq(cmi_mem_live(), blocks);
    cmi_knob_override(CMI_KNOB_CACHE, NULL);
    (void)chmod(folder, 0700);
    empty(folder);
    empty(root);
    ck_assert_int_eq(rmdir(root), 0);
}

static void path_of(const char *key, char path[256])
{
    snprintf(path, 256, "%s/text-%016llx.cache", folder,
             (unsigned long long)cmi_hash(CMI_HASH_START, key, strlen(key)));
}

static int files(void)
{
    int count = 0;
    DIR *open = opendir(folder);

    for (const struct dirent *entry; open && (entry = readdir(open));)
        count += entry->d_name[0] != '.';
    if (open) closedir(open);
    return count;
}

static void expect(const char *key, const char *text)
{
    char *bytes = NULL;
    size_t count = 0;

    ck_assert_cm_ok(cmi_cache_find("text", key, &bytes, &count));
    ck_assert_uint_eq(count, strlen(text));
    ck_assert_str_eq(bytes, text);
    cmi_free(bytes);
}

static void expect_none(const char *key, cm_status status)
{
    char *bytes = NULL;
    size_t count = 1;

    ck_assert_cm_status(cmi_cache_find("text", key, &bytes, &count), status);
    ck_assert_ptr_null(bytes);
    ck_assert_uint_eq(count, 0);
}

static void keep(const char *key, const char *text)
{
    ck_assert_cm_ok(cmi_cache_keep("text", key, text, strlen(text)));
}

START_TEST(what_is_kept_is_found)
{
    expect_none("a key", CM_E_NOT_FOUND);
    keep("a key", "some bytes");
    keep("another\nkey", "");
    expect("a key", "some bytes");
    expect("another\nkey", "");
    keep("a key", "others");
    expect("a key", "others");
    ck_assert_int_eq(files(), 2);
    struct stat info;
    ck_assert_int_eq(stat(folder, &info), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0700);
}
END_TEST

START_TEST(files_with_a_name)
{
    char *bytes = NULL;
    size_t count = 0;

    ck_assert_cm_status(cmi_cache_load("table", 100, &bytes, &count), CM_E_NOT_FOUND);
    ck_assert_cm_ok(cmi_cache_store("table", "line\n", 5));
    ck_assert_cm_ok(cmi_cache_load("table", 5, &bytes, &count));
    ck_assert_str_eq(bytes, "line\n");
    cmi_free(bytes);
    ck_assert_cm_status(cmi_cache_load("table", 4, &bytes, &count), CM_E_FORMAT);
    ck_assert_ptr_null(bytes);
}
END_TEST

START_TEST(folder_is_found)
{
    char path[CMI_CACHE_PATH_BYTES], *kept[2] = {getenv("XDG_CACHE_HOME"), getenv("HOME")};

    for (int i = 0; i < 2; i++)
        if (kept[i]) kept[i] = strdup(kept[i]);
    ck_assert_cm_ok(cmi_cache_folder(path));
    ck_assert_str_eq(path, folder);
    cmi_knob_override(CMI_KNOB_CACHE, "");
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    ck_assert_cm_ok(cmi_cache_folder(path));
    ck_assert_str_eq(path, "/x/clmirror");
    setenv("XDG_CACHE_HOME", "relative", 1);
    ck_assert_cm_ok(cmi_cache_folder(path));
    ck_assert_str_eq(path, "/h/.cache/clmirror");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "", 1);
    ck_assert_cm_status(cmi_cache_folder(path), CM_E_STATE);
    /* With its parent, and no more: a home that does not exist is not made. */
    snprintf(path, sizeof path, "%s/home", root);
    setenv("HOME", path, 1);
    ck_assert_cm_status(cmi_cache_store("table", "x", 1), CM_E_IO);
    ck_assert_int_ne(access(path, F_OK), 0);
    setenv("XDG_CACHE_HOME", folder, 1);
    ck_assert_cm_ok(cmi_cache_store("table", "x", 1));
    snprintf(path, sizeof path, "%s/clmirror/table", folder);
    ck_assert_int_eq(unlink(path), 0);
    static const char *const names[2] = {"XDG_CACHE_HOME", "HOME"};
    for (int i = 0; i < 2; i++) {
        if (kept[i])
            setenv(names[i], kept[i], 1);
        else
            unsetenv(names[i]);
        free(kept[i]);
    }
}
END_TEST

START_TEST(off)
{
    cmi_knob_override(CMI_KNOB_CACHE, "off");
    ck_assert_cm_status(cmi_cache_keep("text", "key", "x", 1), CM_E_STATE);
    ck_assert_message_has("CLMIRROR_CACHE=off");
    expect_none("key", CM_E_STATE);
    cmi_cache_trim(0);
    ck_assert_int_ne(access("off", F_OK), 0);
}
END_TEST

START_TEST(folder_cannot_be_used)
{
    char inside[256];

    /* A file in its place. */
    int file = creat(folder, 0600);
    ck_assert_int_ge(file, 0);
    close(file);
    ck_assert_cm_status(cmi_cache_keep("text", "key", "x", 1), CM_E_IO);
    ck_assert_message_has(folder);
    expect_none("key", CM_E_IO);
    snprintf(inside, sizeof inside, "%s/deeper", folder);
    cmi_knob_override(CMI_KNOB_CACHE, inside);
    ck_assert_cm_status(cmi_cache_store("table", "x", 1), CM_E_IO);
    ck_assert_int_eq(unlink(folder), 0);
    /* A folder in which nothing can be made; root may write where the mode says no. */
    cmi_knob_override(CMI_KNOB_CACHE, "/proc/self");
    ck_assert_cm_status(cmi_cache_keep("text", "key", "x", 1), CM_E_IO);
    expect_none("key", CM_E_NOT_FOUND);
    cmi_knob_override(CMI_KNOB_CACHE, folder);
    ck_assert_int_eq(mkdir(folder, 0500), 0);
    if (geteuid()) ck_assert_cm_status(cmi_cache_keep("text", "key", "x", 1), CM_E_IO);
}
END_TEST

/* As a full disk does it: the write ends early. */
START_TEST(disk_is_full)
{
    static char bytes[5000];
    struct rlimit before, small;

    keep("key", "as it was");
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    cm_status status = cmi_cache_keep("text", "key", bytes, sizeof bytes);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    ck_assert_cm_status(status, CM_E_IO);
    expect("key", "as it was");
    ck_assert_int_eq(files(), 1);
}
END_TEST

/* Every bit, and every length. */
START_TEST(damage_is_seen)
{
    char path[256], bytes[512];

    keep("the key", "content");
    path_of("the key", path);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    ck_assert_uint_gt(count, 14);
    ck_assert_uint_lt(count, sizeof bytes);
    for (size_t turn = 0; turn < 9 * count + 1; turn++) {
        size_t bit = turn < 8 * count ? turn : 0,
               length = turn < 8 * count ? count : turn - 8 * count;
        char *found = NULL;
        size_t size = 0;
        if (length == count) bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        file = fopen(path, "wb");
        fwrite(bytes, 1, length, file);
        fclose(file);
        if (length == count) bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        cm_status status = cmi_cache_find("text", "the key", &found, &size);
        ck_assert_msg(status == CM_E_FORMAT || status == CM_E_NOT_FOUND, "turn %zu: %s", turn,
                      cm_status_name(status));
        ck_assert_ptr_null(found);
    }
    keep("the key", "content");
    expect("the key", "content");
}
END_TEST

/* What lies under the name of a key and belongs to another, as when two hashes are equal. */
START_TEST(foreign_files)
{
    char path[256], other[256];

    keep("one", "content");
    path_of("one", path);
    path_of("two", other);
    ck_assert_int_eq(rename(path, other), 0);
    expect_none("two", CM_E_NOT_FOUND);
    path_of("three", path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_none("three", CM_E_FORMAT);
    path_of("four", path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    expect_none("four", CM_E_FORMAT);
    ck_assert_cm_status(cmi_cache_keep("text", "four", "x", 1), CM_E_IO);
    path_of("five", path);
    ck_assert_int_eq(symlink("five", path), 0);
    expect_none("five", CM_E_NOT_FOUND); /* points to a name that is not there */
}
END_TEST

static void set_age(const char *name, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};

    ck_assert_int_eq(utimensat(AT_FDCWD, name, times, 0), 0);
}

START_TEST(the_oldest_go)
{
    static const char *const keys[] = {"a", "b", "c", "d"};
    char path[256];

    for (int i = 0; i < 4; i++) {
        keep(keys[i], "0123456789");
        path_of(keys[i], path);
        set_age(path, i == 2 ? 1000 : 100 - i); /* c, a, b, d */
    }
    ck_assert_cm_ok(cmi_cache_store("table", "x", 1));
    struct stat info;
    ck_assert_int_eq(stat(path, &info), 0);
    cmi_cache_trim(4 * (uint64_t)info.st_size);
    ck_assert_int_eq(files(), 5);
    cmi_cache_trim(2 * (uint64_t)info.st_size);
    expect_none("c", CM_E_NOT_FOUND);
    expect_none("a", CM_E_NOT_FOUND);
    expect("b", "0123456789");
    expect("d", "0123456789");
    cmi_cache_trim(0);
    ck_assert_int_eq(files(), 1); /* the table is no entry */
}
END_TEST

/* 3 x 30 MB pass 64 MiB. */
START_TEST(keeping_keeps_the_limit)
{
    enum { LARGE = 30 << 20 };
    char *bytes = calloc(LARGE, 1), path[256];
    static const char *const keys[] = {"a", "b", "c"};

    for (int i = 0; i < 3; i++) {
        ck_assert_cm_ok(cmi_cache_keep("text", keys[i], bytes, LARGE));
        path_of(keys[i], path);
        if (i < 2) set_age(path, 100 - i);
    }
    free(bytes);
    ck_assert_int_eq(files(), 2);
    expect_none("a", CM_E_NOT_FOUND);
    ck_assert_cm_status(cmi_cache_keep("text", "d", "", (size_t)1 << 40), CM_E_UNSUPPORTED);
}
END_TEST

START_TEST(unfinished_files_go)
{
    char old[256], young[256];

    keep("a", "x");
    snprintf(old, sizeof old, "%s/unfinished-old", folder);
    snprintf(young, sizeof young, "%s/unfinished-young", folder);
    close(creat(old, 0600));
    close(creat(young, 0600));
    set_age(old, 4000);
    cmi_cache_trim(1 << 20);
    ck_assert_int_ne(access(old, F_OK), 0);
    ck_assert_int_eq(access(young, F_OK), 0);
    expect("a", "x");
}
END_TEST

typedef struct writer {
    char text[6000];
    int failures;
} writer;

/* Writes and reads; whoever wrote, what is read is whole. */
static void write_often(void *argument)
{
    writer *w = argument;

    for (int i = 0; i < 200; i++) {
        char *bytes = NULL;
        size_t count = 0;
        if (cmi_cache_keep("text", "key", w->text, sizeof w->text)) w->failures++;
        if (cmi_cache_find("text", "key", &bytes, &count) || count != sizeof w->text ||
            (bytes[0] != 'a' && bytes[0] != 'b') || memcmp(bytes, bytes + 1, count - 1))
            w->failures++;
        cmi_free(bytes);
    }
}

START_TEST(two_writers)
{
    static writer writers[2];
    cmi_thread threads[2];

    for (int i = 0; i < 2; i++) {
        memset(writers[i].text, 'a' + i, sizeof writers[i].text);
        ck_assert_cm_ok(cmi_thread_start(&threads[i], "writer", write_often, &writers[i]));
    }
    for (int i = 0; i < 2; i++)
        cmi_thread_join(threads[i]);
    ck_assert_int_eq(writers[0].failures + writers[1].failures, 0);
    ck_assert_int_eq(files(), 1);
}
END_TEST

Suite *suite_cachefile(void)
{
    Suite *suite = suite_create("cachefile");
    TCase *tests = tcase_create("cachefile");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, what_is_kept_is_found);
    tcase_add_test(tests, files_with_a_name);
    tcase_add_test(tests, folder_is_found);
    tcase_add_test(tests, off);
    tcase_add_test(tests, folder_cannot_be_used);
    tcase_add_test(tests, disk_is_full);
    tcase_add_test(tests, damage_is_seen);
    tcase_add_test(tests, foreign_files);
    tcase_add_test(tests, the_oldest_go);
    tcase_add_test(tests, keeping_keeps_the_limit);
    tcase_add_test(tests, unfinished_files_go);
    tcase_add_test(tests, two_writers);
    suite_add_tcase(suite, tests);
    return suite;
}
