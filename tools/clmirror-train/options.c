/* options.c - the command line of clmirror-train.
 *
 * Numbers are checked here, so that a wrong one is a usage error that names the option; texts
 * (model, optimizer, devices) are the library's business.  Called by main.c first of all. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "train.h"

static const char help_first[] =
    "Usage: clmirror-train --data SOURCE --model MODEL [options]\n"
    "\n"
    "Trains a model on all chosen OpenCL devices in step, without a line of C.\n"
    "\n"
    "What to train\n"
    "  -d, --data SOURCE       the training set:\n"
    "                            fashion-mnist           Debian package dataset-fashion-mnist\n"
    "                            fashion-mnist=DIR       its four files in another folder\n"
    "                            fashion-mnist:test      its test set; also =DIR:test\n"
    "                            idx:IMAGES,LABELS       two IDX files, plain or gzip\n"
    "                            random:ROWSxF,CLASSES   random numbers; option seed=N\n"
    "                          an option multiplies x: \"idx:IMAGES,LABELS scale=1/255\"\n"
    "  -m, --model MODEL       layers separated by \";\", or @FILE with one layer a line:\n"
    "                            \"flatten; dense units=512 activation=relu;\n"
    "                             dense units=10 activation=softmax\"\n"
    "                          `clmirror-info --layers` lists all layers, losses, metrics and\n"
    "                          optimisers with their keys\n"
    "  -o, --optimizer TEXT    default \"adam\"; for example \"adam learning_rate=1e-3\"\n"
    "  -l, --loss TEXT         default \"sparse_categorical_crossentropy\"\n"
    "      --metrics LIST      default \"accuracy\"; \"none\": no metrics\n"
    "\n"
    "How to train\n"
    "  -b, --batch-size N      samples of a step on all devices together; default 32\n"
    "  -e, --epochs N          default 1; 0 checks everything and builds the model, but trains\n"
    "                          nothing\n"
    "  -s, --seed N            of first weights, order and dropout; default CLMIRROR_SEED, else 0\n"
    "      --no-shuffle        take the samples in the order of the file\n"
    "      --class-weight C:W,...   weights of classes in the loss, for example 0:1,3:2.5; other\n"
    "                          classes weigh 1\n"
    "      --stop-on-nan       end with an error when the loss is not finite\n"
    "      --validation-data SOURCE   measured after every epoch; \"none\": no validation.\n"
    "                          Default: the test set of fashion-mnist, unless\n"
    "                          --validation-split is given\n"
    "      --validation-split X   keep the last part X of the training set for validation,\n"
    "                          0 <= X < 1; --validation-data wins over it\n";

static const char help_second[] =
    "\n"
    "Where to train\n"
    "  -D, --devices SEL       default CLMIRROR_DEVICES, else all GPUs, else all accelerators,\n"
    "                          else the CPU; gpu, cpu, all, /GPU:0, 0.1 (platform.device), a part\n"
    "                          of a name, 'cpu*2' (two parts of one device), or a list with\n"
    "                          commas; `clmirror-info` lists the devices\n"
    "      --strategy OPTIONS  for example \"collective=ring bucket_bytes=1M timeout_ms=60000\"\n"
    "\n"
    "What to print and keep\n"
    "  -v, --verbose 0|1|2     nothing, a progress bar (default), or one line per epoch\n"
    "      --summary           print the layers and their parameters first\n"
    "      --history FILE      write {\"epoch\":[...],\"history\":{name:[...]}} to FILE in the "
    "end,\n"
    "                          also after Ctrl-C or an error; tried before the training begins\n"
    "  -j, --json              one JSON line on standard output in the end; all else goes to\n"
    "                          standard error:\n"
    "                            {\"loss\":..,\"accuracy\":..,\"val_loss\":..,\"epochs\":N,\n"
    "                             \"stopped\":false,\"samples_per_second\":..,\"devices\":[...],\n"
    "                             \"replicas\":N,\"collective\":..,\"rows\":[...]}\n"
    "                          samples_per_second: training samples by the time of whole epochs,\n"
    "                          validation included, without the first epoch when there are\n"
    "                          several; rows: samples that each replica computed, validation\n"
    "                          included\n"
    "  -h, --help              print this and end\n"
    "  -V, --version           print the version and end\n"
    "\n"
    "Ctrl-C ends after the present step with the history so far; a second one ends at once.\n"
    "\n"
    "Exit status: 0 good; 1 the training failed; 2 wrong usage or no usable device; 130 ended\n"
    "by Ctrl-C; 143 ended by TERM.\n";

static bool wrong(const char *option, const char *text, const char *expected)
{
    fprintf(stderr, "clmirror-train: --%s \"%s\": %s expected\n", option, text, expected);
    return false;
}

/* A whole number of min ... max. */
static bool whole(const char *option, const char *text, long long min, long long max,
                  long long *value)
{
    char expected[96], *end = NULL;
    errno = 0;
    *value = strtoll(text, &end, 10);
    if (end != text && !*end && !errno && *value >= min && *value <= max) return true;
    if (max >= INT_MAX)
        snprintf(expected, sizeof expected, "a whole number of at least %lld", min);
    else
        snprintf(expected, sizeof expected, "a whole number from %lld to %lld", min, max);
    return wrong(option, text, expected);
}

