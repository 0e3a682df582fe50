/* main.c - clmirror-train: a model as a text and a data set become a training.
 *
 * The stages of a run, in order: options, is the history writable, data, strategy, model, fit,
 * results.  Each returns 0 or the exit status, after a message.  A signal ends the run after the
 * stage it came in; inside fit, after the present step.
 *
 * What is printed for people goes to one stream, standard output, or standard error with --json,
 * so that standard output then carries the JSON line alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "train.h"

typedef struct session {
    train_options options;
    FILE *out; /* for people */
    cm_dataset *dataset, *validation_set;
    cm_data data, validation;
    cm_strategy *strategy;
    cm_model *model;
    cm_history *history;
    double epoch_start, first_seconds, later_seconds;
    int epochs_timed;
} session;

/* Says what the library said.  `asked` marks stages that read texts of the command line: what is
 * wrong there is the user's to mend. */
static int failed(cm_status status, const char *option, bool asked)
{
    fflush(stdout);
    fprintf(stderr, "clmirror-train: %s%s%s\n", option, option[0] ? ": " : "", cm_last_message());
    if (status == CM_E_NO_DEVICE) return EXIT_USAGE;
    return asked && (status == CM_E_INVALID || status == CM_E_NOT_FOUND) ? EXIT_USAGE : EXIT_FAILED;
}

static void print(void *user, const char *text)
{
    fputs(text, user);
    fflush(user);
}

/* ---- stages ---- */

static int open_data(session *s)
{
    char belonging[1024] = "";
    const char *source = s->options.validation_data;
    cm_status status = cm_dataset_open(s->options.data, &s->dataset);
    if (status) return failed(status, "--data", true);
    s->data = cm_dataset_data(s->dataset);
    if (!source && s->options.validation_split == 0) {
        cm_dataset_validation_source(s->options.data, belonging, sizeof belonging);
        source = belonging;
    }
    if (!source || !source[0] || strcmp(source, "none") == 0) return 0;
    status = cm_dataset_open(source, &s->validation_set);
    if (status) return failed(status, "--validation-data", true);
    s->validation = cm_dataset_data(s->validation_set);
    return 0;
}

static int open_devices(session *s)
{
    cm_status status =
        cm_mirrored_strategy_create(s->options.devices, s->options.strategy, &s->strategy);
    if (status) return failed(status, "", true);
    if (s->options.verbose == 0) return 0;
    int replicas = cm_strategy_replicas(s->strategy);
    fprintf(s->out, "Training on %d device%s: ", replicas, replicas == 1 ? "" : "s");
    for (int r = 0; r < replicas; r++)
        fprintf(s->out, "%s%s", r ? ", " : "", cm_strategy_device_name(s->strategy, r));
    fputs("\n", s->out);
    fflush(s->out);
    return 0;
}

static int make_model(session *s)
{
    cm_status status = cm_strategy_scope_begin(s->strategy);
    if (!status) status = cm_sequential_create(NULL, &s->model);
    if (!status && s->options.has_seed) status = cm_model_set_seed(s->model, s->options.seed);
    if (status) return failed(status, "", false);
    status = cm_model_add(s->model, "%s", s->options.model);
    if (status) return failed(status, "--model", true);
    const cm_compile_options compile = {
        .optimizer = s->options.optimizer, .loss = s->options.loss, .metrics = s->options.metrics};
    status = cm_model_compile(s->model, &compile);
    if (status) return failed(status, "", true);
    status = cm_strategy_scope_end(s->strategy);
    return status ? failed(status, "", false) : 0;
}

static int show_summary(session *s)
{
    if (!s->options.summary) return 0;
    cm_status status = cm_model_build(s->model, s->data.x.shape + 1, s->data.x.rank - 1);
    if (!status) status = cm_model_summary(s->model, print, s->out);
    return status ? failed(status, "--summary", false) : 0;
}

/* ---- fit ---- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* fit has just cleared the flag that a signal before it may have set. */
static void on_train_begin(void *user)
{
    session *s = user;
    if (train_stopped()) cm_model_stop(s->model);
}

static void on_epoch_begin(void *user, int epoch)
{
    session *s = user;
    (void)epoch;
    s->epoch_start = now();
}

