/* test_clock.c - time goes forward, and a sleep is not shorter than asked. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include "base/suites.h"
#include "base/clock.h"
#include "support/cm_test.h"

START_TEST(time_never_goes_back)
{
    int64_t before = cmi_now_ns();
    for (int i = 0; i < 10000; i++) {
        int64_t now = cmi_now_ns();
        ck_assert_int_ge(now, before);
        before = now;
    }
}
END_TEST

START_TEST(sleep_lasts_at_least_as_long)
{
    int64_t begin = cmi_now_ns();
    cmi_sleep_ns(20000000);
    ck_assert_int_ge(cmi_now_ns() - begin, 20000000);
    cmi_sleep_ns(0);
    cmi_sleep_ns(-5);
}
END_TEST

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* The signal comes 20 ms into the sleep and must not end it. */
START_TEST(sleep_goes_on_after_a_signal)
{
    struct sigaction action;
    struct itimerval timer = {.it_value = {.tv_usec = 20000}};
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    int64_t begin = cmi_now_ns();
    ck_assert_int_eq(setitimer(ITIMER_REAL, &timer, NULL), 0);
    cmi_sleep_ns(100000000);
    ck_assert_int_ge(cmi_now_ns() - begin, 100000000);
    ck_assert_int_eq(signals, 1);
    action.sa_handler = SIG_DFL;
    sigaction(SIGALRM, &action, NULL);
}
END_TEST

Suite *suite_clock(void)
{
    Suite *suite = suite_create("clock");
    TCase *tests = tcase_create("clock");
    tcase_add_test(tests, time_never_goes_back);
    tcase_add_test(tests, sleep_lasts_at_least_as_long);
    tcase_add_test(tests, sleep_goes_on_after_a_signal);
    suite_add_tcase(suite, tests);
    return suite;
}
