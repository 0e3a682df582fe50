/* test_exit.c - how a process ends: without destroy, from a callback, while workers run, with a
 * thread stuck in a driver, in the child of a fork (cases B11, D04, D08).
 *
 * Each case is a process of its own: this program again, with "--child MODE" (exit_child, called by
 * main). */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fault/trial.h"
#include "fault/suites.h"

extern char **environ;

/* ---- in the child ---- */

static void leave(void *user, int64_t batch)
{
    (void)user;
    if (batch == 1) exit(0);
}

static void leave_after_epoch(void *user, int epoch, const cm_logs *logs)
{
    (void)user;
    (void)epoch;
    (void)logs;
    exit(0);
}

static int train_for_ever(trial *r, const cm_callbacks *callbacks)
{
    static float x[4096 * 8];
    static int32_t y[4096];
    cm_data data = {.x = CM_FLOAT32(x, 4096, 8), .y = CM_INT32(y, 4096)};
    cm_fit_options options = {
        .epochs = 100000, .callbacks = callbacks, .callbacks_count = callbacks != NULL};

    return (int)cm_model_fit(r->model, &data, &options, NULL);
}

static void *train_in_thread(void *argument)
{
    (void)train_for_ever(argument, NULL);
    for (;;)
        pause(); /* what a program does after its fit was cut off is its own business */
    return NULL;
}

static void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, cm_last_message());
    _exit(3);
}

/* rules NULL: none are set. */
static void exit_while_running(trial *r, const char *rules)
{
    pthread_t thread;
    int64_t before = cm_model_replica_rows(r->model, 1);

    if (pthread_create(&thread, NULL, train_in_thread, r)) give_up("pthread_create");
    while (cm_model_replica_rows(r->model, 1) < before + 64)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (rules && fault_layer_set(rules)) give_up("rules");
    if (rules) nanosleep(&(struct timespec){0, 100000000}, NULL);
    exit(0);
}

int exit_child(const char *mode)
{
    cm_callbacks in_batch = {.batch_begin = leave}, in_epoch = {.epoch_end = leave_after_epoch};
    static trial r;

    if (trial_open(&r, NULL, "timeout_ms=500")) give_up("trial_open");
    if (trial_fit(&r)) give_up("fit");
    if (!strcmp(mode, "return")) return 0;
    if (!strcmp(mode, "batch")) return train_for_ever(&r, &in_batch);
    if (!strcmp(mode, "epoch")) return train_for_ever(&r, &in_epoch);
    if (!strcmp(mode, "running")) exit_while_running(&r, NULL);
    trial_quiet();
    if (!strcmp(mode, "hanging")) exit_while_running(&r, "clEnqueueNDRangeKernel@1 -> hang");
    if (fault_layer_set(strcmp(mode, "silent") ? "clEnqueueNDRangeKernel@1 -> hang"
                                               : "clGetEventInfo@1 -> hang"))
        give_up("rules");
    if (trial_fit(&r) != CM_E_TIMEOUT) give_up("fit with a hanging device");
    trial_close(&r);
    return 0;
}

/* ---- in the test ---- */

/* Runs this program; the exit status, -1 for a signal, -2 for longer than `seconds`.  *bytes: what
 * it printed. */
