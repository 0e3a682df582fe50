/* main.c - clmirror-bench: finds the bench, runs its cases, checks them, reports them.
 *
 * The order of measuring is decided here once for all benches: one round that is not timed, then
 * `repeat` rounds in which every side runs once, one after the other.  Ratios of two sides are
 * thus ratios of neighbours in time. */
#include <string.h>
#include "base/mem.h"
#include "bench.h"

#define CM_BENCH(name) extern const bench_descriptor bench_##name;
#include "registry.def"
#undef CM_BENCH

#define CM_BENCH(name) &bench_##name,
static const bench_descriptor *const benches[] = {
#include "registry.def"
};
#undef CM_BENCH

enum { BENCHES = sizeof benches / sizeof benches[0] };

static int print_benches(FILE *file)
{
    fputs("Usage: clmirror-bench BENCH [options]\n\n", file);
    for (int i = 0; i < BENCHES; i++)
        fprintf(file, "  %-10s %s\n", benches[i]->name, benches[i]->doc);
    fputs("\n`clmirror-bench BENCH --help` lists the options.  Every bench has --devices SEL, "
          "--repeat N and --json FILE,\n"
          "prints minimum, median and 95th percentile, and checks its results.\n"
          "Exit status: 0 good; 1 a result was wrong, or a device failed; 2 wrong usage, or no "
          "usable device.\n",
          file);
    return file == stdout ? BENCH_GOOD : BENCH_USAGE;
}

static int say(cm_status status)
{
    fflush(stdout);
    fprintf(stderr, "clmirror-bench: %s\n", cm_last_message());
    return status == CM_E_NO_DEVICE ? BENCH_USAGE : BENCH_FAILED;
}

/* seconds[side * repeat + i] */
static cm_status measure(const bench_descriptor *bench, bench_run *run, int k, double *seconds)
{
    int repeat = run->options.repeat;
    double unused;
    CM_TRY(bench->begin(run, k));
    for (int side = 0; side < run->sides; side++)
        CM_TRY(bench->run(run, k, side, &unused));
    for (int i = 0; i < repeat; i++)
        for (int side = 0; side < run->sides; side++)
            CM_TRY(bench->run(run, k, side, &seconds[side * repeat + i]));
    return CM_OK;
}

static int run_cases(const bench_descriptor *bench, bench_run *run)
{
    double *seconds = NULL;
    bench_stats stats[BENCH_MAX_SIDES];
    int wrong = 0;
    cm_status status = CMI_NEW(run->sides * run->options.repeat, &seconds);
    for (int k = 0; k < run->cases && !status; k++) {
        status = measure(bench, run, k, seconds);
        if (status) break;
        for (int side = 0; side < run->sides; side++)
            stats[side] = bench_stats_of(seconds + side * run->options.repeat, run->options.repeat);
        wrong += !bench->check(run, k);
        bench->report(run, k, stats);
        fflush(stdout);
    }
    cmi_free(seconds);
    if (status) return say(status);
    bench->close(run);
    if (wrong) fprintf(stderr, "clmirror-bench: %d of %d results are wrong\n", wrong, run->cases);
    return wrong || run->failed ? BENCH_FAILED : BENCH_GOOD;
}

static int run_bench(const bench_descriptor *bench, int argc, char **argv)
{
    bench_run run = {0};
    int status = bench_read_options(bench, argc, argv, &run.options);
    if (status >= 0) return status;
    if (run.options.json) {
        if (!bench_write_rows(run.options.json, NULL, true)) return BENCH_FAILED;
        run.rows = cJSON_CreateArray();
    }
    status = bench->prepare(&run);
    if (!status) status = run_cases(bench, &run);
    bench->release();
    /* Wrong rows are written too: they show which. */
    if (run.rows && status != BENCH_USAGE && !bench_write_rows(run.options.json, run.rows, false))
        status = BENCH_FAILED;
    cJSON_Delete(run.rows);
    return status;
}

int main(int argc, char **argv)
{
    int status = BENCH_USAGE;
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) return print_benches(stdout);
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("clmirror-bench %s\n", cm_version());
        return BENCH_GOOD;
    }
    const bench_descriptor *found = NULL;
    for (int i = 0; i < BENCHES; i++)
        if (strcmp(benches[i]->name, name) == 0) found = benches[i];
    if (!found) {
        if (name[0]) fprintf(stderr, "clmirror-bench: there is no bench \"%s\"\n", name);
        return print_benches(stderr);
    }
    status = run_bench(found, argc - 1, argv + 1);
    if (fflush(stdout) || ferror(stdout)) {
        fputs("clmirror-bench: cannot write standard output\n", stderr);
        if (!status) status = BENCH_FAILED;
    }
    return status;
}
