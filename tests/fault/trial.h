/* trial.h - a small training for the fault tests: strategy, model M1, data, and the weights after
 * every step.
 *
 * A test breaks something while the trial trains and then asks three questions: does the error say
 * what happened, do the replicas hold the parameters of a completed step, and is everything
 * released.  The second needs the weights of a clean run after each step: a path.  All functions
 * are called on the main thread; statuses are returned where a test expects a failure, the rest
 * asserts. */
#ifndef TESTS_FAULT_TRIAL_H
#define TESTS_FAULT_TRIAL_H

#include <clmirror/clmirror.h>
#include "fault/layer.h"
#include "support/cm_test.h"

/* 40 rows in batches of 16: steps of 16, 16 and 8 rows, two epochs. */
enum {
    TRIAL_ROWS = 40,
    TRIAL_BATCH = 16,
    TRIAL_STEPS = 6,
    TRIAL_TENSORS = 4,
    TRIAL_WEIGHTS = 8 * 16 + 16 + 16 * 4 + 4
};

typedef struct trial {
    cm_strategy *strategy;
    cm_model *model;
    const char *optimizer; /* NULL: sgd learning_rate=0.1 momentum=0.9 */
    int break_at; /* step before which `rules` are set, from a callback; rules NULL: never */
    const char *rules;
    int64_t steps_begun;
} trial;

typedef struct trial_path {
    float at[TRIAL_STEPS + 1][TRIAL_WEIGHTS];
} trial_path;

/* Strategy (unless there is one), model, build, starting weights.  After a failure the trial holds
 * what was made; close it all the same. */
cm_status trial_open(trial *r, const char *devices, const char *options);
/* Two epochs in order. */
cm_status trial_fit(trial *r);
/* The rows of one step of the path; its last steps are shorter. */
cm_status trial_step(trial *r, int step);
/* evaluate, predict, summary. */
cm_status trial_look(trial *r);
void trial_close(trial *r);

/* Weights of a replica; -1: as cm_model_get_weight. */
cm_status trial_weights(trial *r, int replica, float *out);
/* A clean run on these devices. */
void trial_record(const char *devices, const char *options, trial_path *path);
/* Number of completed steps after which the weights were these, bit by bit; -1: never. */
int trial_find(const trial_path *path, const float *weights);
/* All replicas hold the weights of one completed step, whose number is returned. */
int trial_same_step(trial *r, const trial_path *path);

/* What must be as before when a trial is closed: objects of OpenCL, blocks of host memory. */
typedef struct trial_level {
    long objects;
    uint64_t blocks;
} trial_level;
trial_level trial_now(void);
void trial_released(trial_level before, const char *what);

/* Sets rules; a malformed one fails the test. */
void trial_rules(const char *fmt, ...) CM_PRINTF(1, 2);
/* Rules that fired so far. */
long trial_fired(void);
double trial_seconds(void);
/* First error line that the log got, or "": warnings do not reach the terminal. */
void trial_quiet(void);

#endif
