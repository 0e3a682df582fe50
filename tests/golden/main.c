/* main.c - the golden runner: compares the library with numbers that Keras computed.
 *
 *     golden [FOLDER]      every *.json below FOLDER, by default tests/golden/data
 *
 * One line per file; "not supported" only where the library does not know a name or a key.  Exit
 * status 1 when a case disagreed, when there was no file, or when nothing was compared.  Main
 * thread. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "golden/golden.h"

#ifndef CM_TEST_DATA
#define CM_TEST_DATA "tests"
#endif

enum { MAX_FILES = 512, PATH_BYTES = 1024 };

static void run_train(const cJSON *file, golden_report *report)
{
    if (golden_train(file, report)) golden_fail(report, "the training failed");
}

/* Kinds of the golden files; one without a function is not supported. */
static const struct {
    const char *kind;
    golden_run *run;
} kinds[] = {{"activations", golden_activations},
             {"initializers", golden_initializers},
             {"losses", golden_losses},
             {"metrics", golden_metrics},
             {"optimizers", golden_optimizers},
             {"layer", golden_layer},
             {"train", run_train},
             {"adapt", NULL},
             {"schedules", NULL}};

typedef struct files {
    char *paths[MAX_FILES];
    int count;
} files;

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end);
}

/* Collects the *.json files of a folder and of those in it. */
static bool collect(const char *folder, files *found)
{
    DIR *list = opendir(folder);
    struct dirent *entry;

    if (!list) return false;
    while ((entry = readdir(list))) {
        char path[PATH_BYTES];
        struct stat about;
        if (entry->d_name[0] == '.') continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= PATH_BYTES ||
            stat(path, &about))
            continue;
        if (S_ISDIR(about.st_mode))
            (void)collect(path, found);
        else if (ends_with(path, ".json") && found->count < MAX_FILES)
            found->paths[found->count++] = strdup(path);
    }
    closedir(list);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long bytes = 0;

    if (!file) return NULL;
    if (!fseek(file, 0, SEEK_END) && (bytes = ftell(file)) >= 0 && !fseek(file, 0, SEEK_SET))
        text = calloc((size_t)bytes + 1, 1);
    if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

static void run_file(const cJSON *file, golden_report *report)
{
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(file, "kind"));

    for (size_t i = 0; kind && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].kind, kind)) continue;
        if (kinds[i].run)
            kinds[i].run(file, report);
        else
            golden_unsupported(report, kind);
        return;
    }
    golden_fail(report, "the kind \"%s\" is not known", kind ? kind : "(none)");
}

static void print_line(const char *name, const golden_report *report)
{
    const char *missing = report->unsupported;

    if (report->failed)
        printf("%s FAILED: %s\n", name, report->failure);
    else if (report->cases == 0 && *missing)
        printf("%s not supported: %s\n", name, missing);
    else if (*missing)
        printf("%s ok (%d cases), not supported: %s\n", name, report->cases, missing);
    else
        printf("%s ok (%d cases)\n", name, report->cases);
    fflush(stdout);
}

static void run_path(const char *path, const char *name, pick *device, golden_report *report)
{
    char *text = read_text(path);
    cJSON *file = text ? cJSON_Parse(text) : NULL;

    memset(report, 0, sizeof *report);
    report->pick = device;
    if (!file)
        golden_fail(report, "%s", text ? "this is not JSON" : "the file cannot be read");
    else
        run_file(file, report);
    /* A file in which nothing ran and nothing is missing proves nothing. */
    if (!report->failed && !report->cases && !*report->unsupported)
        golden_fail(report, "no case was compared");
    pick_clear(device);
    print_line(name, report);
    cJSON_Delete(file);
    free(text);
}

static int run_folder(const char *folder, pick *device)
{
    static files found;
    int failed = 0, compared = 0, passed = 0;

    if (!collect(folder, &found)) fprintf(stderr, "golden: %s cannot be read\n", folder);
    qsort(found.paths, (size_t)found.count, sizeof found.paths[0], by_name);
    for (int i = 0; i < found.count; i++) {
        golden_report report;
        run_path(found.paths[i], found.paths[i] + strlen(folder) + 1, device, &report);
        failed += report.failed;
        passed += !report.failed && report.cases > 0;
        compared += report.compared;
        free(found.paths[i]);
    }
    printf("%d files: %d ok, %d failed, %d not supported; %d tensors and numbers compared\n",
           found.count, passed, failed, found.count - passed - failed, compared);
    if (!found.count) printf("no file was found in %s: that counts as a failure\n", folder);
    if (found.count && !compared) printf("nothing was compared: that counts as a failure\n");
    return failed || !found.count || !compared;
}

int main(int argc, char **argv)
{
    const char *folder = CM_TEST_DATA "/golden/data";
    pick device;

    if (argc == 2 && !strcmp(argv[1], "--help")) {
        printf("usage: golden [FOLDER]\n\nCompares the library with the golden values in "
               "FOLDER/**/*.json, by default\n"
               "%s.  Exit status: 0 all agreed, 1 one did not or nothing was compared,\n2 usage or "
               "no device.\n",
               folder);
        return 0;
    }
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: golden [FOLDER]\n");
        return 2;
    }
    if (argc == 2) folder = argv[1];
    if (pick_open(&device)) {
        fprintf(stderr, "golden: %s\n", cm_last_message());
        pick_close(&device);
        return 2;
    }
    int status = run_folder(folder, &device);
    pick_close(&device);
    return status;
}
