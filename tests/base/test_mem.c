/* test_mem.c - allocation, its counters and its countdown to failure. */
#include <string.h>
#include "base/suites.h"
#include "base/mem.h"
#include "support/cm_test.h"

static void no_faults(void)
{
    cmi_mem_fail_at(0);
}

START_TEST(products_and_sums_know_their_limits)
{
    size_t out = 99;
    ck_assert(cmi_size_mul(SIZE_MAX / 2, 2, &out));
    ck_assert_uint_eq(out, SIZE_MAX - 1);
    ck_assert(cmi_size_mul(0, SIZE_MAX, &out));
    ck_assert_uint_eq(out, 0);
    ck_assert(cmi_size_add(SIZE_MAX, 0, &out));
    ck_assert_uint_eq(out, SIZE_MAX);
    out = 99;
    ck_assert(!cmi_size_mul(SIZE_MAX / 2 + 1, 2, &out));
    ck_assert(!cmi_size_mul(SIZE_MAX, SIZE_MAX, &out));
    ck_assert(!cmi_size_add(SIZE_MAX, 1, &out));
    ck_assert_uint_eq(out, 99); /* untouched by a failure */
}
END_TEST

START_TEST(memory_is_zeroed_and_counted)
{
    uint64_t live = cmi_mem_live(), total = cmi_mem_total();
    int *numbers;
    void *nothing, *nothing_else;
    ck_assert_cm_ok(CMI_NEW(1000, &numbers));
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(numbers[i], 0);
    ck_assert_cm_ok(cmi_alloc(0, 8, &nothing));
    ck_assert_cm_ok(cmi_alloc(8, 0, &nothing_else));
    ck_assert_ptr_nonnull(nothing);
    ck_assert_ptr_ne(nothing, nothing_else);
    ck_assert_uint_eq(cmi_mem_live(), live + 3);
    cmi_free(numbers);
    cmi_free(nothing);
    cmi_free(nothing_else);
    cmi_free(NULL);
    ck_assert_uint_eq(cmi_mem_live(), live);
    ck_assert_uint_eq(cmi_mem_total(), total + 3);
}
END_TEST

START_TEST(realloc_keeps_bytes_and_the_block_on_failure)
{
    uint64_t live = cmi_mem_live();
    void *memory = NULL;
    ck_assert_cm_ok(cmi_realloc(4, 1, &memory));
    memcpy(memory, "abc", 4);
    ck_assert_cm_ok(cmi_realloc(100000, 1, &memory));
    ck_assert_str_eq(memory, "abc");
    void *before = memory;
    ck_assert_cm_status(cmi_realloc(SIZE_MAX, 2, &memory), CM_E_MEMORY);
    cmi_mem_fail_at(1);
    ck_assert_cm_status(cmi_realloc(10, 10, &memory), CM_E_MEMORY);
    ck_assert_ptr_eq(memory, before);
    ck_assert_str_eq(memory, "abc");
    ck_assert_uint_eq(cmi_mem_live(), live + 1);
    cmi_free(memory);
    ck_assert_uint_eq(cmi_mem_live(), live);
}
END_TEST

START_TEST(failures_name_the_size)
{
    void *memory = &memory;
    ck_assert_cm_status(cmi_alloc(SIZE_MAX / 2, 3, &memory), CM_E_MEMORY);
    ck_assert_ptr_null(memory);
    ck_assert_message_has("elements of 3 bytes");
    cmi_mem_fail_at(1);
    ck_assert_cm_status(cmi_alloc(1000, 7, &memory), CM_E_MEMORY);
    ck_assert_message_has("7000 bytes");
}
END_TEST

START_TEST(countdown_fails_one_allocation)
{
    char *text = NULL;
    cmi_mem_fail_at(3);
    for (int i = 1; i <= 5; i++) {
        ck_assert_cm_status(cmi_strdup("text", &text), i == 3 ? CM_E_MEMORY : CM_OK);
        ck_assert(i == 3 ? text == NULL : strcmp(text, "text") == 0);
        cmi_free(text);
    }
}
END_TEST

Suite *suite_mem(void)
{
    Suite *suite = suite_create("mem");
    TCase *tests = tcase_create("mem");
    tcase_add_checked_fixture(tests, no_faults, no_faults);
    tcase_add_test(tests, products_and_sums_know_their_limits);
    tcase_add_test(tests, memory_is_zeroed_and_counted);
    tcase_add_test(tests, realloc_keeps_bytes_and_the_block_on_failure);
    tcase_add_test(tests, failures_name_the_size);
    tcase_add_test(tests, countdown_fails_one_allocation);
    suite_add_tcase(suite, tests);
    return suite;
}