static bool read_seed(const char *text, train_options *options)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno)
        return wrong("seed", text, "a whole number of at least 0");
    options->has_seed = true;
    options->seed = value;
    return true;
}

static bool read_split(const char *text, double *split)
{
    char *end = NULL;
    *split = strtod(text, &end);
    if (end == text || *end || !(*split >= 0 && *split < 1))
        return wrong("validation-split", text, "a number of at least 0 and less than 1");
    return true;
}

/* "0:1,3:2.5" */
static bool read_class_weights(const char *text, train_options *options)
{
    static const char expected[] = "a list such as 0:1,3:2.5 (class:weight)";
    for (const char *at = text;;) {
        char *end = NULL;
        long long class = strtoll(at, &end, 10);
        if (end == at || *end != ':' || class < 0 || class >= TRAIN_MAX_CLASSES)
            return wrong("class-weight", text, expected);
        at = end + 1;
        double weight = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(weight >= 0 && weight < 1e30))
            return wrong("class-weight", text, expected);
        for (; options->class_weight_count <= class; options->class_weight_count++)
            options->class_weight[options->class_weight_count] = 1;
        options->class_weight[class] = weight;
        if (!*end) return true;
        at = end + 1;
    }
}

/* The whole file as a text; NULL with errno. */
static char *read_file(const char *path)
{
    enum { LIMIT = 1 << 20 };
    FILE *file = fopen(path, "r");
    char *text = file ? malloc(LIMIT + 1) : NULL;
    if (text) {
        size_t bytes = fread(text, 1, LIMIT + 1, file);
        if (ferror(file) || bytes > LIMIT) {
            int failed = ferror(file) ? errno : EFBIG;
            free(text);
            text = NULL;
            errno = failed;
        } else {
            text[bytes] = '\0';
        }
    }
    int failed = errno;
    if (file) fclose(file);
    errno = failed;
    return text;
}

enum {
    METRICS = 256,
    NO_SHUFFLE,
    CLASS_WEIGHT,
    STOP_ON_NAN,
    VALIDATION_DATA,
    VALIDATION_SPLIT,
    STRATEGY,
    SUMMARY,
    HISTORY
};

