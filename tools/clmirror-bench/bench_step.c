/* bench_step.c - what a training step costs, seen from outside: cm_model_fit as a user calls it.
 *
 * Two trainings that other frameworks can run too (tools/bench-peers): "seed", so small that a step
 * is nearly all overhead, and "mlp", where arithmetic and memory count.  Shuffling, the gathering
 * of batches on the host, loss and accuracy are on.  One repetition is a new strategy and a new
 * model trained for some epochs; its figure is the median epoch after the first, per step.  The
 * round of the frame that is not timed is a short training, and the first of the process: the time
 * of a first epoch, kernels included, comes from it.
 *
 * A side is a selection of devices with strategy options; with --against there are two, and only
 * their ratio means something on a noisy machine.
 *
 * Results: every training must end with a finite loss, below that of its first epoch, and after
 * CHECK_EPOCHS epochs stand near that of one device, trained for these epochs only, once, after the
 * timed part, from the same seed.  Replicas add the same numbers in another order: for "seed" that
 * changes the loss by a billionth and 1 in 10,000 is allowed, since its labels are random and a
 * replica that is left out changes it by less than a hundredth; "mlp" is far from flat, other
 * roundings lead elsewhere (0.3 % seen), and 5 % are allowed. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "bench.h"
#include "report_step.h"

enum { CHECK_EPOCHS = 2, MIN_EPOCHS = 5, MAX_EPOCHS = 10000, SEED = 1 };

typedef struct training {
    const char *name, *layers, *source;
    int64_t batch;
    int epochs;       /* by default */
    double tolerance; /* of the loss on one device */
} training;

static const training trainings[] = {
    {"seed", "dense units=64 activation=relu; dense units=2 activation=softmax", "random:1000x20,2",
     32, 20, 1e-4},
    {"mlp",
     "flatten; dense units=512 activation=relu; dense units=512 activation=relu; dense units=10 "
     "activation=softmax",
     "fashion-mnist", 256, 6, 0.05},
};

/* What one training leaves. */
typedef struct record {
    int epochs;
    double *epoch_s, *losses; /* [epochs] */
    double first_epoch_s;     /* from the call of fit */
    int64_t fit_ns, epoch_ns; /* when the call and the present epoch began */
} record;

static struct {
    const training *training;
    int epochs; /* 0: the training's */
    int64_t samples;
    bool profile;
    cm_dataset *dataset;
    cm_data data;
    int64_t steps;
    step_side sides[STEP_SIDES];
    char one_device[32]; /* selects the first device of the first side */
    record record;
} state;

/* ---- options ---- */

static bool take_case(const char *value)
{
    for (size_t i = 0; i < sizeof trainings / sizeof trainings[0]; i++)
        if (strcmp(value, trainings[i].name) == 0) {
            state.training = &trainings[i];
            return true;
        }
    fprintf(stderr, "clmirror-bench: --case \"%s\": %s\n", value,
            strcmp(value, "cnn") == 0 ? "not yet: no convolution" : "seed or mlp expected");
    return false;
}

static bool take_whole(const char *name, const char *value, long min, long max, long *out)
{
    const char *end;
    if (bench_parse_whole(value, min, max, out, &end) && !*end) return true;
    fprintf(stderr, "clmirror-bench: --%s \"%s\": a whole number from %ld to %ld expected\n", name,
            value, min, max);
    return false;
}

static bool option(const char *name, const char *value)
{
    long number = 0;
    if (strcmp(name, "case") == 0) return take_case(value);
    if (strcmp(name, "profile") == 0) return state.profile = true;
    if (strcmp(name, "strategy") == 0) return state.sides[0].strategy = value, true;
    if (strcmp(name, "against") == 0) return state.sides[1].devices = value, true;
    if (strcmp(name, "against-strategy") == 0) return state.sides[1].strategy = value, true;
    bool epochs = strcmp(name, "epochs") == 0;
    if (!take_whole(name, value, epochs ? MIN_EPOCHS : 1, epochs ? MAX_EPOCHS : INT32_MAX, &number))
        return false;
    if (epochs)
        state.epochs = (int)number;
    else
        state.samples = number;
    return true;
}

