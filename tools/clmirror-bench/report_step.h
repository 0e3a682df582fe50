/* report_step.h - how `clmirror-bench step` shows what it found: sides, their rows, and where the
 * time of a step goes.
 *
 * Apart from bench_step.c so that the training and its check can be read alone. */
#ifndef CLMIRROR_BENCH_REPORT_STEP_H
#define CLMIRROR_BENCH_REPORT_STEP_H

#include "bench.h"
#include "train/train.h"

enum { STEP_SIDES = 2 };

typedef struct step_side {
    const char *devices, *strategy; /* NULL: default */
    int replicas;
    char *names[CM_MAX_DEVICES];
    int runs; /* 0: the next is the one that is not timed */
    double first_epoch_s, peak_mb;
    double first_loss, early_loss,
        last_loss; /* after the first, after CHECK_EPOCHS, after all epochs */
} step_side;

/* "all, update=sharded"; the text is good until the second next call. */
const char *step_side_text(const step_side *side);
/* What the sides are, and the head of the table. */
void step_print_head(const step_side sides[], int count);
/* A line of the table and a row of the file; `batch` is the mean size of a batch. */
void step_report_side(bench_run *run, const char *name, const step_side *side,
                      const bench_stats *stats, double batch);
/* Where the time of a step goes: a line and a row for each replica's entry. */
void step_report_profile(bench_run *run, const char *name, const step_side *side,
                         const cmi_profile *profile);
/* Largest resident memory of this process so far, in units of 2^20 bytes; 0 where the system does
 * not say. */
double step_peak_mb(void);

#endif