static void on_epoch_end(void *user, int epoch, const cm_logs *logs)
{
    session *s = user;
    double seconds = now() - s->epoch_start;
    (void)epoch;
    (void)logs;
    if (s->epochs_timed++ == 0)
        s->first_seconds = seconds;
    else
        s->later_seconds += seconds;
}

static double samples_per_second(const session *s)
{
    double rows = (double)s->data.x.shape[0];
    if (!s->validation.x.data && s->options.validation_split > 0)
        rows = floor(rows * (1.0 - s->options.validation_split));
    if (s->epochs_timed > 1) return rows * (s->epochs_timed - 1) / s->later_seconds;
    return s->epochs_timed ? rows / s->first_seconds : (double)NAN;
}

static int train(session *s)
{
    const train_options *o = &s->options;
    const cm_callbacks callbacks = {.user = s,
                                    .train_begin = on_train_begin,
                                    .epoch_begin = on_epoch_begin,
                                    .epoch_end = on_epoch_end};
    const cm_fit_options fit = {
        .epochs = o->epochs ? o->epochs : CM_EPOCHS_NONE,
        .batch_size = o->batch_size,
        .no_shuffle = o->no_shuffle,
        .validation_split = o->validation_split,
        .validation_data = s->validation.x.data ? &s->validation : NULL,
        .class_weight = o->class_weight_count ? o->class_weight : NULL,
        .class_weight_count = o->class_weight_count,
        .verbose = o->verbose,
        .stop_on_nan = o->stop_on_nan,
        .callbacks = &callbacks,
        .callbacks_count = 1,
        .output = print,
        .output_user = s->out,
    };
    train_stop_is_for(s->model);
    cm_status status = cm_model_fit(s->model, &s->data, &fit, &s->history);
    train_stop_is_for(NULL);
    return status ? failed(status, "", false) : 0;
}

/* ---- results ---- */

static int show_results(session *s)
{
    const char *accuracy = train_accuracy_name(s->history);
    const train_results results = {s->strategy, s->model, s->history, samples_per_second(s),
                                   train_stopped() != 0};
    if (s->options.verbose && cm_history_epochs(s->history) > 0)
        fprintf(s->out, "Final training %s: %.4f\n", accuracy ? "accuracy" : "loss",
                cm_history_last(s->history, accuracy ? accuracy : "loss"));
    if (train_stopped()) {
        fflush(stdout);
        fprintf(stderr, "clmirror-train: ended by signal %d; %d of %d epochs completed\n",
                train_stopped() - 128, cm_history_epochs(s->history), s->options.epochs);
    }
    return s->options.json ? train_print_json(&results) : 0;
}

/* Every stage in turn until one fails or a signal came. */
static int run(session *s)
{
    static int (*const stages[])(session *) = {open_data, open_devices, make_model, show_summary,
                                               train};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        if (train_stopped()) return train_stopped();
        int status = stages[i](s);
        if (status) return status;
    }
    return 0;
}

int main(int argc, char **argv)
{
    static session s;
    train_history_file file = {NULL, NULL};
    char *model_file = NULL;
    int status = train_read_options(argc, argv, &s.options, &model_file);
    if (status >= 0) goto done;
    s.out = s.options.json ? stderr : stdout;
    status = train_catch_signals();
    if (!status) status = train_history_open(&file, s.options.history);
    if (!status) status = run(&s);
    if (s.history) { /* fit was reached: completed epochs are kept, whatever ended it */
        int written = train_history_write(&file, s.history);
        if (!status) status = show_results(&s);
        if (!status) status = train_stopped();
        if (!status) status = written;
    }
done:
    cm_history_destroy(s.history);
    cm_model_destroy(s.model);
    cm_strategy_destroy(s.strategy);
    cm_dataset_destroy(s.validation_set);
    cm_dataset_destroy(s.dataset);
    train_history_close(&file);
    free(model_file);
    if (fflush(stdout) || ferror(stdout)) {
        fputs("clmirror-train: cannot write standard output\n", stderr);
        if (!status) status = EXIT_FAILED;
    }
    return status;
}