static const struct option longs[] = {
    {"data", required_argument, NULL, 'd'},
    {"model", required_argument, NULL, 'm'},
    {"optimizer", required_argument, NULL, 'o'},
    {"loss", required_argument, NULL, 'l'},
    {"metrics", required_argument, NULL, METRICS},
    {"batch-size", required_argument, NULL, 'b'},
    {"epochs", required_argument, NULL, 'e'},
    {"seed", required_argument, NULL, 's'},
    {"no-shuffle", no_argument, NULL, NO_SHUFFLE},
    {"class-weight", required_argument, NULL, CLASS_WEIGHT},
    {"stop-on-nan", no_argument, NULL, STOP_ON_NAN},
    {"validation-data", required_argument, NULL, VALIDATION_DATA},
    {"validation-split", required_argument, NULL, VALIDATION_SPLIT},
    {"devices", required_argument, NULL, 'D'},
    {"strategy", required_argument, NULL, STRATEGY},
    {"verbose", required_argument, NULL, 'v'},
    {"summary", no_argument, NULL, SUMMARY},
    {"history", required_argument, NULL, HISTORY},
    {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* Stores one option; false after a message. */
static bool take(int letter, const char *value, train_options *o)
{
    long long number = 0;
    bool good = true;
    switch (letter) {
    case 'd':
        o->data = value;
        break;
    case 'm':
        o->model = value;
        break;
    case 'o':
        o->optimizer = value;
        break;
    case 'l':
        o->loss = value;
        break;
    case METRICS:
        o->metrics = !value[0] || strcmp(value, "none") == 0 ? NULL : value;
        break;
    case 'b':
        good = whole("batch-size", value, 1, LLONG_MAX, &number);
        o->batch_size = number;
        break;
    case 'e':
        good = whole("epochs", value, 0, INT_MAX, &number);
        o->epochs = (int)number;
        break;
    case 's':
        good = read_seed(value, o);
        break;
    case NO_SHUFFLE:
        o->no_shuffle = true;
        break;
    case CLASS_WEIGHT:
        good = read_class_weights(value, o);
        break;
    case STOP_ON_NAN:
        o->stop_on_nan = true;
        break;
    case VALIDATION_DATA:
        o->validation_data = value;
        break;
    case VALIDATION_SPLIT:
        good = read_split(value, &o->validation_split);
        break;
    case 'D':
        o->devices = value;
        break;
    case STRATEGY:
        o->strategy = value;
        break;
    case 'v':
        good = whole("verbose", value, 0, 2, &number);
        o->verbose = (int)number;
        break;
    case SUMMARY:
        o->summary = true;
        break;
    case HISTORY:
        o->history = value;
        break;
    case 'j':
        o->json = true;
        break;
    default:
        good = false;
        break; /* getopt has said what is wrong */
    }
    return good;
}

static int end_with_hint(void)
{
    fputs("Try `clmirror-train --help`.\n", stderr);
    return EXIT_USAGE;
}

int train_read_options(int argc, char **argv, train_options *options, char **model_file)
{
    *options = (train_options){.optimizer = "adam",
                               .loss = "sparse_categorical_crossentropy",
                               .metrics = "accuracy",
                               .batch_size = 32,
                               .epochs = 1,
                               .verbose = 1};
    for (int letter;
         (letter = getopt_long(argc, argv, "d:m:o:l:b:e:s:D:v:jhV", longs, NULL)) != -1;) {
        if (letter == 'h') {
            printf("%s%s", help_first, help_second);
            return 0;
        }
        if (letter == 'V') {
            printf("clmirror-train %s\n", cm_version());
            return 0;
        }
        if (!take(letter, optarg, options)) return end_with_hint();
    }
    if (optind < argc) {
        fprintf(stderr, "clmirror-train: \"%s\" is not an option; texts with blanks need quotes\n",
                argv[optind]);
        return end_with_hint();
    }
    if (!options->data || !options->model) {
        fprintf(stderr, "clmirror-train: --%s is missing\n", options->data ? "model" : "data");
        return end_with_hint();
    }
    if (options->model[0] == '@') {
        options->model = *model_file = read_file(options->model + 1);
        if (!options->model) {
            perror("clmirror-train: --model @FILE");
            return EXIT_FAILED;
        }
    }
    return -1;
}