/* ---- a training ---- */

static void on_epoch_begin(void *user, int epoch)
{
    record *r = user;
    (void)epoch;
    r->epoch_ns = cmi_now_ns();
}

static void on_epoch_end(void *user, int epoch, const cm_logs *logs)
{
    record *r = user;
    int64_t now = cmi_now_ns();
    r->epoch_s[epoch] = 1e-9 * (double)(now - r->epoch_ns);
    r->losses[epoch] = cm_logs_get(logs, "loss");
    if (epoch == 0) r->first_epoch_s = 1e-9 * (double)(now - r->fit_ns);
}

static cm_status build(const char *devices, const char *options, cm_strategy **strategy,
                       cm_model **model)
{
    CM_TRY(cm_mirrored_strategy_create(devices, options, strategy));
    CM_TRY(cm_strategy_scope_begin(*strategy));
    CM_TRY(cm_sequential_create(NULL, model));
    CM_TRY(cm_model_set_seed(*model, SEED));
    CM_TRY(cm_model_add(*model, "%s", state.training->layers));
    CM_TRY(cm_model_compile(*model, &(cm_compile_options){.optimizer = "adam",
                                                          .loss = "sparse_categorical_crossentropy",
                                                          .metrics = "accuracy"}));
    return cm_strategy_scope_end(*strategy);
}

/* The training from nothing, into state.record. */
static cm_status train(const char *devices, const char *options, int epochs)
{
    record *r = &state.record;
    cm_strategy *strategy = NULL;
    cm_model *model = NULL;
    const cm_callbacks callbacks = {
        .user = r, .epoch_begin = on_epoch_begin, .epoch_end = on_epoch_end};
    const cm_fit_options fit = {.epochs = epochs,
                                .batch_size = state.training->batch,
                                .callbacks = &callbacks,
                                .callbacks_count = 1};
    r->epochs = epochs;
    cm_status status = build(devices, options, &strategy, &model);
    r->fit_ns = cmi_now_ns();
    if (!status) status = cm_model_fit(model, &state.data, &fit, NULL);
    cm_model_destroy(model);
    cm_strategy_destroy(strategy);
    return status;
}

/* Apart from what is timed, since the waits between stages cost time.  The first epoch, in which
 * kernels are built, does not count. */
static cm_status profile_side(bench_run *run, const step_side *side)
{
    cm_strategy *strategy = NULL;
    cm_model *model = NULL;
    cm_fit_options fit = {.epochs = 1, .batch_size = state.training->batch};
    cm_status status = build(side->devices, side->strategy, &strategy, &model);
    if (!status) status = cm_model_fit(model, &state.data, &fit, NULL);
    if (!status) status = cmi_model_profile(model);
    fit.epochs = state.epochs - 1;
    if (!status) status = cm_model_fit(model, &state.data, &fit, NULL);
    if (!status) step_report_profile(run, state.training->name, side, model->profile);
    cm_model_destroy(model);
    cm_strategy_destroy(strategy);
    return status;
}

/* ---- prepare ---- */

static bool open_data(void)
{
    char source[4096];
    const char *folder = getenv("FASHION_MNIST");
    bool other = folder && folder[0] && strcmp(state.training->source, "fashion-mnist") == 0;
    snprintf(source, sizeof source, "%s%s%s", state.training->source, other ? "=" : "",
             other ? folder : "");
    if (cm_dataset_open(source, &state.dataset)) {
        fprintf(stderr, "clmirror-bench: %s\n", cm_last_message());
        return false;
    }
    state.data = cm_dataset_data(state.dataset);
    if (state.samples) state.data = cm_data_slice(&state.data, 0, state.samples);
    state.samples = state.data.x.shape[0];
    state.steps = (state.samples + state.training->batch - 1) / state.training->batch;
    return true;
}

