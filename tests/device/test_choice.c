/* test_choice.c - classes of products, and the choice table: taken when it is good, passed over
 * when not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cachefile.h"
#include "base/knob.h"
#include "base/mem.h"
#include "device/cache_rig.h"
#include "device/gemm_internal.h"
#include "device/internal.h"
#include "device/suites.h"
#include "support/cm_test.h"

START_TEST(classes)
{
    static const struct {
        size_t m, n, k;
        cmi_gemm_class of;
    } cases[] = {{1, 1, 0, CMI_GEMM_SMALL},
                 {1024, 1, 1023, CMI_GEMM_SMALL},
                 {1024, 1, 1024, CMI_GEMM_TALL},
                 {400, 100, 100, CMI_GEMM_TALL},
                 {399, 100, 100, CMI_GEMM_SQUARE},
                 {100, 399, 100, CMI_GEMM_SQUARE},
                 {100, 400, 100, CMI_GEMM_WIDE},
                 {100, 100, 10000, CMI_GEMM_SQUARE},
                 {SIZE_MAX, SIZE_MAX, 2, CMI_GEMM_SQUARE}};

    for (int i = 0; i < CM_TEST_COUNT(cases); i++) {
        const cmi_gemm g = {.m = cases[i].m, .n = cases[i].n, .k = cases[i].k};
        ck_assert_msg(cmi_gemm_class_of(&g) == cases[i].of, "case %d is %s", i,
                      cmi_gemm_class_name(cmi_gemm_class_of(&g)));
    }
    for (int i = 0; i < CMI_GEMM_CLASS_COUNT; i++) {
        const cmi_gemm g = {
            .m = cache_products[i].m, .n = cache_products[i].n, .k = cache_products[i].k};
        ck_assert_int_eq((int)cmi_gemm_class_of(&g), i);
    }
}
END_TEST

/* Every tile in every class: the same bits as the default's. */
START_TEST(tiles_keep_the_bits)
{
    static float want[300 * 70], got[300 * 70];
    const cache_product *of = &cache_products[_i];
    cmi_gemm_entry entries[CMI_GEMM_CLASS_COUNT] = {{CMI_GEMM_AUTO, 0}};

    cmi_knob_override(CMI_KNOB_GEMM, "packed"); /* also where the default is not */
    ck_assert_cm_ok(cache_multiply(&cache_pick, of, want));
    for (int i = 0; i < CMI_TILE_ROW_COUNT; i++) {
        uint64_t before = cmi_gemm_tile_count(cmi_tile_rows[i]);
        entries[_i] = (cmi_gemm_entry){CMI_GEMM_PACKED, cmi_tile_rows[i]};
        cmi_choice_set(cache_pick.device, entries);
        ck_assert_cm_ok(cache_multiply(&cache_pick, of, got));
        ck_assert_uint_eq(cmi_gemm_tile_count(cmi_tile_rows[i]), before + 1);
        ck_assert_floats_bits(got, want, of->m * of->n);
    }
}
END_TEST

/* ---- the table ---- */

/* A table with the device's key in place of every %. */
static size_t write_table(const char *form)
{
    static char text[1 << 16];
    char key[CMI_CHOICE_KEY_BYTES];
    size_t length = 0;

    cmi_choice_key(cache_pick.device, key);
    for (; *form; form++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   *form == '%' ? "%s" : "%.1s", *form == '%' ? key : form);
    cache_write("choices", text, length);
    cmi_choice_forget(cache_pick.device);
    return length;
}

static cmi_gemm_entry choice_of(cmi_gemm_class class)
{
    const cmi_gemm g = {
        .m = cache_products[class].m, .n = cache_products[class].n, .k = cache_products[class].k};

    return cmi_choice_gemm(cache_pick.device, &g);
}

static void expect_choice(cmi_gemm_class class, cmi_gemm_choice implementation, size_t rows)
{
    cmi_gemm_entry entry = choice_of(class);

    ck_assert_msg(entry.implementation == implementation && entry.rows == rows, "%s: %d, %zu rows",
                  cmi_gemm_class_name(class), (int)entry.implementation, entry.rows);
}

