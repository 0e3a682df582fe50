/* cm_test.h - assertions and the small frame shared by all test programs.
 *
 * Check's own macros print the expression; these print what a failure of clmirror or a wrong tensor
 * needs to be understood without a debugger: status name and whole message, first wrong index, both
 * values, largest error. All of them end in ck_assert/ck_abort, so they may be used on the main
 * thread of a test only: a worker stores its status and the main thread asserts.  The functions
 * stand in cm_test.c, which is part of every test program.
 *
 * A test program is
 *
 *     int main(int argc, char **argv)
 *     {
 *         Suite *suites[] = {mem_suite(), hash_suite()};
 *         return cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
 *     }
 *
 * where an argument runs only the test case (tcase_create) of that name, as CK_RUN_CASE and
 * CK_RUN_SUITE do.  A program that ran no case, or skipped all, fails. */
#ifndef CM_TEST_H
#define CM_TEST_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>
#include <clmirror/status.h>

#define CM_TEST_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* The call must succeed. */
#define ck_assert_cm_ok(call) ck_assert_cm_status(call, CM_OK)

/* The call must answer `expected`; prints both names and the recorded message when it does not. */
#define ck_assert_cm_status(call, expected)                                                        \
    do {                                                                                           \
        cm_status cm_test_got = (call);                                                            \
        cm_status cm_test_want = (expected);                                                       \
        if (cm_test_got != cm_test_want)                                                           \
            ck_abort_msg("%s: got %s (%s), expected %s; message: \"%s\"", #call,                   \
                         cm_status_name(cm_test_got), cm_status_text(cm_test_got),                 \
                         cm_status_name(cm_test_want), cm_last_message());                         \
        mark_point();                                                                              \
    } while (0)

/* The recorded message contains `text`. */
#define ck_assert_message_has(text)                                                                \
    do {                                                                                           \
        const char *cm_test_part = (text);                                                         \
        if (!cm_test_contains(cm_last_message(), cm_test_part))                                    \
            ck_abort_msg("the message lacks \"%s\": \"%s\"", cm_test_part, cm_last_message());     \
        mark_point();                                                                              \
    } while (0)

/* Two numbers: |got - want| <= tol; not-a-number equals only itself, infinities only one another.
 */
#define ck_assert_close(got, want, tol)                                                            \
    do {                                                                                           \
        double cm_test_got = (double)(got), cm_test_want = (double)(want);                         \
        double cm_test_tol = (double)(tol);                                                        \
        if (!cm_test_near(cm_test_got, cm_test_want, cm_test_tol))                                 \
            ck_abort_msg("%s: got %.9g, expected %.9g, difference %.3g, tolerance %.3g", #got,     \
                         cm_test_got, cm_test_want, cm_test_got - cm_test_want, cm_test_tol);      \
        mark_point();                                                                              \
    } while (0)

/* Arrays of float.  Each prints the first bad index, both values there, the number of bad ones and the largest
 * difference with its place.
 *   close   |got - want| <= absolute + relative * |want|
 *   ulp     at most `ulps` representable numbers apart
 *   equal   the same numbers (0 equals -0, not-a-number equals itself)
 *   bits    the same bytes */
#define ck_assert_floats_close(got, want, count, absolute, relative)                               \
    CM_TEST_COMPARE(got, want, count, CM_TEST_CLOSE, absolute, relative)
#define ck_assert_floats_ulp(got, want, count, ulps)                                               \
    CM_TEST_COMPARE(got, want, count, CM_TEST_ULP, ulps, 0)
#define ck_assert_floats_equal(got, want, count)                                                   \
    CM_TEST_COMPARE(got, want, count, CM_TEST_EQUAL, 0, 0)
#define ck_assert_floats_bits(got, want, count)                                                    \
    CM_TEST_COMPARE(got, want, count, CM_TEST_BITS, 0, 0)

/* Prints and counts a case that cannot run here, and leaves the test function. */
#define CM_TEST_SKIP(...)                                                                          \
    do {                                                                                           \
        cm_test_skip(__FILE__, __LINE__, __VA_ARGS__);                                             \
        return;                                                                                    \
    } while (0)

typedef enum cm_test_rule { CM_TEST_CLOSE, CM_TEST_ULP, CM_TEST_EQUAL, CM_TEST_BITS } cm_test_rule;

#define CM_TEST_COMPARE(got, want, count, rule, a, b)                                              \
    do {                                                                                           \
        char cm_test_text[512];                                                                    \
        const double cm_test_bounds[2] = {(double)(a), (double)(b)};                               \
        if (!cm_test_compare((got), (want), (size_t)(count), (rule), cm_test_bounds,               \
                             cm_test_text))                                                        \
            ck_abort_msg("%s against %s: %s", #got, #want, cm_test_text);                          \
        mark_point();                                                                              \
    } while (0)

/* True when all elements obey the rule with its bounds {a, b}; else `text` (512 bytes) tells where
 * not. */
int cm_test_compare(const float *got, const float *want, size_t count, cm_test_rule rule,
                    const double bounds[2], char text[512]);
int cm_test_near(double got, double want, double tol);
int cm_test_contains(const char *text, const char *part);
void cm_test_skip(const char *file, int line, const char *fmt, ...) CM_PRINTF(3, 4);

/* Runs the suites (all of them, or the one case that argv[1] names), prints failures and skips, and
 * returns the exit status: 0 when every case passed and at least one was not skipped. */
int cm_test_main(int argc, char **argv, Suite *const suites[], int count);

#endif