/* Opens the devices of a side once, to learn what they are, and that the words are right. */
static int prepare_side(step_side *side)
{
    cm_strategy *strategy = NULL;
    cm_status status = cm_mirrored_strategy_create(side->devices, side->strategy, &strategy);
    side->replicas = status ? 0 : cm_strategy_replicas(strategy);
    for (int i = 0; i < side->replicas && !status; i++)
        status = cmi_strdup(cm_strategy_device_name(strategy, i), &side->names[i]);
    if (!status && side == state.sides) {
        const cm_device_info *info = cm_strategy_device_info(strategy, 0);
        snprintf(state.one_device, sizeof state.one_device, "%d.%d", info->platform, info->device);
    }
    cm_strategy_destroy(strategy);
    if (!status) return BENCH_GOOD;
    fprintf(stderr, "clmirror-bench: %s\n", cm_last_message());
    return status == CM_E_NO_DEVICE || status == CM_E_INVALID ? BENCH_USAGE : BENCH_FAILED;
}

static int prepare(bench_run *run)
{
    step_side *sides = state.sides;
    if (!state.training) state.training = &trainings[0];
    if (!state.epochs) state.epochs = state.training->epochs;
    if (!open_data()) return BENCH_USAGE;
    sides[0].devices = run->options.devices;
    run->cases = 1;
    run->sides = sides[1].devices || sides[1].strategy ? 2 : 1;
    /* What is not said of the second side is as in the first. */
    if (!sides[1].devices) sides[1].devices = sides[0].devices;
    if (!sides[1].strategy) sides[1].strategy = sides[0].strategy;
    for (int i = 0; i < run->sides; i++) {
        int status = prepare_side(&sides[i]);
        if (status) return status;
    }
    if (CMI_NEW(state.epochs, &state.record.epoch_s) || CMI_NEW(state.epochs, &state.record.losses))
        return BENCH_FAILED;
    printf("%s: %lld samples, batch %lld, %lld steps an epoch, %d epochs, %d repetition%s%s\n",
           state.training->name, (long long)state.samples, (long long)state.training->batch,
           (long long)state.steps, state.epochs, run->options.repeat,
           run->options.repeat == 1 ? "" : "s", run->sides > 1 ? ", alternated" : "");
    step_print_head(sides, run->sides);
    return BENCH_GOOD;
}

/* ---- run ---- */

static cm_status begin(bench_run *run, int k)
{
    (void)k;
    for (int i = 0; i < run->sides; i++)
        state.sides[i].runs = 0;
    return CM_OK;
}

static cm_status measure(bench_run *run, int k, int side_index, double *seconds)
{
    step_side *side = &state.sides[side_index];
    record *r = &state.record;
    bool warm_up = side->runs++ == 0;
    (void)run, (void)k;
    CM_TRY(train(side->devices, side->strategy, warm_up ? CHECK_EPOCHS : state.epochs));
    if (warm_up) {
        side->first_epoch_s = r->first_epoch_s;
        side->first_loss = r->losses[0];
        return CM_OK;
    }
    side->early_loss = r->losses[CHECK_EPOCHS - 1];
    side->last_loss = r->losses[r->epochs - 1];
    side->peak_mb = step_peak_mb();
    *seconds = bench_stats_of(r->epoch_s + 1, r->epochs - 1).median / (double)state.steps;
    return CM_OK;
}

/* ---- check ---- */

static bool check_side(const step_side *side, double expected)
{
    double distance = fabs(side->early_loss - expected);
    const char *who = step_side_text(side);
    if (!isfinite(side->last_loss)) {
        fprintf(stderr, "clmirror-bench: step on %s: the loss is %g\n", who, side->last_loss);
    } else if (!(side->last_loss < side->first_loss)) {
        fprintf(stderr,
                "clmirror-bench: step on %s: the loss is %.6g after %d epochs and was %.6g after "
                "the first\n",
                who, side->last_loss, state.epochs, side->first_loss);
    } else if (!(distance <= state.training->tolerance * fabs(expected))) {
        fprintf(stderr,
                "clmirror-bench: step on %s: the loss after %d epochs is %.6g, on one device "
                "%.6g\n",
                who, CHECK_EPOCHS, side->early_loss, expected);
    } else {
        return true;
    }
    return false;
}