static void expect_defaults(void)
{
    for (int i = 0; i < CMI_GEMM_CLASS_COUNT; i++)
        expect_choice((cmi_gemm_class)i, CMI_GEMM_AUTO, 0);
    ck_assert_int_eq(cm_last_status(), CM_OK);
}

START_TEST(tuned_choice_is_taken)
{
    static float c[300 * 70];
    const cmi_gemm wide = {.m = 33, .n = 150, .k = 1100};

    expect_defaults();
    write_table("gemm small packed 12 %\ngemm wide clblast 0 %\ngemm square packed 0 %");
    expect_choice(CMI_GEMM_SMALL, CMI_GEMM_PACKED, 12);
    expect_choice(CMI_GEMM_TALL, CMI_GEMM_AUTO, 0);
    expect_choice(CMI_GEMM_WIDE, CMI_GEMM_CLBLAST, 0);
    expect_choice(CMI_GEMM_SQUARE, CMI_GEMM_PACKED, 0);
    uint64_t before = cmi_gemm_tile_count(12), packed = cmi_gemm_count(CMI_GEMM_PACKED);
    ck_assert_cm_ok(cache_multiply(&cache_pick, &cache_products[CMI_GEMM_SMALL], c));
    ck_assert_uint_eq(cmi_gemm_tile_count(12), before + 1);
    ck_assert_uint_eq(cmi_gemm_count(CMI_GEMM_PACKED), packed + 1);
    ck_assert_int_eq((int)cmi_gemm_choose(cache_pick.stream, &wide), CMI_GEMM_CLBLAST);
    /* The user's word comes before the table's. */
    cmi_knob_override(CMI_KNOB_GEMM, "packed");
    ck_assert_int_eq((int)cmi_gemm_choose(cache_pick.stream, &wide), CMI_GEMM_PACKED);
    /* Read once. */
    cmi_knob_override(CMI_KNOB_GEMM, "auto");
    cache_write("choices", "", 0);
    expect_choice(CMI_GEMM_SMALL, CMI_GEMM_PACKED, 12);
    cache_reopen();
    expect_defaults();
}
END_TEST

START_TEST(bad_lines_are_passed_over)
{
    static const char *const bad[] = {
        "",
        "\n\n",
        "gemm",
        "gemm small packed 6",
        "gemm small packed 6 ",
        "gemm small packed 6  %",
        "gemm small packed 6 % ",
        "gemm small packed 6 %x",
        "gemm small packed 6 x%",
        "gemm small packed 5 %",
        "gemm small packed 600000000000 %",
        "gemm small packed -6 %",
        "gemm small packed  %",
        "gemm small packed 6.0 %",
        "gemm small auto 6 %",
        "gemm small cublas 6 %",
        "gemm smal packed 6 %",
        "gemm huge packed 6 %",
        "gem small packed 6 %",
        "gemms small packed 6 %",
        " gemm small packed 6 %",
        "gemm small packed 6 another device | 1 | 8-wide | clmirror 0.0",
        "conv small packed 6 %",
        "\x80\xff\x01 %",
        "gemm small packed 6\t%",
        "gemm small packed 6 %\r\n"};

    for (int i = 0; i < CM_TEST_COUNT(bad); i++) {
        write_table(bad[i]);
        cmi_gemm_entry entry = choice_of(CMI_GEMM_SMALL);
        ck_assert_msg(entry.implementation == CMI_GEMM_AUTO && !entry.rows, "line %d is taken: %s",
                      i, bad[i]);
        expect_defaults();
    }
    /* A good line between them, the last one counts. */
    write_table("garbage\ngemm tall packed 4 %\ngemm tall packed 5 %\n\ngemm tall packed 8 %\ngemm "
                "small packed 6");
    expect_choice(CMI_GEMM_TALL, CMI_GEMM_PACKED, 8);
    expect_choice(CMI_GEMM_SMALL, CMI_GEMM_AUTO, 0);
}
END_TEST

