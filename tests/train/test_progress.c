/* test_progress.c - the progress bar and the line of verbose 2, to the byte.
 *
 * Texts come from cmi_progress_line, in which times are given; when something is drawn is
 * tested through cmi_progress_update, with the time of the last drawing set by the test, so that
 * nothing depends on the clock. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "train/suites.h"
#include "train/train.h"
#include "support/cm_test.h"

#define BOLD  "\x1b[1m"
#define GREEN "\x1b[32m"
#define WHITE "\x1b[37m"
#define OFF   "\x1b[0m"
#define MS    ((int64_t)1000000)
#define S     ((int64_t)1000000000)

static char text[CMI_PROGRESS_BYTES];

static cmi_progress bar_of(int64_t total)
{
    return (cmi_progress){.verbose = 1, .total = total, .start_ns = 7 * S, .first_step_ns = -1};
}

/* The drawing at `ns` after the start. */
static int draw(const cmi_progress *progress, int64_t current, int64_t ns, const cm_logs *logs,
                bool final)
{
    int width = cmi_progress_line(
        progress, &(cmi_progress_state){current, logs, final, progress->start_ns + ns}, text);

    return width;
}

static const cm_logs two = {2, {"accuracy", "loss"}, {0.2, 0.25}};

/* ---- the bar ---- */

START_TEST(a_bar_while_running)
{
    cmi_progress p = bar_of(3);

    p.first_step_ns = p.start_ns + 900 * MS;
    int width = draw(&p, 2, 961 * MS, &two, false);
    ck_assert_str_eq(text, "\r" BOLD "2/3" OFF " " GREEN "━━━━━━━━━━━━━" OFF WHITE "━━━━━━━" OFF
                           " " BOLD "0s" OFF " 61ms/step - accuracy: 0.2000 - loss: 0.2500");
    ck_assert_int_eq(width, 3 + 1 + 20 + 1 + 2 + 10 + 19 + 15);
}
END_TEST

START_TEST(the_final_bar)
{
    cmi_progress p = bar_of(3);

    p.first_step_ns = p.start_ns + 1 * S;
    draw(&p, 3, 2600 * MS, &two, true); /* (2.6 - 1) / 2 per step, 3 seconds rounded */
    ck_assert_str_eq(text, "\r" BOLD "3/3" OFF " " GREEN "━━━━━━━━━━━━━━━━━━━━" OFF WHITE OFF
                           " " BOLD "3s" OFF " 800ms/step - accuracy: 0.2000 - loss: 0.2500\n");
}
END_TEST

START_TEST(no_green_at_the_beginning_and_aligned_counts)
{
    cmi_progress p = bar_of(1000);

    draw(&p, 7, 7 * S, NULL, false);
    ck_assert_str_eq(text, "\r" BOLD "   7/1000" OFF " " WHITE "━━━━━━━━━━━━━━━━━━━━" OFF " " BOLD
                           "16:33" OFF " 1s/step");
    p.total = 999;
    draw(&p, 50, 50 * MS, &(cm_logs){0}, false);
    ck_assert_str_eq(text, "\r" BOLD " 50/999" OFF " " GREEN "━" OFF WHITE "━━━━━━━━━━━━━━━━━━━" OFF
                           " " BOLD "0s" OFF " 1ms/step");
}
END_TEST

START_TEST(equals_signs_when_not_utf8)
{
    cmi_progress p = bar_of(4);

    p.ascii = true;
    int width = draw(&p, 1, 3 * S, NULL, false);
    ck_assert_str_eq(text, "\r" BOLD "1/4" OFF " " GREEN "=====" OFF WHITE "===============" OFF
                           " " BOLD "9s" OFF " 3s/step");
    p.ascii = false;
    ck_assert_int_eq(width, draw(&p, 1, 3 * S, NULL, false));
}
END_TEST

/* A drawing goes back over the one before and covers what is left of it. */
START_TEST(drawing_over_the_last_one)
{
    cmi_progress p = bar_of(4);

    p.width = 5;
    draw(&p, 1, 3 * S, NULL, false);
    ck_assert_str_eq(text, "\b\b\b\b\b\r" BOLD "1/4" OFF " " GREEN "━━━━━" OFF WHITE
                           "━━━━━━━━━━━━━━━" OFF " " BOLD "9s" OFF " 3s/step");
    p.width = 38; /* 3 more than this one, which is 35 */
    ck_assert_int_eq(draw(&p, 4, 4 * S, NULL, true), 35);
    ck_assert_int_eq((int)strspn(text, "\b"), 38);
    ck_assert_str_eq(text + 38, "\r" BOLD "4/4" OFF " " GREEN "━━━━━━━━━━━━━━━━━━━━" OFF WHITE OFF
                                " " BOLD "4s" OFF " 1s/step   \n");
}
END_TEST