static bool check(bench_run *run, int k)
{
    bool good = true;
    (void)k;
    if (train(state.one_device, NULL, CHECK_EPOCHS)) {
        fprintf(stderr, "clmirror-bench: one device: %s\n", cm_last_message());
        return false;
    }
    for (int i = 0; i < run->sides; i++)
        good &= check_side(&state.sides[i], state.record.losses[CHECK_EPOCHS - 1]);
    return good;
}

/* ---- report ---- */

static void report_ratio(bench_run *run, const bench_stats stats[])
{
    double ratio = stats[1].median / stats[0].median;
    printf("\nratio of the medians: %s runs %.3f times as many steps as %s\n",
           step_side_text(&state.sides[0]), ratio, step_side_text(&state.sides[1]));
    cJSON *row = bench_row(run, "step");
    cJSON_AddStringToObject(row, "case", state.training->name);
    cJSON_AddNumberToObject(row, "ratio", ratio);
}

static void report(bench_run *run, int k, const bench_stats stats[])
{
    (void)k;
    for (int i = 0; i < run->sides; i++)
        step_report_side(run, state.training->name, &state.sides[i], &stats[i],
                         (double)state.samples / (double)state.steps);
    if (run->sides > 1) report_ratio(run, stats);
    for (int i = 0; state.profile && i < run->sides; i++) {
        if (!profile_side(run, &state.sides[i])) continue;
        fflush(stdout);
        fprintf(stderr, "clmirror-bench: profile: %s\n", cm_last_message());
        run->failed = true;
    }
}

static void close_table(bench_run *run)
{
    (void)run;
}

static void release(void)
{
    for (int i = 0; i < STEP_SIDES; i++)
        for (int d = 0; d < state.sides[i].replicas; d++)
            cmi_free(state.sides[i].names[d]);
    cmi_free(state.record.epoch_s);
    cmi_free(state.record.losses);
    cm_dataset_destroy(state.dataset);
}

static const bench_option options[] = {
    {"case", "NAME",
     "seed: 20 -> 64 relu -> 2 softmax, 1000 random samples, batch 32 (the\n"
     "default); mlp: Fashion-MNIST, 784 -> 512 relu -> 512 relu -> 10\n"
     "softmax, batch 256, from the folder FASHION_MNIST or the package\n"
     "dataset-fashion-mnist",
     false},
    {"epochs", "N", "epochs of a repetition, at least 5; default: seed 20, mlp 6", false},
    {"samples", "N", "take the first N samples only", false},
    {"strategy", "OPTS", "strategy options, \"key=value ...\"", false},
    {"against", "SEL", "alternate with these devices in the same run, and print the ratio", false},
    {"against-strategy", "OPTS", "the same with other strategy options", false},
    {"profile", NULL,
     "where the time of a step goes, for each device, from one more\n"
     "training that waits for the device after each stage",
     false},
    {NULL, NULL, NULL, false},
};

const bench_descriptor bench_step = {
    .name = "step",
    .doc = "a training step of whole models, through cm_model_fit",
    .help =
        "Trains with adam, shuffling, loss and accuracy.  One repetition is a new model trained "
        "for some epochs; its figure\n"
        "is the median epoch after the first.  The first epoch is that of the process's first "
        "training, building of\n"
        "kernels included; the peak of memory is the process's, both sides together.  Checked: "
        "the loss is finite and\n"
        "falls, and after 2 epochs it is within 5 % (seed: 0.01 %) of that of one device "
        "trained from the same seed.",
    .options = options,
    .option = option,
    .prepare = prepare,
    .begin = begin,
    .run = measure,
    .check = check,
    .report = report,
    .close = close_table,
    .release = release,
};
