/* test_status.c - names of statuses and the error record of a thread. */
#include <pthread.h>
#include <string.h>
#include "base/suites.h"
#include "base/error.h"
#include "support/cm_test.h"
#include <clmirror/version.h>

START_TEST(names_come_from_the_list)
{
    ck_assert_str_eq(cm_status_name(CM_OK), "CM_OK");
    ck_assert_str_eq(cm_status_name(CM_E_SHAPE), "CM_E_SHAPE");
    ck_assert_str_eq(cm_status_text(CM_E_SHAPE), "shapes do not fit");
    ck_assert_str_eq(cm_status_name(CM_E_REPLICAS), "CM_E_REPLICAS");
    for (int i = 0; i < CM_STATUS_COUNT; i++)
        ck_assert_uint_gt(strlen(cm_status_text((cm_status)i)), 0);
}
END_TEST

START_TEST(values_outside_the_list_are_unknown)
{
    const int outside[] = {-1, CM_STATUS_COUNT, 1000};
    for (int i = 0; i < CM_TEST_COUNT(outside); i++) {
        ck_assert_str_eq(cm_status_name((cm_status)outside[i]), "CM_UNKNOWN");
        ck_assert_str_eq(cm_status_text((cm_status)outside[i]), "unknown status");
    }
}
END_TEST

START_TEST(record_holds_the_failure_until_cleared)
{
    ck_assert_int_eq(cmi_error_code(CM_E_OPENCL, -5, "rows %d", 7), CM_E_OPENCL);
    ck_assert_int_eq(cm_last_status(), CM_E_OPENCL);
    ck_assert_int_eq(cm_last_error()->cl_code, -5);
    ck_assert_str_eq(cm_last_message(), "rows 7");
    ck_assert_str_eq(cm_last_error()->message, "rows 7"); /* reading does not clear */
    cmi_error_clear();
    ck_assert_int_eq(cm_last_status(), CM_OK);
    ck_assert_int_eq(cm_last_error()->cl_code, 0);
    ck_assert_str_eq(cm_last_message(), "");
}
END_TEST

static cm_status innermost(void)
{
    return cmi_error_code(CM_E_OPENCL, -6, "clEnqueueNDRangeKernel: CL_OUT_OF_HOST_MEMORY");
}

static cm_status middle(int layer)
{
    CM_TRY_CTX(innermost(), "layer %d", layer);
    return CM_OK;
}

static cm_status outermost(void)
{
    CM_TRY_CTX(middle(4), "fit: epoch %d", 2);
    return CM_OK;
}

START_TEST(context_reads_from_outside_to_inside)
{
    ck_assert_cm_status(outermost(), CM_E_OPENCL);
    ck_assert_str_eq(cm_last_message(),
                     "fit: epoch 2: layer 4: clEnqueueNDRangeKernel: CL_OUT_OF_HOST_MEMORY");
    ck_assert_int_eq(cm_last_error()->cl_code, -6);
}
END_TEST

START_TEST(prefix_without_failure_changes_nothing)
{
    cmi_error_clear();
    cmi_error_prefix("context");
    ck_assert_str_eq(cm_last_message(), "");
}
END_TEST

START_TEST(message_may_quote_the_record)
{
    cmi_error(CM_E_IO, "first");
    cmi_error(CM_E_IO, "second after %s", cm_last_message());
    ck_assert_str_eq(cm_last_message(), "second after first");
    cmi_error_prefix("again %s", cm_last_message());
    ck_assert_str_eq(cm_last_message(), "again second after first: second after first");
}
END_TEST

START_TEST(long_messages_end_in_dots)
{
    char longest[3 * CM_MESSAGE_BYTES];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    cmi_error(CM_E_IO, "%s", longest);
    ck_assert_uint_eq(strlen(cm_last_message()), CM_MESSAGE_BYTES - 1);
    ck_assert_str_eq(cm_last_message() + CM_MESSAGE_BYTES - 5, "x...");

    longest[CM_MESSAGE_BYTES - 1] = '\0'; /* exactly fits */
    cmi_error(CM_E_IO, "%s", longest);
    ck_assert_str_eq(cm_last_message() + CM_MESSAGE_BYTES - 5, "xxxx");
    cmi_error_prefix("front");
    ck_assert_uint_eq(strlen(cm_last_message()), CM_MESSAGE_BYTES - 1);
    ck_assert_int_eq(strncmp(cm_last_message(), "front: xxx", 10), 0);
    ck_assert_str_eq(cm_last_message() + CM_MESSAGE_BYTES - 5, "x...");
}
END_TEST

START_TEST(cut_leaves_whole_utf8_characters)
{
    char text[2 * CM_MESSAGE_BYTES];
    for (int shift = 0; shift < 2; shift++) {
        size_t length = 0;
        if (shift) text[length++] = 'x';
        while (length + 2 < sizeof text) {
            text[length++] = '\xc3'; /* a letter of two bytes */
            text[length++] = '\xa4';
        }
        text[length] = '\0';
        cmi_error(CM_E_IO, "%s", text);
        size_t end = strlen(cm_last_message());
        ck_assert_str_eq(cm_last_message() + end - 3, "...");
        ck_assert_int_eq((unsigned char)cm_last_message()[end - 4], 0xa4);
    }
}
END_TEST

static void *fail_elsewhere(void *record)
{
    cmi_error(CM_E_TIMEOUT, "in the worker");
    cmi_error_save(record);
    return NULL;
}

START_TEST(record_belongs_to_its_thread_and_can_be_carried_over)
{
    pthread_t thread;
    cm_error worker;
    cmi_error(CM_E_IO, "here");
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, &worker), 0);
    pthread_join(thread, NULL);
    ck_assert_str_eq(cm_last_message(), "here");
    ck_assert_int_eq(cmi_error_restore(&worker), CM_E_TIMEOUT);
    ck_assert_str_eq(cm_last_message(), "in the worker");
}
END_TEST

START_TEST(version_is_that_of_the_header)
{
    ck_assert_str_eq(cm_version(), CM_VERSION);
}
END_TEST

Suite *suite_status(void)
{
    Suite *suite = suite_create("status");
    TCase *tests = tcase_create("status");
    tcase_add_test(tests, names_come_from_the_list);
    tcase_add_test(tests, values_outside_the_list_are_unknown);
    tcase_add_test(tests, record_holds_the_failure_until_cleared);
    tcase_add_test(tests, context_reads_from_outside_to_inside);
    tcase_add_test(tests, prefix_without_failure_changes_nothing);
    tcase_add_test(tests, message_may_quote_the_record);
    tcase_add_test(tests, long_messages_end_in_dots);
    tcase_add_test(tests, cut_leaves_whole_utf8_characters);
    tcase_add_test(tests, record_belongs_to_its_thread_and_can_be_carried_over);
    tcase_add_test(tests, version_is_that_of_the_header);
    suite_add_tcase(suite, tests);
    return suite;
}
