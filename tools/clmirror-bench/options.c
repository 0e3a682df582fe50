/* options.c - the command line of a bench: the common options and its own, and --help from both. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

enum { OWN = 256, MAX_OPTIONS = 32, DEFAULT_REPEAT = 7 };

bool bench_parse_whole(const char *text, long min, long max, long *value, const char **end)
{
    char *stop = NULL;
    errno = 0;
    *value = strtol(text, &stop, 10);
    *end = stop;
    return text[0] >= '0' && text[0] <= '9' && !errno && *value >= min && *value <= max;
}

/* An option and its help, whose lines begin in one column. */
static void print_option(const char *letter, const char *name, const char *argument,
                         const char *help)
{
    char left[64];
    snprintf(left, sizeof left, "  %s --%s%s%s", letter, name, argument ? " " : "",
             argument ? argument : "");
    for (const char *line = help, *end;; line = end + 1, left[0] = '\0') {
        end = strchr(line, '\n');
        printf("%-34s %.*s\n", left, end ? (int)(end - line) : (int)strlen(line), line);
        if (!end) return;
    }
}

static void print_help(const bench_descriptor *bench)
{
    printf("Usage: clmirror-bench %s [options]\n\n%s\n\n", bench->name, bench->help);
    for (const bench_option *o = bench->options; o->name; o++)
        print_option("   ", o->name, o->argument, o->help);
    print_option("-d,", "devices", "SEL",
                 "a selection as in `clmirror-info --help`; default CLMIRROR_DEVICES,\n"
                 "else all GPUs, else all accelerators, else the CPU");
    print_option("-n,", "repeat", "N", "timed repetitions; default 7");
    print_option("-j,", "json", "FILE", "write one JSON object a line for every row of the table");
    print_option("-h,", "help", NULL, "print this and end");
    puts("\nPrinted are the minimum, the median and the 95th percentile; figures derived from a "
         "time use the median.\n"
         "Exit status: 0 good; 1 a result was wrong, or a device failed; 2 wrong usage, no usable "
         "device, or no\n"
         "reference.");
}

static int end_with_hint(const bench_descriptor *bench)
{
    fprintf(stderr, "Try `clmirror-bench %s --help`.\n", bench->name);
    return BENCH_USAGE;
}

static int fill_longs(const bench_descriptor *bench, struct option *longs)
{
    static const struct option common[] = {{"devices", required_argument, NULL, 'd'},
                                           {"repeat", required_argument, NULL, 'n'},
                                           {"json", required_argument, NULL, 'j'},
                                           {"help", no_argument, NULL, 'h'}};
    int count = 0;
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        longs[count++] = common[i];
    for (int i = 0; bench->options[i].name; i++)
        longs[count++] = (struct option){
            bench->options[i].name, bench->options[i].argument ? required_argument : no_argument,
            NULL, OWN + i};
    CM_ASSERT(count < MAX_OPTIONS);
    longs[count] = (struct option){NULL, 0, NULL, 0};
    return count;
}

static bool take_repeat(const char *text, bench_options *options)
{
    const char *end;
    long value;
    if (bench_parse_whole(text, 1, BENCH_MAX_REPEAT, &value, &end) && !*end) {
        options->repeat = (int)value;
        return true;
    }
    fprintf(stderr, "clmirror-bench: --repeat \"%s\": a whole number from 1 to %d expected\n", text,
            BENCH_MAX_REPEAT);
    return false;
}

int bench_read_options(const bench_descriptor *bench, int argc, char **argv, bench_options *options)
{
    struct option longs[MAX_OPTIONS];
    const bench_option *many = NULL; /* whose further words may follow */
    *options = (bench_options){.repeat = DEFAULT_REPEAT};
    fill_longs(bench, longs);
    /* The leading minus hands out words that are no options as 1, at their place. */
    for (int letter; (letter = getopt_long(argc, argv, "-d:n:j:h", longs, NULL)) != -1;) {
        bool good = true;
        if (letter == 1) {
            good = many && bench->option(many->name, optarg);
            if (!many) fprintf(stderr, "clmirror-bench: \"%s\" is not an option\n", optarg);
        } else if (letter >= OWN) {
            const bench_option *own = &bench->options[letter - OWN];
            good = bench->option(own->name, optarg);
            many = own->many ? own : NULL;
        } else if (letter == 'h') {
            print_help(bench);
            return BENCH_GOOD;
        } else if (letter == 'n') {
            good = take_repeat(optarg, options);
        } else if (letter == 'd') {
            options->devices = optarg;
        } else if (letter == 'j') {
            options->json = optarg;
        } else {
            good = false; /* getopt has said what is wrong */
        }
        if (letter < OWN && letter != 1) many = NULL;
        if (!good) return end_with_hint(bench);
    }
    if (optind < argc) {
        fprintf(stderr, "clmirror-bench: \"%s\" is not an option\n", argv[optind]);
        return end_with_hint(bench);
    }
    return -1;
}