/* The part of the text behind the bar. */
static const char *behind_the_bar(void)
{
    const char *at = strrchr(text, '\x1b');

    while (at > text && strncmp(at, BOLD, strlen(BOLD)))
        at--;
    return at;
}

static const struct {
    double step_s; /* one of 100001 steps has been made, so that 100000 times this is left */
    const char *left;
} left_cases[] = {
    {0.0, BOLD "0s" OFF " 0s/step"},
    {0.000000499, BOLD "0s" OFF " 0us/step"},
    {0.0000599, BOLD "5s" OFF " 60us/step"},
    {0.0006, BOLD "59s" OFF " 600us/step"}, /* 59.99999999999999 in double */
    {0.00061, BOLD "1:01" OFF " 610us/step"},
    {0.0009996, BOLD "1:39" OFF " 1000us/step"}, /* Keras rounds after it has chosen the unit */
    {0.001, BOLD "1:40" OFF " 1ms/step"},
    {0.036, BOLD "59:59" OFF " 36ms/step"}, /* likewise */
    {0.03600001, BOLD "1:00:00" OFF " 36ms/step"},
    {0.03601, BOLD "1:00:01" OFF " 36ms/step"},
    {0.9999, BOLD "27:46:30" OFF " 1000ms/step"},
    {1.0, BOLD "27:46:40" OFF " 1s/step"},
    {2.5, BOLD "69:26:40" OFF " 2s/step"},
    {1000.0, BOLD "27777:46:40" OFF " 1000s/step"},
};

START_TEST(times)
{
    cmi_progress p = bar_of(100001);

    draw(&p, 1, (int64_t)llround(left_cases[_i].step_s * 1e9), NULL, false);
    ck_assert_str_eq(behind_the_bar(), left_cases[_i].left);
}
END_TEST

/* The first step is left out of the time per step once it is known. */
START_TEST(time_per_step)
{
    cmi_progress p = bar_of(11);

    draw(&p, 5, 50 * S, NULL, false);
    ck_assert_str_eq(behind_the_bar(),
                     BOLD "60s" OFF " 10s/step"); /* a minute is not more than 60 s */
    draw(&p, 5, 3000 * S, NULL, false);
    ck_assert_str_eq(behind_the_bar(),
                     BOLD "60:00" OFF " 600s/step"); /* nor an hour more than 3600 s */
    p.first_step_ns = p.start_ns + 42 * S;
    draw(&p, 5, 50 * S, NULL, false);
    ck_assert_str_eq(behind_the_bar(), BOLD "12s" OFF " 2s/step");
    draw(&p, 1, 50 * S, NULL, true); /* a run of one step shows it all the same */
    ck_assert_str_eq(behind_the_bar(), BOLD "50s" OFF " 50s/step\n");
    draw(&p, 0, 50 * S, NULL, false);
    ck_assert_str_eq(behind_the_bar(), BOLD "0s" OFF " 0s/step");
}
END_TEST

/* ---- numbers ---- */

static const struct {
    double value;
    const char *bar, *line; /* verbose 1, verbose 2 */
} numbers[] = {
    {0.0, "0.0000e+00", "0.0000e+00"},
    {0.001, "1.0000e-03", "1.0000e-03"},
    {0.00101, "0.0010", "0.0010"},
    {-0.001, "-1.0000e-03", "-1.0000e-03"},
    {-0.5, "-0.5000", "-5.0000e-01"}, /* the sign rule of verbose 2 */
    {-1234.5, "-1234.5000", "-1.2345e+03"},
    {1.66667e-5, "1.6667e-05", "1.6667e-05"},
    {123456.78915, "123456.7891", "123456.7891"},
    {(double)NAN, "nan", "nan"},
    {-(double)NAN, "nan", "nan"},
    {(double)INFINITY, "inf", "inf"},
    {-(double)INFINITY, "-inf", "-inf"},
    {1e15, "1000000000000000.0000", "1000000000000000.0000"},
};

START_TEST(number_formats)
{
    cmi_progress p = bar_of(1);
    const cm_logs logs = {1, {"loss"}, {numbers[_i].value}};
    char want[128];

    draw(&p, 1, 2 * S, &logs, true);
    snprintf(want, sizeof want, BOLD "2s" OFF " 2s/step - loss: %s\n", numbers[_i].bar);
    ck_assert_str_eq(behind_the_bar(), want);
    p.verbose = 2;
    draw(&p, 1, 2 * S, &logs, true);
    snprintf(want, sizeof want, "1/1 - 2s - 2s/step - loss: %s\n", numbers[_i].line);
    ck_assert_str_eq(text, want);
}
END_TEST

