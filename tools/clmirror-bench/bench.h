/* bench.h - what a bench is, and what the files of clmirror-bench share.
 *
 * A bench is a constant descriptor in its own file plus one line in registry.def.  It prepares a
 * list of cases; a case has one or more sides that are compared (ours, a reference).  main.c runs
 * the sides of a case in turn, repetition by repetition, so that what disturbs the machine
 * disturbs both; the first round warms up and is not timed.  Then the results are checked and the
 * case is reported.
 *
 * This program is linked with the static library and may use internal functions.  One thread. */
#ifndef CLMIRROR_BENCH_H
#define CLMIRROR_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <clmirror/clmirror.h>
#include <cjson/cJSON.h>
#include "base/error.h"

enum { BENCH_GOOD = 0, BENCH_FAILED = 1, BENCH_USAGE = 2 };
enum { BENCH_MAX_SIDES = 8, BENCH_MAX_REPEAT = 10000 };

/* An option of one bench, beside the common ones. */
typedef struct bench_option {
    const char *name;     /* "shapes" */
    const char *argument; /* "M,N,K[,op]"; NULL: a flag */
    const char *help;     /* lines separated by \n */
    bool many;            /* words that follow belong to it too */
} bench_option;

typedef struct bench_options {
    const char *devices, *json; /* NULL: default selection, no file */
    int repeat;
} bench_options;

/* Seconds of the timed repetitions of one side. */
typedef struct bench_stats {
    double min, median, p95;
} bench_stats;

typedef struct bench_run {
    bench_options options;
    int cases, sides; /* set by prepare; `begin` may lower the sides of a case */
    bool failed;      /* set when something went wrong, after a message, that is no single result */
    cJSON *rows;      /* of the JSON file; NULL: no file is wanted */
} bench_run;

typedef struct bench_descriptor {
    const char *name, *doc;
    const char *help;            /* what is measured and how, for --help */
    const bench_option *options; /* ends with a NULL name */
    /* Takes one of its options; false after a message: wrong usage. */
    bool (*option)(const char *name, const char *value);
    /* Opens the devices, makes what all cases share.  Returns an exit status, after a message. */
    int (*prepare)(bench_run *run);
    /* Makes the operands of a case. */
    cm_status (*begin)(bench_run *run, int k);
    /* One repetition of one side, and its seconds. */
    cm_status (*run)(bench_run *run, int k, int side, double *seconds);
    /* Whether the results of a case are right; says what is wrong. */
    bool (*check)(bench_run *run, int k);
    /* A line of the table and a row of the file. */
    void (*report)(bench_run *run, int k, const bench_stats stats[]);
    void (*close)(bench_run *run); /* closing lines; `run->cases` were reported */
    void (*release)(void);         /* also after a failure */
} bench_descriptor;

/* ---- options.c ---- */

/* Reads what follows the bench's name; returns -1 to go on, else the exit status. */
int bench_read_options(const bench_descriptor *bench, int argc, char **argv,
                       bench_options *options);
/* A whole number of min ... max at the beginning of a text; *end is set behind it. */
bool bench_parse_whole(const char *text, long min, long max, long *value, const char **end);

/* ---- report.c ---- */

/* Sorts the seconds. */
bench_stats bench_stats_of(double *seconds, int count);
/* "12.3 us" in 9 characters. */
const char *bench_time_text(double seconds, char *text, size_t bytes);
/* A new row {"bench": name}, NULL when no file is wanted; cJSON accepts the NULL. */
cJSON *bench_row(bench_run *run, const char *name);
/* One row a line; false after a message.  `try_only`: finds out whether the file can be written,
 * and leaves it alone. */
bool bench_write_rows(const char *path, const cJSON *rows, bool try_only);

#endif