static int run(const char *mode, double seconds, long *bytes)
{
    char *arguments[] = {(char *)"test_fault", (char *)"--child", (char *)mode, NULL};
    posix_spawn_file_actions_t actions;
    FILE *output = tmpfile();
    pid_t child = 0;
    int state = 0;

    ck_assert_ptr_nonnull(output);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(output), 1);
    posix_spawn_file_actions_adddup2(&actions, fileno(output), 2);
    ck_assert_int_eq(posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    double end = trial_seconds() + seconds;
    while (waitpid(child, &state, WNOHANG) == 0) {
        if (trial_seconds() > end) {
            kill(child, SIGKILL);
            waitpid(child, &state, 0);
            fclose(output);
            return -2;
        }
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    fseek(output, 0, SEEK_END);
    *bytes = ftell(output);
    rewind(output);
    char text[512] = "";
    if (*bytes && fread(text, 1, sizeof text - 1, output))
        printf("child \"%s\" said: %s\n", mode, text);
    fclose(output);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

START_TEST(processes_end)
{
    static const struct {
        const char *mode, *gemm;
        int times;
    } cases[] = {{"return", "packed", 2}, {"return", "clblast", 2}, {"batch", "clblast", 2},
                 {"epoch", "packed", 2},  {"running", "packed", 6}, {"running", "clblast", 6},
                 {"hang", "packed", 1},   {"silent", "packed", 1},  {"hanging", "packed", 1}};

    for (int i = 0; i < cases[_i].times; i++) {
        long bytes = 0;
        setenv("CLMIRROR_GEMM", cases[_i].gemm, 1);
        int code = run(cases[_i].mode, 20, &bytes);
        unsetenv("CLMIRROR_GEMM");
        ck_assert_msg(code == 0,
                      "mode %s with %s, round %d: exit status %d (-1 a signal, -2 it hangs)",
                      cases[_i].mode, cases[_i].gemm, i, code);
        ck_assert_msg(bytes == 0, "mode %s: the child printed %ld bytes", cases[_i].mode, bytes);
    }
}
END_TEST

/* ---- D08 ---- */

static cm_status in_child[3];
static trial *forked;

/* What the child of a fork sees; its exit status. */
static int ask_in_child(void)
{
    float weights[TRIAL_WEIGHTS];
    cm_strategy *another = NULL;

    in_child[0] = trial_weights(forked, -1, weights);
    if (!cm_test_contains(cm_last_message(), "fork")) return 11;
    in_child[1] = trial_fit(forked);
    if (!in_child[1]) return 12;
    in_child[2] = cm_mirrored_strategy_create(NULL, NULL, &another);
    if (!cm_test_contains(cm_last_message(), "fork")) return 13;
    for (int i = 0; i < 3; i++)
        if (in_child[i] != CM_E_STATE) return 20 + i;
    return 0;
}

static int fork_and_ask(bool destroy)
{
    int state = 0;
    pid_t child = fork();

    if (!child) {
        alarm(5); /* in time, or killed */
        int code = ask_in_child();
        if (destroy) {
            trial_close(forked);
            exit(code); /* with the hooks of the library, too */
        }
        _exit(code);
    }
    waitpid(child, &state, 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

static int forked_in_callback;

static void fork_in_batch(void *user, int64_t batch)
{
    (void)user;
    if (batch == 1 && forked_in_callback < 0) forked_in_callback = fork_and_ask(false);
}

START_TEST(fork_after_start)
{
    trial_path path;
    trial r = {0};

    trial_quiet();
    trial_rules("%s", "");
    trial_record(NULL, NULL, &path);
    ck_assert_cm_ok(trial_open(&r, NULL, NULL));
    forked = &r;
    ck_assert_int_eq(fork_and_ask(false), 0);
    ck_assert_cm_ok(trial_step(&r, 0));
    ck_assert_int_eq(fork_and_ask(false), 0);
    for (int step = 1; step < TRIAL_STEPS; step++)
        ck_assert_cm_ok(trial_step(&r, step));
    ck_assert_int_eq(trial_same_step(&r, &path), TRIAL_STEPS);
    cm_callbacks callbacks = {.batch_begin = fork_in_batch};
    forked_in_callback = -1000;
    float x[64 * 8] = {0};
    int32_t y[64] = {0};
    cm_data data = {.x = CM_FLOAT32(x, 64, 8), .y = CM_INT32(y, 64)};
    ck_assert_cm_ok(cm_model_fit(
        r.model, &data,
        &(cm_fit_options){.callbacks = &callbacks, .callbacks_count = 1, .batch_size = 16}, NULL));
    ck_assert_int_eq(forked_in_callback, 0);
    ck_assert_int_eq(fork_and_ask(true), 0);
    ck_assert_cm_ok(trial_fit(&r));
    trial_close(&r);
}
END_TEST

Suite *suite_exit(void)
{
    Suite *suite = suite_create("exit");
    TCase *exits = tcase_create("exit"), *forks = tcase_create("fork");

    tcase_add_loop_test(exits, processes_end, 0, 9);
    suite_add_tcase(suite, exits);
    tcase_add_test(forks, fork_after_start);
    suite_add_tcase(suite, forks);
    return suite;
}