/* The order of the logs, which is not sorted as a whole, stays. */
START_TEST(values_in_their_order)
{
    cmi_progress p = bar_of(3);
    const cm_logs logs = {5,
                          {"accuracy", "loss", "val_accuracy", "val_loss", "learning_rate"},
                          {0.3, 1.6667e-5, 0.5, 2, 0.01}};

    p.verbose = 2;
    p.first_step_ns = p.start_ns + 11 * MS; /* does not count here */
    draw(&p, 3, 12000, &logs, true);
    ck_assert_str_eq(
        text, "3/3 - 0s - 4us/step - accuracy: 0.3000 - loss: 1.6667e-05 - val_accuracy: 0.5000"
              " - val_loss: 2.0000 - learning_rate: 0.0100\n");
}
END_TEST

/* ---- many and long values ---- */

START_TEST(what_does_not_fit_is_left_out_whole)
{
    static char names[CM_MAX_LOGS][1024];
    cmi_progress p = bar_of(10);
    cm_logs logs = {.count = CM_MAX_LOGS};

    for (int i = 0; i < CM_MAX_LOGS; i++) {
        snprintf(names[i], sizeof names[i],
                 "val_sparse_top_k_categorical_accuracy_of_the_model_no_%d", i);
        logs.name[i] = names[i];
        logs.value[i] = 0.5;
    }
    draw(&p, 1, S, &logs, false); /* 64 of ordinary length fit */
    ck_assert_ptr_nonnull(strstr(text, "no_63: 0.5000"));
    for (int i = 0; i < CM_MAX_LOGS; i++) {
        names[i][0] = '\0';
        for (int k = 0; k < 200; k++)
            strcat(names[i], "ü");
    }
    p.width = draw(&p, 1, S, &logs, false);
    ck_assert_uint_lt(strlen(text), CMI_PROGRESS_LINE + 1);
    ck_assert_str_eq(text + strlen(text) - 8, ": 0.5000");
    const cm_logs none = {0};
    int width =
        draw(&p, 10, S, &none, true); /* the longest text: back over the longest, and blanks */
    ck_assert_int_eq((int)strspn(text, "\b"), p.width);
    ck_assert_uint_eq(strlen(text), (size_t)p.width + 1 + (strlen(strchr(text, '\r')) - 1));
    ck_assert_int_eq((int)strspn(strstr(text, "/step") + 5, " "), p.width - width);
    ck_assert_str_eq(text + strlen(text) - 2, " \n");
}
END_TEST

/* ---- when something is drawn ---- */

static char said[65536];
static int drawings;

static void listen(void *user, const char *what)
{
    ck_assert_ptr_eq(user, said);
    strcat(said, what);
    drawings++;
}

static void fresh(void)
{
    said[0] = '\0';
    drawings = 0;
}

START_TEST(not_more_often_than_every_50_ms)
{
    cmi_progress p;
    uint64_t allocations = cmi_mem_total();

    cmi_progress_begin(&p, 1, listen, said, 10);
    ck_assert_int_eq(drawings, 0);
    cmi_progress_abandon(&p); /* nothing drawn: nothing to end */
    ck_assert_int_eq(drawings, 0);
    p.last_draw_ns = cmi_now_ns() + 3600 * S; /* the first one does not look at it */
    cmi_progress_update(&p, 2, &two, false);
    ck_assert_int_eq(drawings, 1);
    ck_assert_int_eq(
        p.width, (int)(strlen(said) - strlen("\r" BOLD OFF GREEN OFF WHITE OFF BOLD OFF) - 2 * 20));
    p.last_draw_ns = cmi_now_ns() + 3600 * S;
    cmi_progress_update(&p, 3, &two, false);
    ck_assert_int_eq(drawings, 1);
    ck_assert_int_eq(p.seen, 3);
    p.last_draw_ns = cmi_now_ns() - 51 * MS;
    cmi_progress_update(&p, 4, &two, false);
    ck_assert_int_eq(drawings, 2);
    p.last_draw_ns = cmi_now_ns() + 3600 * S;
    cmi_progress_update(&p, 10, &two, true); /* the final one always */
    ck_assert_int_eq(drawings, 3);
    ck_assert_uint_eq(strcspn(said, "\n"), strlen(said) - 1);
    cmi_progress_abandon(&p); /* it is finished */
    ck_assert_int_eq(drawings, 3);
    ck_assert_uint_eq(cmi_mem_total(), allocations);
}
END_TEST

