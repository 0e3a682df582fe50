/* test_thread.c - threads, conditions, signals.  Threads store what they saw; the main thread
 * asserts. */
#include <signal.h>
#include <string.h>
#include "base/suites.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "support/cm_test.h"

enum { THREADS = 4, TURNS = 10000 };

typedef struct shared {
    cmi_mutex mutex;
    cmi_cond cond;
    int count; /* under mutex */
} shared;

static void add_many(void *argument)
{
    shared *all = argument;
    for (int i = 0; i < TURNS; i++) {
        cmi_mutex_lock(&all->mutex);
        all->count++;
        cmi_mutex_unlock(&all->mutex);
    }
}

START_TEST(mutex_keeps_a_count_whole)
{
    shared all = {.count = 0};
    cmi_thread threads[THREADS];
    uint64_t live = cmi_mem_live();
    ck_assert_cm_ok(cmi_mutex_init(&all.mutex));
    for (int i = 0; i < THREADS; i++)
        ck_assert_cm_ok(cmi_thread_start(&threads[i], "adder", add_many, &all));
    for (int i = 0; i < THREADS; i++)
        cmi_thread_join(threads[i]);
    ck_assert_int_eq(all.count, THREADS * TURNS);
    ck_assert_uint_eq(cmi_mem_live(), live);
    cmi_mutex_destroy(&all.mutex);
}
END_TEST

static void wait_then_answer(void *argument)
{
    shared *all = argument;
    cmi_mutex_lock(&all->mutex);
    while (all->count == 0)
        cmi_cond_wait(&all->cond, &all->mutex);
    all->count = 2;
    cmi_cond_broadcast(&all->cond);
    cmi_mutex_unlock(&all->mutex);
}

START_TEST(condition_wakes_the_other_side)
{
    shared all = {.count = 0};
    cmi_thread thread;
    ck_assert_cm_ok(cmi_mutex_init(&all.mutex));
    ck_assert_cm_ok(cmi_cond_init(&all.cond));
    ck_assert_cm_ok(cmi_thread_start(&thread, "other", wait_then_answer, &all));
    cmi_mutex_lock(&all.mutex);
    all.count = 1;
    cmi_cond_signal(&all.cond);
    while (all.count != 2)
        ck_assert(cmi_cond_wait_ms(&all.cond, &all.mutex, -1));
    cmi_mutex_unlock(&all.mutex);
    cmi_thread_join(thread);
    cmi_cond_destroy(&all.cond);
    cmi_mutex_destroy(&all.mutex);
}
END_TEST

START_TEST(wait_ends_when_its_time_has_passed)
{
    cmi_mutex mutex;
    cmi_cond cond;
    ck_assert_cm_ok(cmi_mutex_init(&mutex));
    ck_assert_cm_ok(cmi_cond_init(&cond));
    cmi_mutex_lock(&mutex);
    ck_assert(!cmi_cond_wait_ms(&cond, &mutex, 0));
    int64_t begin = cmi_now_ns();
    while (cmi_cond_wait_ms(&cond, &mutex, 30))
        begin = cmi_now_ns(); /* woken without reason: again */
    ck_assert_int_ge(cmi_now_ns() - begin, 30 * 1000000);
    cmi_mutex_unlock(&mutex);
    cmi_cond_destroy(&cond);
    cmi_mutex_destroy(&mutex);
}
END_TEST

typedef struct seen {
    sigset_t mask;
    char name[32];
} seen;

static void look_around(void *argument)
{
    seen *result = argument;
    pthread_sigmask(SIG_BLOCK, NULL, &result->mask);
    strncpy(result->name, cmi_thread_name(), sizeof result->name - 1);
}

START_TEST(threads_block_signals_and_have_names)
{
    seen result = {.name = ""};
    cmi_thread thread;
    sigset_t mine;
    ck_assert_cm_ok(cmi_thread_start(&thread, "courier", look_around, &result));
    cmi_thread_join(thread);
    ck_assert_int_eq(sigismember(&result.mask, SIGINT), 1);
    ck_assert_int_eq(sigismember(&result.mask, SIGTERM), 1);
    ck_assert_int_eq(sigismember(&result.mask, SIGCHLD), 1);
    ck_assert_int_eq(sigismember(&result.mask, SIGSEGV), 0);
    ck_assert_str_eq(result.name, "courier");
    ck_assert_str_eq(cmi_thread_name(), "");
    pthread_sigmask(SIG_BLOCK, NULL, &mine);
    ck_assert_int_eq(sigismember(&mine, SIGINT), 0); /* the maker's mask is restored */

    ck_assert_cm_ok(cmi_thread_start(&thread, "a name that is too long", look_around, &result));
    cmi_thread_join(thread);
    ck_assert_str_eq(result.name, "a name that is ");
}
END_TEST

START_TEST(start_reports_missing_memory)
{
    seen result;
    cmi_thread thread;
    cmi_mem_fail_at(1);
    ck_assert_cm_status(cmi_thread_start(&thread, "none", look_around, &result), CM_E_MEMORY);
    cmi_mem_fail_at(0);
}
END_TEST

START_TEST(there_is_a_cpu)
{
    ck_assert_int_ge(cmi_cpu_count(), 1);
}
END_TEST

Suite *suite_thread(void)
{
    Suite *suite = suite_create("thread");
    TCase *tests = tcase_create("thread");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, mutex_keeps_a_count_whole);
    tcase_add_test(tests, condition_wakes_the_other_side);
    tcase_add_test(tests, wait_ends_when_its_time_has_passed);
    tcase_add_test(tests, threads_block_signals_and_have_names);
    tcase_add_test(tests, start_reports_missing_memory);
    tcase_add_test(tests, there_is_a_cpu);
    suite_add_tcase(suite, tests);
    return suite;
}
