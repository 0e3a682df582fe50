/* suites.h - the suites of tests/train, one per file. */
#ifndef TEST_TRAIN_SUITES_H
#define TEST_TRAIN_SUITES_H

#include <check.h>

Suite *suite_progress(void);
Suite *suite_equality(void);
Suite *suite_bits(void);
Suite *suite_cases(void);
Suite *suite_cases_rest(void);
Suite *suite_seed(void);
Suite *suite_callbacks(void);
Suite *suite_fit(void);
Suite *suite_scope(void);
Suite *suite_life(void);
Suite *suite_refuse(void);
Suite *suite_data(void);
Suite *suite_numbers(void);

/* child.c: this program again, in another environment, running one of the parts below. */

typedef struct child_result {
    int status;      /* exit status, 128 + signal when it was killed */
    char text[8192]; /* what it wrote to standard output and error */
} child_result;

/* `environment` is a list of VARIABLE=value for env(1). */
const child_result *child_run(const char *environment, const char *part);
/* In main(): runs the part that --child names; true when it did. */
int child_main(int argc, char **argv, int *status);

/* Parts, each in the file of its test; the value is the exit status. */
int child_exit_alive(void); /* test_life.c */
int child_exit_callback(void);
int child_gpu_names(void); /* test_seed.c */
int child_too_large(void); /* test_refuse.c */

#endif
