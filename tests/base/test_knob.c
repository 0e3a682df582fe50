/* test_knob.c - environment variables: reading, overriding, and numbers that are none. */
#include <stdlib.h>
#include <string.h>
#include "base/suites.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/mem.h"
#include "support/cm_test.h"

static int warnings;
static char last_line[512];

static void count_line(void *user, cm_log_level level, const char *line)
{
    (void)user;
    if (level == CM_LOG_WARNING) warnings++;
    strncpy(last_line, line, sizeof last_line - 1);
}

static void setup(void)
{
    for (int i = 0; i < CMI_KNOB_COUNT; i++)
        unsetenv(cmi_knob_describe((cmi_knob)i).variable);
    for (int i = 0; i < CMI_KNOB_COUNT; i++)
        cmi_knob_override((cmi_knob)i, NULL);
    warnings = 0;
    cm_log_set_sink(count_line, NULL);
}

static void teardown(void)
{
    setup();
    cm_log_set_sink(NULL, NULL);
}

START_TEST(defaults_are_in_force)
{
    ck_assert_str_eq(cmi_knob_text(CMI_KNOB_LOG), "warning");
    ck_assert_str_eq(cmi_knob_text(CMI_KNOB_DEVICES), "");
    ck_assert_int_eq(cmi_knob_number(CMI_KNOB_TIMEOUT_MS), 60000);
    cmi_knob_info info = cmi_knob_describe(CMI_KNOB_SEED);
    ck_assert_str_eq(info.variable, "CLMIRROR_SEED");
    ck_assert_str_eq(info.fallback, "0");
    ck_assert_str_eq(info.value, "0");
    ck_assert_uint_gt(strlen(info.help), 0);
    ck_assert(!info.from_environment);
}
END_TEST

START_TEST(environment_is_frozen_until_a_test_asks)
{
    setenv("CLMIRROR_SEED", "42", 1);
    ck_assert_int_eq(cmi_knob_number(CMI_KNOB_SEED), 0);
    cmi_knob_override(CMI_KNOB_SEED, NULL);
    ck_assert_int_eq(cmi_knob_number(CMI_KNOB_SEED), 42);
    ck_assert(cmi_knob_describe(CMI_KNOB_SEED).from_environment);
    setenv("CLMIRROR_SEED", "", 1); /* empty counts as unset */
    cmi_knob_override(CMI_KNOB_SEED, NULL);
    ck_assert_int_eq(cmi_knob_number(CMI_KNOB_SEED), 0);
    ck_assert_str_eq(cmi_knob_text(CMI_KNOB_SEED), "0");
    ck_assert(!cmi_knob_describe(CMI_KNOB_SEED).from_environment);
    ck_assert_int_eq(warnings, 0);
}
END_TEST

START_TEST(override_takes_a_copy)
{
    char value[] = "7";
    uint64_t total = cmi_mem_total();
    cmi_knob_override(CMI_KNOB_SEED, value);
    value[0] = '8';
    ck_assert_int_eq(cmi_knob_number(CMI_KNOB_SEED), 7);
    ck_assert(!cmi_knob_describe(CMI_KNOB_SEED).from_environment);
    ck_assert_uint_eq(cmi_mem_total(), total); /* knobs never allocate */
    cmi_knob_override(CMI_KNOB_BUCKET_BYTES, "25M");
    ck_assert_int_eq(cmi_knob_number(CMI_KNOB_BUCKET_BYTES), 25 * 1024 * 1024);
}
END_TEST

START_TEST(bad_number_warns_once_and_takes_the_default)
{
    const char *bad[] = {"abc", "-1", "1.5", "99999999999999999999", " 1", ""};
    for (int i = 0; i < CM_TEST_COUNT(bad); i++) {
        warnings = 0;
        cmi_knob_override(CMI_KNOB_TIMEOUT_MS, bad[i]);
        for (int turn = 0; turn < 3; turn++)
            ck_assert_int_eq(cmi_knob_number(CMI_KNOB_TIMEOUT_MS), 60000);
        ck_assert_int_eq(warnings, 1);
        ck_assert_ptr_nonnull(strstr(last_line, "CLMIRROR_TIMEOUT_MS="));
    }
}
END_TEST

START_TEST(words_of_a_list_are_found_whole)
{
    cmi_knob_override(CMI_KNOB_CHECK, "replicas, nan");
    ck_assert(cmi_knob_has(CMI_KNOB_CHECK, "replicas"));
    ck_assert(cmi_knob_has(CMI_KNOB_CHECK, "nan"));
    ck_assert(!cmi_knob_has(CMI_KNOB_CHECK, "replica"));
    ck_assert(!cmi_knob_has(CMI_KNOB_CHECK, "na"));
    ck_assert(!cmi_knob_has(CMI_KNOB_CHECK, ""));
    cmi_knob_override(CMI_KNOB_CHECK, "");
    ck_assert(!cmi_knob_has(CMI_KNOB_CHECK, "nan"));
}
END_TEST

START_TEST(endless_value_is_ignored_with_a_warning)
{
    char longest[5000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    setenv("CLMIRROR_CL_DIR", longest, 1);
    cmi_knob_override(CMI_KNOB_CL_DIR, NULL);
    ck_assert_str_eq(cmi_knob_text(CMI_KNOB_CL_DIR), "");
    ck_assert_str_eq(cmi_knob_text(CMI_KNOB_CL_DIR), "");
    ck_assert_int_eq(warnings, 1);
    /* Also when the log's own knob is the one: the warning must not wait for itself. */
    setenv("CLMIRROR_LOG", longest, 1);
    cmi_knob_override(CMI_KNOB_LOG, NULL);
    ck_assert_str_eq(cmi_knob_text(CMI_KNOB_LOG), "warning");
    ck_assert_int_eq(warnings, 2);
}
END_TEST

Suite *suite_knob(void)
{
    Suite *suite = suite_create("knob");
    TCase *tests = tcase_create("knob");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, defaults_are_in_force);
    tcase_add_test(tests, environment_is_frozen_until_a_test_asks);
    tcase_add_test(tests, override_takes_a_copy);
    tcase_add_test(tests, bad_number_warns_once_and_takes_the_default);
    tcase_add_test(tests, words_of_a_list_are_found_whole);
    tcase_add_test(tests, endless_value_is_ignored_with_a_warning);
    suite_add_tcase(suite, tests);
    return suite;
}
