/* main.c - clmirror-info: which OpenCL devices there are, which of them would be used, and why.
 *
 * Reads the options, makes the list, tries the selection and hands both to a printer (report.c for
 * people, json.c for programs).  With --probe every driver is first asked in a process of its own
 * (probe.c), before this one has touched OpenCL, because the loader opens all drivers at once and a
 * crashing one would take us with it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "info.h"

enum { EXIT_USAGE = 2 };

static const char help[] =
    "Usage: clmirror-info [options]\n"
    "\n"
    "Lists the OpenCL platforms and devices of this machine, also those that cannot be used, with "
    "the reason;\n"
    "which of them a training takes by default, and why; and the environment variables that may "
    "hide devices.\n"
    "\n"
    "  -d, --devices SEL  show what a selection takes instead of the default:\n"
    "                       gpu cpu accelerator all   every device of a kind\n"
    "                       /GPU:0  CPU:1             the i-th of a kind, as TensorFlow counts\n"
    "                       0.1                       platform.device, as listed here\n"
    "                       part of a name            of the device, or of \"platform: device\"\n"
    "                       SEL*n                     n parts of the first device that SEL names\n"
    "                       A,B,...                   a list; its order is the order of the ranks\n"
    "  -j, --json         print JSON instead of text\n"
    "  -k, --knobs        print the library's environment variables and their values, and end\n"
    "  -l, --layers       print all layers, activations, losses, metrics, optimisers and "
    "initialisers with their\n"
    "                     keys, defaults and help, and end\n"
    "  -p, --probe        first ask every driver in a process of its own: shows which one crashes "
    "or hangs\n"
    "  -h, --help         print this and end\n"
    "  -V, --version      print the version and end\n"
    "\n"
    "Exit status: 0 good; 2 wrong usage, no usable device, or nothing that the selection names.\n";

/* The list shows duplicates, so the library's warning about them is not repeated. */
static void drop_line(void *user, cm_log_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

static const char *reason_of_default(const cm_device_list *list, const info_selection *selection)
{
    if (selection->count == 0) return NULL;
    switch (cm_device_list_get(list, selection->choices[0].index)->kind) {
    case CM_DEVICE_GPU:
        return "all GPUs";
    case CM_DEVICE_ACCELERATOR:
        return "there is no GPU, so all accelerators";
    default:
        return "there is no GPU and no accelerator, so all CPU devices of the first platform that "
               "has any";
    }
}

static void select_devices(const info_options *options, const cm_device_list *list,
                           info_selection *selection)
{
    const char *variable = getenv("CLMIRROR_DEVICES");
    const char *text = options->devices ? options->devices : variable ? variable : "";
    memset(selection, 0, sizeof *selection);
    snprintf(selection->text, sizeof selection->text, "%s", text);
    selection->source = options->devices ? "--devices" : text[0] ? "CLMIRROR_DEVICES" : "default";
    cm_log_set_sink(drop_line, NULL);
    selection->status =
        cm_device_select(list, options->devices, selection->choices, &selection->count);
    cm_log_set_sink(NULL, NULL);
    if (selection->status)
        snprintf(selection->error, sizeof selection->error, "%s", cm_last_message());
    else if (text[0] == '\0')
        selection->why = reason_of_default(list, selection);
}

static int print(const info_options *options, const cm_device_list *list,
                 const info_selection *selection, const info_probe *probe)
{
    if (options->json) return info_print_json(options, list, selection, probe);
    info_print(options, list, selection, probe);
    return 0;
}

/* A driver that died alone would kill us too: say what we know without touching OpenCL. */
static int end_without_opencl(const info_options *options, const info_probe *probe)
{
    int usable = 0;
    for (int i = 0; i < probe->count; i++)
        usable += probe->drivers[i].devices;
    if (print(options, NULL, NULL, probe)) return 1;
    return usable ? 0 : EXIT_USAGE;
}

static int show(const info_options *options, const info_probe *probe)
{
    cm_device_list *list = NULL;
    static info_selection selection;
    if (cm_device_list_create(&list)) {
        fprintf(stderr, "clmirror-info: %s\n", cm_last_message());
        return 1;
    }
    select_devices(options, list, &selection);
    int status = 0;
    if (cm_device_list_platforms(list) || options->json || probe)
        status = print(options, list, &selection, probe);
    if (status == 0 && selection.status) {
        fflush(stdout);
        fprintf(stderr, "clmirror-info: %s\n", selection.error);
        status = EXIT_USAGE;
    }
    cm_device_list_destroy(list);
    return status;
}

/* Returns -1 to go on, else the exit status. */
static int read_options(int argc, char **argv, info_options *options)
{
    static const struct option longs[] = {
        {"devices", required_argument, NULL, 'd'}, {"json", no_argument, NULL, 'j'},
        {"knobs", no_argument, NULL, 'k'},         {"layers", no_argument, NULL, 'l'},
        {"probe", no_argument, NULL, 'p'},         {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},       {NULL, 0, NULL, 0},
    };
    for (int letter; (letter = getopt_long(argc, argv, "d:jklphV", longs, NULL)) != -1;) {
        switch (letter) {
        case 'd':
            options->devices = optarg;
            break;
        case 'j':
            options->json = true;
            break;
        case 'k':
            options->knobs = true;
            break;
        case 'l':
            options->layers = true;
            break;
        case 'p':
            options->probe = true;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        case 'V':
            printf("clmirror-info %s\n", cm_version());
            return 0;
        default:
            fputs("Try `clmirror-info --help`.\n", stderr);
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr,
                "clmirror-info: \"%s\" is not an option; a selection is given by --devices\n",
                argv[optind]);
        return EXIT_USAGE;
    }
    return -1;
}

int main(int argc, char **argv)
{
    info_options options = {0};
    static info_probe probe;
    int status = read_options(argc, argv, &options);
    if (status >= 0) return status;
    if (options.probe) info_probe_run("/proc/self/exe", &probe);
    if ((options.knobs || options.layers) && !options.json) {
        if (options.layers) info_print_layers();
        if (options.knobs) info_print_knobs();
        status = 0;
    } else if (probe.dead) {
        status = end_without_opencl(&options, &probe);
    } else {
        status = show(&options, options.probe ? &probe : NULL);
    }
    if (fflush(stdout) || ferror(stdout)) {
        fputs("clmirror-info: cannot write standard output\n", stderr);
        return 1;
    }
    return status;
}
