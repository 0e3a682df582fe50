/* test_hash.c - published values of FNV-1a, and hashing in pieces. */
#include <string.h>
#include "base/suites.h"
#include "base/hash.h"
#include "support/cm_test.h"

static uint64_t hash_text(const char *text)
{
    return cmi_hash(CMI_HASH_START, text, strlen(text));
}

START_TEST(published_values)
{
    ck_assert_uint_eq(hash_text(""), 0xcbf29ce484222325u);
    ck_assert_uint_eq(hash_text("a"), 0xaf63dc4c8601ec8cu);
    ck_assert_uint_eq(hash_text("foobar"), 0x85944171f73967e8u);
}
END_TEST

START_TEST(pieces_give_the_hash_of_the_whole)
{
    uint64_t state = cmi_hash(CMI_HASH_START, "foo", 3);
    ck_assert_uint_eq(cmi_hash(state, "bar", 3), hash_text("foobar"));
    ck_assert_uint_eq(cmi_hash(state, NULL, 0), state);
}
END_TEST

Suite *suite_hash(void)
{
    Suite *suite = suite_create("hash");
    TCase *tests = tcase_create("hash");
    tcase_add_test(tests, published_values);
    tcase_add_test(tests, pieces_give_the_hash_of_the_whole);
    suite_add_tcase(suite, tests);
    return suite;
}
