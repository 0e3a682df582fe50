/* test_cache.c - the cache of compiled programs: used when they are good, built anew when not.
 *
 * PoCL keeps what it compiles itself, so our cache is forced on it. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <clmirror/version.h>
#include "base/cachefile.h"
#include "base/knob.h"
#include "device/cache_rig.h"
#include "device/internal.h"
#include "device/suites.h"
#include "support/cm_test.h"

/* The path of the only entry. */
static void only_entry(char path[512])
{
    DIR *open = opendir(cache_folder);
    int count = 0;

    ck_assert_ptr_nonnull(open);
    for (const struct dirent *entry; (entry = readdir(open));) {
        if (strncmp(entry->d_name, "program-", 8)) continue;
        snprintf(path, 512, "%s/%s", cache_folder, entry->d_name);
        count++;
    }
    closedir(open);
    ck_assert_int_eq(count, 1);
}

static size_t read_entry(char **bytes)
{
    char path[512];
    struct stat info;

    only_entry(path);
    ck_assert_int_eq(stat(path, &info), 0);
    *bytes = malloc((size_t)info.st_size);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(*bytes, 1, (size_t)info.st_size, file), (size_t)info.st_size);
    fclose(file);
    return (size_t)info.st_size;
}

/* A product on a fresh device; how many programs were taken from the cache, and put there. */
static void expect_programs(const float *want, uint64_t loaded, uint64_t saved)
{
    float got[16 * 16];
    const cache_product of = {16, 16, 40, false, true, 0, NULL};
    uint64_t loads = cmi_binary_loads(), saves = cmi_binary_saves();

    cmi_knob_override(CMI_KNOB_GEMM, "packed");
    cache_reopen();
    cmi_error_clear();
    ck_assert_cm_ok(cache_multiply(&cache_pick, &of, got));
    ck_assert_int_eq(cm_last_status(), CM_OK);
    ck_assert_floats_bits(got, want, 16 * 16);
    ck_assert_uint_eq(cmi_binary_loads() - loads, loaded);
    ck_assert_uint_eq(cmi_binary_saves() - saves, saved);
}

static void first_product(float *want)
{
    const cache_product of = {16, 16, 40, false, true, 0, NULL};

    cmi_knob_override(CMI_KNOB_GEMM, "packed");
    ck_assert_cm_ok(cache_multiply(&cache_pick, &of, want));
}

START_TEST(programs_are_kept)
{
    float want[16 * 16];

    first_product(want);
    expect_programs(want, 0, 0); /* PoCL keeps them itself */
    cmi_binary_force(true);
    expect_programs(want, 0, 1);
    expect_programs(want, 1, 0);
    cmi_knob_override(CMI_KNOB_CL_OPTIONS, "-DANYTHING=1"); /* another key */
    expect_programs(want, 0, 1);
    expect_programs(want, 1, 0);
    cmi_knob_override(CMI_KNOB_CL_OPTIONS, "-I /tmp"); /* what is included is not in the key */
    expect_programs(want, 0, 0);
    cmi_knob_override(CMI_KNOB_CL_OPTIONS, NULL);
    cmi_knob_override(CMI_KNOB_CACHE, "off");
    expect_programs(want, 0, 0);
}
END_TEST

START_TEST(bad_programs_are_built_anew)
{
    float want[16 * 16];
    char path[512], *bytes = NULL, *key = NULL;
    size_t key_bytes = 0;

    first_product(want);
    cmi_binary_force(true);
    expect_programs(want, 0, 1);
    only_entry(path);
    const char *name = strrchr(path, '/') + 1;
    size_t count = read_entry(&bytes);
    ck_assert_int_eq(sscanf(bytes, "clmirror cache 1 %zx", &key_bytes), 1);
    key = calloc(key_bytes + 1, 1);
    memcpy(key, strchr(strchr(bytes, '\n') + 1, '\n') + 1, key_bytes);
    static const double places[] = {0.0, 0.3, 0.6, 0.999};
    for (int i = 0; i < CM_TEST_COUNT(places); i++) {
        size_t at = (size_t)(places[i] * (double)count);
        bytes[at] = (char)(bytes[at] ^ 16);
        cache_write(name, bytes, count);
        bytes[at] = (char)(bytes[at] ^ 16);
        expect_programs(want, 0, 1);
        cache_write(name, bytes, at); /* cut */
        expect_programs(want, 0, 1);
    }
    /* Whole, but nothing that the driver takes. */
    ck_assert_cm_ok(cmi_cache_keep("program", key, "no binary", 9));
    expect_programs(want, 0, 1);
    ck_assert_cm_ok(cmi_cache_keep("program", key, "", 0));
    expect_programs(want, 0, 1);
    /* Of another driver: the key inside differs. */
    key[0] = '?';
    ck_assert_cm_ok(cmi_cache_keep("program", key, "no binary", 9));
    expect_programs(want, 1, 0);
    free(bytes);
    free(key);
}
END_TEST

START_TEST(key_names_everything)
{
    char keys[3][CMI_BINARY_KEY_BYTES];
    const cm_device_info *info = &cmi_device_get_facts(cache_pick.device)->info;

    ck_assert_cm_ok(cmi_binary_key(cache_pick.device, "-DX=1", 1, keys[0]));
    ck_assert_cm_ok(cmi_binary_key(cache_pick.device, "-DX=2", 1, keys[1]));
    ck_assert_cm_ok(cmi_binary_key(cache_pick.device, "-DX=1", 2, keys[2]));
    ck_assert_str_ne(keys[0], keys[1]);
    ck_assert_str_ne(keys[0], keys[2]);
    const char *parts[] = {info->name,
                           info->driver,
                           info->version,
                           info->platform_name,
                           "-DX=1",
                           cm_version(),
                           cm_device_list_platform(cache_pick.list, info->platform)->version};
    for (int i = 0; i < CM_TEST_COUNT(parts); i++)
        ck_assert_msg(strstr(keys[0], parts[i]) != NULL, "%s", parts[i]);
}
END_TEST

typedef struct builder {
    float c[16 * 16];
    cm_status status;
} builder;

static void *build_and_run(void *argument)
{
    builder *b = argument;
    const cache_product of = {16, 16, 40, false, true, 0, NULL};

    for (int i = 0; i < 4 && !b->status; i++) {
        pick mine;
        b->status = pick_open(&mine);
        if (!b->status) b->status = cache_multiply(&mine, &of, b->c);
        pick_close(&mine);
    }
    return NULL;
}

START_TEST(two_build_at_once)
{
    static builder builders[2];
    pthread_t threads[2];
    float want[16 * 16];

    first_product(want);
    cmi_binary_force(true);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, build_and_run, &builders[i]), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_cm_ok(builders[i].status);
        ck_assert_floats_bits(builders[i].c, want, 16 * 16);
    }
    expect_programs(want, 1, 0);
}
END_TEST

Suite *suite_cache(void)
{
    Suite *suite = suite_create("cache");
    TCase *tests = tcase_create("cache");

    tcase_add_checked_fixture(tests, cache_setup, cache_teardown);
    tcase_add_test(tests, programs_are_kept);
    tcase_add_test(tests, bad_programs_are_built_anew);
    tcase_add_test(tests, key_names_everything);
    tcase_add_test(tests, two_build_at_once);
    suite_add_tcase(suite, tests);
    return suite;
}
