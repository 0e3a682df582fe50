/* report.c - from seconds to figures, and the JSON file.
 *
 * The file has one JSON object a line, so that a run that is looked at while it goes on, or two
 * files put together, can still be read.  It is written in the end, under another name first, and
 * replaced whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench.h"

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bench_stats bench_stats_of(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_size);
    int middle = count / 2,
        last = (95 * count + 99) / 100 - 1; /* nearest rank: at least 95 % are not above it */
    double median = count % 2 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
    return (bench_stats){seconds[0], median, seconds[last]};
}

const char *bench_time_text(double seconds, char *text, size_t bytes)
{
    if (seconds < 1e-3)
        snprintf(text, bytes, "%6.2f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, bytes, "%6.2f ms", seconds * 1e3);
    else
        snprintf(text, bytes, "%6.2f s ", seconds);
    return text;
}

cJSON *bench_row(bench_run *run, const char *name)
{
    cJSON *row = run->rows ? cJSON_CreateObject() : NULL;
    cJSON_AddStringToObject(row, "bench", name);
    cJSON_AddItemToArray(run->rows, row);
    return row;
}

/* No rows: an empty file, to try whether it can be made. */
static bool write_rows(FILE *file, const cJSON *rows)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        char *text = cJSON_PrintUnformatted(row);
        if (!text) return false;
        fprintf(file, "%s\n", text);
        cJSON_free(text);
    }
    return !ferror(file);
}

bool bench_write_rows(const char *path, const cJSON *rows, bool try_only)
{
    struct stat info;
    size_t bytes = strlen(path) + 32;
    char *temporary = malloc(bytes);
    /* A device or a pipe is written to as it is; a file is replaced. */
    bool replace = stat(path, &info) != 0 || S_ISREG(info.st_mode);
    FILE *file = NULL;
    if (temporary) {
        snprintf(temporary, bytes, "%s.%ld.tmp", path, (long)getpid());
        file = fopen(replace ? temporary : path, "w");
    }
    bool good = file && write_rows(file, rows);
    if (file && fclose(file)) good = false;
    if (good && replace && !try_only && rename(temporary, path)) good = false;
    if (!good) fprintf(stderr, "clmirror-bench: --json %s: %s\n", path, strerror(errno));
    if (file && replace && (try_only || !good)) unlink(temporary);
    free(temporary);
    return good;
}