START_TEST(whole_table_is_bad)
{
    static char bytes[1 << 19];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    for (size_t count = 1; count <= sizeof bytes; count *= 2) {
        cache_write("choices", bytes, count);
        cmi_choice_forget(cache_pick.device);
        expect_defaults();
    }
    memset(bytes, 'g', sizeof bytes); /* one line */
    cache_write("choices", bytes, 200000);
    cmi_choice_forget(cache_pick.device);
    expect_defaults();
}
END_TEST

/* Where there is no folder to use, all works with the defaults (C08). */
START_TEST(no_folder)
{
    static const char *const places[] = {"off", "/proc/self", "/dev/null", "/dev/null/below",
                                         "/proc/none/such"};
    static float c[300 * 70];

    cmi_binary_force(true);
    for (int i = 0; i < CM_TEST_COUNT(places); i++) {
        uint64_t saves = cmi_binary_saves();
        cmi_knob_override(CMI_KNOB_CACHE, places[i]);
        cache_reopen();
        cmi_error_clear();
        expect_defaults();
        ck_assert_cm_ok(cache_multiply(&cache_pick, &cache_products[CMI_GEMM_SMALL], c));
        ck_assert_int_eq(cm_last_status(), CM_OK);
        ck_assert_uint_eq(cmi_binary_saves(), saves);
        cm_status expected = i ? CM_E_IO : CM_E_STATE;
        ck_assert_cm_status(cmi_choice_save(cache_pick.device), expected);
    }
}
END_TEST

START_TEST(saved_choices)
{
    static const char other[] = "gemm small packed 6 another device | 1 | 8-wide | clmirror 0.0\n";
    cmi_gemm_entry entries[CMI_GEMM_CLASS_COUNT] = {
        [CMI_GEMM_TALL] = {CMI_GEMM_PACKED, 8}, [CMI_GEMM_SQUARE] = {CMI_GEMM_CLBLAST, 0}};
    char form[256], *text = NULL, want[3 * CMI_CHOICE_KEY_BYTES], key[CMI_CHOICE_KEY_BYTES];
    size_t count = 0;

    snprintf(form, sizeof form, "garbage\ngemm small packed 4 %%\n%sgemm tall packed 4 %%\n",
             other);
    write_table(form);
    cmi_choice_set(cache_pick.device, entries);
    ck_assert_cm_ok(cmi_choice_save(cache_pick.device));
    cmi_choice_key(cache_pick.device, key);
    snprintf(want, sizeof want, "%sgemm tall packed 8 %s\ngemm square clblast 0 %s\n", other, key,
             key);
    ck_assert_cm_ok(cmi_cache_load("choices", 10000, &text, &count));
    ck_assert_str_eq(text, want);
    cmi_free(text);
    cache_reopen();
    expect_choice(CMI_GEMM_TALL, CMI_GEMM_PACKED, 8);
    expect_choice(CMI_GEMM_SQUARE, CMI_GEMM_CLBLAST, 0);
    expect_choice(CMI_GEMM_SMALL, CMI_GEMM_AUTO, 0);
    ck_assert_ptr_nonnull(strstr(key, cm_device_list_get(cache_pick.list, 0)->driver));
}
END_TEST

Suite *suite_choice(void)
{
    Suite *suite = suite_create("choice");
    TCase *tests = tcase_create("choice");

    tcase_add_checked_fixture(tests, cache_setup, cache_teardown);
    tcase_add_test(tests, classes);
    tcase_add_loop_test(tests, tiles_keep_the_bits, 0, CMI_GEMM_CLASS_COUNT);
    tcase_add_test(tests, tuned_choice_is_taken);
    tcase_add_test(tests, bad_lines_are_passed_over);
    tcase_add_test(tests, whole_table_is_bad);
    tcase_add_test(tests, no_folder);
    tcase_add_test(tests, saved_choices);
    suite_add_tcase(suite, tests);
    return suite;
}
