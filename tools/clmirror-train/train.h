/* train.h - what the files of clmirror-train share.  The program uses the library's public headers
 * only.
 *
 * main.c tells the story; options.c reads the command line; stop.c ends a run on Ctrl-C; results.c
 * writes the history file and the JSON line.  Everything but the wait for signals runs on the main
 * thread. */
#ifndef CLMIRROR_TRAIN_H
#define CLMIRROR_TRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <clmirror/clmirror.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum { TRAIN_MAX_CLASSES = 1024 };

typedef struct train_options {
    const char *data, *model, *optimizer, *loss, *metrics; /* metrics NULL: none */
    const char *devices, *strategy;                        /* NULL: the library's defaults */
    const char *validation_data; /* NULL: the set that belongs to the data; "none" */
    double validation_split;
    int64_t batch_size;
    int epochs; /* 0: build the model, train nothing */
    bool has_seed;
    uint64_t seed;
    bool no_shuffle, stop_on_nan, json, summary;
    int verbose;
    const char *history; /* file; NULL: none */
    double class_weight[TRAIN_MAX_CLASSES];
    int class_weight_count;
} train_options;

/* Returns -1 to go on, else the exit status; `model_file` gets the memory of --model @FILE, to be
 * freed. */
int train_read_options(int argc, char **argv, train_options *options, char **model_file);

/* ---- stop.c ---- */

/* From now on the first SIGINT or SIGTERM asks for an end, a second ends the process at once.  To
 * be called while there is one thread.  0, or 1 after a message. */
int train_catch_signals(void);
/* The model that a signal stops; NULL: none any more. */
void train_stop_is_for(cm_model *model);
/* Exit status 130 or 143 after a signal, else 0. */
int train_stopped(void);
/* A file that a second signal removes; NULL: none any more.  The text must stay where it is. */
void train_temporary_is(const char *path);

/* ---- results.c ---- */

/* What a run was, for the JSON line. */
typedef struct train_results {
    const cm_strategy *strategy;
    const cm_model *model;
    const cm_history *history;
    double samples_per_second; /* NAN: no epoch was completed */
    bool stopped;
} train_results;

typedef struct train_history_file {
    char *path,
        *temporary; /* of the file that is replaced in the end, and of its first form beside it */
} train_history_file;

/* Finds out before the training whether the file can be written: 0, or 1 after a message.  `path`
 * NULL: nothing. */
int train_history_open(train_history_file *file, const char *path);
/* Replaces the file; the old one stays whole when that fails (1, after a message). */
int train_history_write(const train_history_file *file, const cm_history *history);
void train_history_close(train_history_file *file);

/* One line on standard output: 0, or 1 after a message. */
int train_print_json(const train_results *results);
/* The accuracy among the training's columns ("accuracy", "acc", ..._accuracy); NULL when there is
 * none. */
const char *train_accuracy_name(const cm_history *history);

#endif
