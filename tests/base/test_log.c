/* test_log.c - levels, categories and the form of a line, seen through a sink of our own. */
#include <stdio.h>
#include <string.h>
#include "base/suites.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "support/cm_test.h"

static char lines[4096]; /* what the sink got, each line with its newline */
static int count;

static void keep(void *user, cm_log_level level, const char *line)
{
    (void)level;
    *(int *)user += 1;
    size_t length = strlen(lines);
    snprintf(lines + length, sizeof lines - length, "%s\n", line);
}

static void setup(void)
{
    lines[0] = '\0';
    count = 0;
    cm_log_set_sink(keep, &count);
    cmi_knob_override(CMI_KNOB_LOG, "warning");
}

static void teardown(void)
{
    cmi_mem_fail_at(0);
    cmi_log_set_rank(-1);
    cm_log_set_sink(NULL, NULL);
    cmi_knob_override(CMI_KNOB_LOG, NULL);
}

START_TEST(line_has_level_category_and_rank)
{
    cmi_log(CM_LOG_WARNING, "comm", "slow by %d ms", 5);
    ck_assert_str_eq(lines, "clmirror: warning: [comm] slow by 5 ms\n");
    lines[0] = '\0';
    cmi_log_set_rank(1);
    cmi_log(CM_LOG_ERROR, "comm", "lost");
    ck_assert_str_eq(lines, "clmirror: error: [comm] rank 1: lost\n");
    ck_assert_int_eq(count, 2);
}
END_TEST

static void speak(void *argument)
{
    (void)argument;
    cmi_log(CM_LOG_WARNING, "train", "no rank yet");
    cmi_log_set_rank(3);
    cmi_log(CM_LOG_WARNING, "train", "ready");
}

START_TEST(line_names_the_library_thread)
{
    cmi_thread thread;
    ck_assert_cm_ok(cmi_thread_start(&thread, "courier", speak, NULL));
    cmi_thread_join(thread);
    cmi_log(CM_LOG_WARNING, "train", "main"); /* the rank was the other thread's */
    ck_assert_str_eq(lines, "clmirror: warning: [train] courier: no rank yet\n"
                            "clmirror: warning: [train] rank 3 courier: ready\n"
                            "clmirror: warning: [train] main\n");
}
END_TEST

static void expect_levels(const char *setting, const char *category, int most)
{
    cmi_knob_override(CMI_KNOB_LOG, setting);
    for (int level = CM_LOG_ERROR; level <= CM_LOG_DEBUG; level++) {
        ck_assert_msg(cmi_log_enabled((cm_log_level)level, category) == (level <= most),
                      "%s: level %d of %s", setting, level, category);
    }
}

START_TEST(levels_and_categories_are_obeyed)
{
    expect_levels("error", "comm", CM_LOG_ERROR);
    expect_levels("", "comm", CM_LOG_WARNING);
    expect_levels("info", "comm", CM_LOG_INFO);
    expect_levels("debug", "comm", CM_LOG_DEBUG);
    expect_levels("comm:debug,kernel:info", "comm", CM_LOG_DEBUG);
    expect_levels("comm:debug,kernel:info", "kernel", CM_LOG_INFO);
    expect_levels("comm:debug,kernel:info", "train", CM_LOG_WARNING);
    expect_levels("comm:debug, info", "comm",
                  CM_LOG_DEBUG); /* the special one wins wherever it stands */
    expect_levels("comm:debug, info", "train", CM_LOG_INFO);
    expect_levels("comm:debug,comm:error", "comm", CM_LOG_ERROR); /* the last one wins */
    expect_levels("comm:debug", "com", CM_LOG_WARNING);
    ck_assert_int_eq(count, 0);
}
END_TEST

START_TEST(unknown_words_are_told_once_and_the_rest_counts)
{
    expect_levels("loud,comm:info", "comm", CM_LOG_INFO);
    expect_levels("comm:,kernel:loud", "comm", CM_LOG_WARNING);
    ck_assert_int_eq(count, 1);
    ck_assert_ptr_nonnull(strstr(lines, "\"loud\" is not understood"));
}
END_TEST

START_TEST(several_lines_stay_several_lines)
{
    cmi_log(CM_LOG_WARNING, "kernel", "first\n\nthird\n");
    ck_assert_str_eq(lines, "clmirror: warning: [kernel] first\n"
                            "clmirror: warning: [kernel] \n"
                            "clmirror: warning: [kernel] third\n");
    lines[0] = '\0';
    cmi_log(CM_LOG_WARNING, "kernel", "%s", "");
    ck_assert_str_eq(lines, "clmirror: warning: [kernel] \n");
}
END_TEST

START_TEST(nothing_of_a_long_text_is_lost)
{
    enum { LENGTH = 2500 };
    char text[LENGTH + 1];
    size_t found = 0;
    uint64_t live = cmi_mem_live();
    memset(text, '@', LENGTH);
    text[LENGTH] = '\0';
    cmi_log(CM_LOG_WARNING, "kernel", "%s", text);
    for (const char *at = lines; *at; at++)
        found += *at == '@';
    ck_assert_uint_eq(found, LENGTH);
    ck_assert_int_eq(count, 3);
    ck_assert_uint_eq(cmi_mem_live(), live);
}
END_TEST

START_TEST(without_memory_a_remark_is_cut_and_the_record_kept)
{
    char text[2001];
    memset(text, '@', 2000);
    text[2000] = '\0';
    cmi_error(CM_E_IO, "the failure");
    cmi_mem_fail_at(1);
    cmi_log(CM_LOG_WARNING, "kernel", "%s", text);
    ck_assert_ptr_nonnull(strstr(lines, "@@...\n"));
    ck_assert_int_eq(cm_last_status(), CM_E_IO);
    ck_assert_str_eq(cm_last_message(), "the failure");
}
END_TEST

Suite *suite_log(void)
{
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, line_has_level_category_and_rank);
    tcase_add_test(tests, line_names_the_library_thread);
    tcase_add_test(tests, levels_and_categories_are_obeyed);
    tcase_add_test(tests, unknown_words_are_told_once_and_the_rest_counts);
    tcase_add_test(tests, several_lines_stay_several_lines);
    tcase_add_test(tests, nothing_of_a_long_text_is_lost);
    tcase_add_test(tests, without_memory_a_remark_is_cut_and_the_record_kept);
    suite_add_tcase(suite, tests);
    return suite;
}