/* Also when its drawing is left out, and only the report of step 1. */
START_TEST(the_end_of_step_1_is_remembered)
{
    cmi_progress p;

    cmi_progress_begin(&p, 1, listen, said, 10);
    ck_assert_int_eq(p.first_step_ns, -1);
    cmi_progress_update(&p, 1, &two, false);
    int64_t first = p.first_step_ns;
    ck_assert(first >= p.start_ns);
    cmi_progress_update(&p, 2, &two, false);
    ck_assert(p.first_step_ns == first);
    cmi_progress_begin(&p, 1, listen, said, 10);
    p.width = 3;
    p.last_draw_ns = cmi_now_ns() + 3600 * S;
    fresh();
    cmi_progress_update(&p, 1, &two, false);
    ck_assert_int_eq(drawings, 0);
    ck_assert(p.first_step_ns >= p.start_ns);
}
END_TEST

START_TEST(abandon_ends_the_line)
{
    cmi_progress p;

    cmi_progress_begin(&p, 1, listen, said, 10);
    cmi_progress_update(&p, 1, &two, false);
    fresh();
    cmi_progress_abandon(&p);
    ck_assert_str_eq(said, "\n");
    cmi_progress_abandon(&p);
    ck_assert_str_eq(said, "\n");
    cmi_progress_update(NULL, 1, &two, true);
    cmi_progress_abandon(NULL);
}
END_TEST

START_TEST(verbose_0_and_2)
{
    cmi_progress p;

    for (int verbose = 0; verbose <= 2; verbose += 2) {
        cmi_progress_begin(&p, verbose, listen, said, 3);
        for (int step = 1; step <= 3; step++)
            cmi_progress_update(&p, step, &two, false);
        ck_assert_int_eq(p.seen, 3);
        cmi_progress_abandon(&p);
        ck_assert_int_eq(drawings, 0);
        cmi_progress_update(&p, 3, &two, true);
        ck_assert_int_eq(drawings, verbose / 2);
    }
    ck_assert_int_eq(strncmp(said, "3/3 - ", 6), 0);
    ck_assert_ptr_null(strchr(said, '\x1b'));
    ck_assert_ptr_nonnull(strstr(said, "/step - accuracy: 0.2000 - loss: 0.2500\n"));
}
END_TEST

/* ---- the character of the bar ---- */

static const struct {
    const char *all, *ctype, *lang; /* NULL: not set */
    bool ascii;
} locales[] = {
    {NULL, NULL, NULL, false},
    {"", "", "", false},
    {NULL, NULL, "en_US.UTF-8", false},
    {NULL, NULL, "de_AT.utf8@euro", false},
    {NULL, NULL, "C.UTF-8", false},
    {NULL, NULL, "C", true},
    {NULL, NULL, "de_AT.ISO-8859-15", true},
    {NULL, "en_US.ISO-8859-1", "en_US.UTF-8", true},
    {NULL, "en_US.utf8", "C", false},
    {"C", "en_US.UTF-8", "en_US.UTF-8", true},
    {"C.utf8", "C", "C", false},
    {"", "", "POSIX", true},
};

static void set_variable(const char *name, const char *value)
{
    ck_assert_int_eq(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static char *copy_of(const char *name)
{
    const char *value = getenv(name);

    return value ? strdup(value) : NULL;
}

START_TEST(locale_of_the_environment)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *values[] = {locales[_i].all, locales[_i].ctype, locales[_i].lang};
    char *before[3];
    cmi_progress p;

    for (int i = 0; i < 3; i++) {
        before[i] = copy_of(names[i]);
        set_variable(names[i], values[i]);
    }
    cmi_progress_begin(&p, 1, listen, said, 10);
    for (int i = 0; i < 3; i++) {
        set_variable(names[i], before[i]);
        free(before[i]);
    }
    ck_assert_int_eq(p.ascii, locales[_i].ascii);
}
END_TEST

Suite *suite_progress(void)
{
    Suite *suite = suite_create("progress");
    TCase *tests = tcase_create("progress");
    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_test(tests, a_bar_while_running);
    tcase_add_test(tests, the_final_bar);
    tcase_add_test(tests, no_green_at_the_beginning_and_aligned_counts);
    tcase_add_test(tests, equals_signs_when_not_utf8);
    tcase_add_test(tests, drawing_over_the_last_one);
    tcase_add_loop_test(tests, times, 0, CM_TEST_COUNT(left_cases));
    tcase_add_test(tests, time_per_step);
    tcase_add_loop_test(tests, number_formats, 0, CM_TEST_COUNT(numbers));
    tcase_add_test(tests, values_in_their_order);
    tcase_add_test(tests, what_does_not_fit_is_left_out_whole);
    tcase_add_test(tests, not_more_often_than_every_50_ms);
    tcase_add_test(tests, the_end_of_step_1_is_remembered);
    tcase_add_test(tests, abandon_ends_the_line);
    tcase_add_test(tests, verbose_0_and_2);
    tcase_add_loop_test(tests, locale_of_the_environment, 0, CM_TEST_COUNT(locales));
    suite_add_tcase(suite, tests);
    return suite;
}
