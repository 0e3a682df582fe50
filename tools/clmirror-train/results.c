/* results.c - what a training leaves behind: the history file and the JSON line.
 *
 * The history file is written under another name in the same folder and renamed, so that a reader
 * sees the old file or the new one, whole.  Whether that will work is tried before the training,
 * because hours of it should not end in "no such folder".
 *
 * cJSON answers NULL when memory runs out and passes NULL on, so one check at the end is enough.
 * Numbers that are not finite become null.  Called by main.c. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include "train.h"

/* ---- the history file ---- */

static int complain(const char *path, const char *what)
{
    fprintf(stderr,
            "clmirror-train: --history %s: %s; give a file name in a folder that can be written\n",
            path, what);
    return 1;
}

/* The file behind a link, so that the link stays; a name of its own when there is no file yet. */
static char *resolved(const char *path)
{
    char *real = realpath(path, NULL);
    if (real || errno != ENOENT) return real;
    size_t bytes = strlen(path) + 1;
    char *copy = malloc(bytes);
    if (copy) memcpy(copy, path, bytes);
    return copy;
}

static int create(const train_history_file *file)
{
    return open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

int train_history_open(train_history_file *file, const char *path)
{
    struct stat info;
    *file = (train_history_file){NULL, NULL};
    if (!path) return 0;
    file->path = resolved(path);
    if (!file->path) return complain(path, strerror(errno));
    /* Renaming over a device or a pipe would replace it. */
    if (stat(file->path, &info) == 0 && !S_ISREG(info.st_mode))
        return complain(path, S_ISDIR(info.st_mode) ? "is a folder" : "is not a plain file");
    size_t bytes = strlen(file->path) + 32;
    file->temporary = malloc(bytes);
    if (!file->temporary) return complain(path, strerror(errno));
    snprintf(file->temporary, bytes, "%s.%ld.tmp", file->path, (long)getpid());
    train_temporary_is(file->temporary);
    int descriptor = create(file);
    if (descriptor < 0) {
        train_temporary_is(NULL);
        return complain(path, strerror(errno));
    }
    close(descriptor);
    unlink(file->temporary);
    train_temporary_is(NULL);
    return 0;
}

static char *history_text(const cm_history *history)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *epochs = cJSON_AddArrayToObject(root, "epoch");
    for (int i = 0; history && i < cm_history_epochs(history); i++)
        cJSON_AddItemToArray(epochs, cJSON_CreateNumber(cm_history_epoch(history, i)));
    cJSON *columns = cJSON_AddObjectToObject(root, "history");
    for (int c = 0; history && c < cm_history_names(history); c++) {
        const char *name = cm_history_name(history, c);
        int count = 0;
        const double *values = cm_history_values(history, name, &count);
        cJSON *column = cJSON_AddArrayToObject(columns, name);
        for (int i = 0; i < count; i++)
            cJSON_AddItemToArray(column, cJSON_CreateNumber(values[i]));
    }
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

static bool write_all(int descriptor, const char *text)
{
    for (size_t done = 0, bytes = strlen(text); done < bytes;) {
        ssize_t count = write(descriptor, text + done, bytes - done);
        if (count < 0 && errno != EINTR) return false;
        if (count > 0) done += (size_t)count;
    }
    return true;
}

int train_history_write(const train_history_file *file, const cm_history *history)
{
    if (!file->path) return 0;
    char *text = history_text(history);
    if (!text) return complain(file->path, "out of memory");
    train_temporary_is(file->temporary);
    int descriptor = create(file), failed = 0;
    bool good = descriptor >= 0 && write_all(descriptor, text) && write_all(descriptor, "\n") &&
                fsync(descriptor) == 0;
    if (!good) failed = errno;
    if (descriptor >= 0 && close(descriptor) && !failed) failed = errno;
    if (!failed && rename(file->temporary, file->path)) failed = errno;
    if (failed && descriptor >= 0) unlink(file->temporary);
    train_temporary_is(NULL);
    cJSON_free(text);
    return failed ? complain(file->path, strerror(failed)) : 0;
}

void train_history_close(train_history_file *file)
{
    free(file->path);
    free(file->temporary);
}

/* ---- the JSON line ---- */

const char *train_accuracy_name(const cm_history *history)
{
    const char *const endings[] = {"accuracy", "acc"};
    for (int c = 0; history && c < cm_history_names(history); c++) {
        const char *name = cm_history_name(history, c);
        size_t length = strlen(name);
        if (strncmp(name, "val_", 4) == 0) continue;
        for (int e = 0; e < 2; e++) {
            size_t ending = strlen(endings[e]);
            if (length >= ending && strcmp(name + length - ending, endings[e]) == 0) return name;
        }
    }
    return NULL;
}

/* "loss" first, then the other columns in their order. */
static void add_columns(cJSON *root, const cm_history *history)
{
    cJSON_AddNumberToObject(root, "loss", history ? cm_history_last(history, "loss") : (double)NAN);
    for (int c = 0; history && c < cm_history_names(history); c++) {
        const char *name = cm_history_name(history, c);
        if (strcmp(name, "loss") != 0)
            cJSON_AddNumberToObject(root, name, cm_history_last(history, name));
    }
}

int train_print_json(const train_results *results)
{
    int replicas = cm_strategy_replicas(results->strategy);
    cJSON *root = cJSON_CreateObject();
    add_columns(root, results->history);
    cJSON_AddNumberToObject(root, "epochs",
                            results->history ? cm_history_epochs(results->history) : 0);
    cJSON_AddBoolToObject(root, "stopped", results->stopped);
    cJSON_AddNumberToObject(root, "samples_per_second", results->samples_per_second);
    cJSON *devices = cJSON_AddArrayToObject(root, "devices");
    for (int r = 0; r < replicas; r++)
        cJSON_AddItemToArray(devices,
                             cJSON_CreateString(cm_strategy_device_name(results->strategy, r)));
    cJSON_AddNumberToObject(root, "replicas", replicas);
    cJSON_AddStringToObject(root, "collective", cm_strategy_collective(results->strategy));
    cJSON *rows = cJSON_AddArrayToObject(root, "rows");
    for (int r = 0; r < replicas; r++)
        cJSON_AddItemToArray(rows,
                             cJSON_CreateNumber((double)cm_model_replica_rows(results->model, r)));
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    if (!text) {
        fputs("clmirror-train: --json: out of memory\n", stderr);
        return 1;
    }
    puts(text);
    cJSON_free(text);
    return 0;
}
