/* test_shape.c - counting without overflow, comparing, and the text of a shape. */
#include <string.h>
#include "base/suites.h"
#include "base/shape.h"
#include "support/cm_test.h"

START_TEST(count_is_the_product_or_nothing)
{
    int64_t count = 99;
    ck_assert(cmi_shape_count(&(cmi_shape){0}, &count));
    ck_assert_int_eq(count, 1);
    ck_assert(cmi_shape_count(&(cmi_shape){3, {28, 28, 3}}, &count));
    ck_assert_int_eq(count, 2352);
    ck_assert(cmi_shape_count(&(cmi_shape){2, {INT64_MAX, 1}}, &count));
    ck_assert_int_eq(count, INT64_MAX);
    ck_assert(cmi_shape_count(&(cmi_shape){3, {INT64_MAX, INT64_MAX, 0}}, &count));
    ck_assert_int_eq(count, 0);
    count = 99;
    ck_assert(!cmi_shape_count(&(cmi_shape){2, {INT64_MAX / 2 + 1, 2}}, &count));
    ck_assert(!cmi_shape_count(&(cmi_shape){2, {3037000500, 3037000500}}, &count));
    ck_assert(!cmi_shape_count(&(cmi_shape){2, {4, -1}}, &count));
    ck_assert(!cmi_shape_count(&(cmi_shape){2, {0, -1}}, &count));
    ck_assert_int_eq(count, 99);
}
END_TEST

START_TEST(equal_means_rank_and_sizes)
{
    cmi_shape a = {2, {3, 4, 99}}, b = {2, {3, 4, 1}}, c = {3, {3, 4, 1}}, d = {2, {3, 5}};
    ck_assert(cmi_shape_equal(&a, &b)); /* what lies behind the rank does not count */
    ck_assert(!cmi_shape_equal(&b, &c));
    ck_assert(!cmi_shape_equal(&a, &d));
}
END_TEST

START_TEST(text_is_a_python_tuple)
{
    char text[256];
    cmi_shape image = {3, {28, 28, 1}}, row = {1, {20}}, scalar = {0, {0}};
    ck_assert_str_eq(cmi_shape_text(&image, false, text, sizeof text), "(28, 28, 1)");
    ck_assert_str_eq(cmi_shape_text(&image, true, text, sizeof text), "(None, 28, 28, 1)");
    ck_assert_str_eq(cmi_shape_text(&row, false, text, sizeof text), "(20,)");
    ck_assert_str_eq(cmi_shape_text(&row, true, text, sizeof text), "(None, 20)");
    ck_assert_str_eq(cmi_shape_text(&scalar, false, text, sizeof text), "()");
    ck_assert_str_eq(cmi_shape_text(&scalar, true, text, sizeof text), "(None,)");
    ck_assert_str_eq(cmi_shape_text(&image, false, text, 6), "(28, ");
    cmi_shape widest = {.rank = CMI_MAX_RANK};
    for (int i = 0; i < CMI_MAX_RANK; i++)
        widest.dim[i] = INT64_MIN;
    cmi_shape_text(&widest, true, text, sizeof text);
    ck_assert_int_eq(text[strlen(text) - 1], ')');
}
END_TEST

Suite *suite_shape(void)
{
    Suite *suite = suite_create("shape");
    TCase *tests = tcase_create("shape");
    tcase_add_test(tests, count_is_the_product_or_nothing);
    tcase_add_test(tests, equal_means_rank_and_sizes);
    tcase_add_test(tests, text_is_a_python_tuple);
    suite_add_tcase(suite, tests);
    return suite;
}
