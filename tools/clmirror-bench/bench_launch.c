/* bench_launch.c - what it costs to ask a device for anything at all.
 *
 * The kernel is map of cl/pointwise.cl over one element, y = x + 1, through device/stream.h as the
 * layers use it: call sites, arguments set once, one in-order queue.  What is measured is the way
 * there and back: a kernel alone, many in a row, many that need each other's result, a map and
 * unmap, a read of 4 bytes.  A small training step is made of little else.
 *
 * Every kernel, and every mapping, adds 1 to a number in the buffer, so the numbers must equal the
 * count of what was asked for.  One thread owns the streams. */
#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "base/knob.h"
#include "base/mem.h"
#include "bench.h"
#include "device/stream.h"

enum { MANY = 100, ROUNDS = 20 };

enum { ALONE, ROW, CHAIN, MAPPING, READING, KINDS };

static const struct {
    const char *name, *text;
    int per_round; /* operations that one round counts for */
} kinds[KINDS] = {
    {"alone", "kernel alone, with the wait", 1},
    {"row", "kernel, 100 in a row", MANY},
    {"chain", "kernel, 100 on one buffer", MANY},
    {"map", "map and unmap", 1},
    {"read", "read of 4 bytes", 1},
};

typedef struct opened {
    cmi_device *device;
    cmi_stream *stream;
    cmi_buffer *buffer; /* MANY floats */
} opened;

static struct {
    opened devices[CM_MAX_DEVICES];
    int count;
    float counts[MANY]; /* what the buffer of the case must hold */
    bool wrong_read;
} state;

/* ---- devices ---- */

static cm_status open_one(const cm_device_list *list, const cm_device_choice *choice, opened *d)
{
    CM_TRY(cmi_device_open(list, choice, &d->device));
    CM_TRY(cmi_stream_create(d->device, cmi_knob_number(CMI_KNOB_TIMEOUT_MS), &d->stream));
    cmi_stream_own(d->stream);
    return cmi_buffer_create(d->device, MANY * sizeof(float), &d->buffer);
}

static cm_status open_devices(const char *selection)
{
    cm_device_choice choices[CM_MAX_DEVICES];
    cm_device_list *list = NULL;
    cm_status status = cm_device_list_create(&list);
    int count = 0;
    if (!status) status = cm_device_select(list, selection, choices, &count);
    while (!status && state.count < count) {
        status = open_one(list, &choices[state.count], &state.devices[state.count]);
        state.count++;
    }
    cm_device_list_destroy(list);
    return status;
}

static int prepare(bench_run *run)
{
    cm_status status = open_devices(run->options.devices);
    if (status) {
        fprintf(stderr, "clmirror-bench: %s\n", cm_last_message());
        return status == CM_E_NO_DEVICE || status == CM_E_INVALID ? BENCH_USAGE : BENCH_FAILED;
    }
    run->cases = state.count * KINDS;
    run->sides = 1;
    printf("%d repetition%s of %d rounds; times are of one operation\n", run->options.repeat,
           run->options.repeat == 1 ? "" : "s", ROUNDS);
    return BENCH_GOOD;
}

static void release(void)
{
    for (int i = 0; i < state.count; i++) {
        cmi_buffer_destroy(state.devices[i].buffer);
        cmi_stream_destroy(state.devices[i].stream);
        cmi_device_close(state.devices[i].device);
    }
}

/* ---- a case ---- */

static const opened *device_of(int k)
{
    return &state.devices[k / KINDS];
}

static cm_status begin(bench_run *run, int k)
{
    const opened *d = device_of(k);
    (void)run;
    memset(state.counts, 0, sizeof state.counts);
    state.wrong_read = false;
    CM_TRY(cmi_buffer_fill(d->stream, d->buffer, 0, sizeof state.counts, 0));
    return cmi_stream_finish(d->stream);
}

/* buffer[at] += 1 */
static cm_status add_one(const opened *d, int at)
{
    static const cmi_kernel kernel = {
        .source = "pointwise", .name = "map", .defines = "#define CM_MAP(x) ((x) + h0)\n"};
    const cmi_view view = {d->buffer, (size_t)at, 1};
    state.counts[at]++;
    return CMI_LAUNCH(d->stream, &kernel, ((cmi_range){.items = 1}), cmi_uint(1), cmi_uint(1),
                      cmi_float(1), cmi_float(0), cmi_float(0), cmi_float(0), cmi_buf(view),
                      cmi_buf(view));
}

static cm_status map_once(const opened *d)
{
    void *host = NULL;
    CM_TRY(cmi_buffer_map(d->stream, d->buffer, 0, sizeof(float), CMI_MAP_READ_WRITE, &host));
    *(float *)host += 1;
    state.counts[0]++;
    return cmi_buffer_unmap(d->stream, d->buffer, host);
}

static cm_status read_once(const opened *d)
{
    float value = -1;
    CM_TRY(cmi_buffer_read(d->stream, d->buffer, 0, sizeof value, &value));
    state.wrong_read |= value != state.counts[0];
    return CM_OK;
}

static cm_status play(const opened *d, int kind)
{
    cmi_stream_rewind(d->stream, CMI_TRACK_OTHER);
    if (kind == MAPPING) return map_once(d);
    if (kind == READING) return read_once(d);
    for (int i = 0; i < kinds[kind].per_round; i++)
        CM_TRY(add_one(d, kind == ROW ? i : 0));
    return cmi_stream_finish(d->stream);
}

static cm_status measure(bench_run *run, int k, int side, double *seconds)
{
    const opened *d = device_of(k);
    int kind = k % KINDS;
    (void)run, (void)side;
    if (kind == READING) { /* something new to be read */
        cmi_stream_rewind(d->stream, CMI_TRACK_OTHER);
        CM_TRY(add_one(d, 0));
    }
    CM_TRY(cmi_stream_finish(d->stream));
    int64_t start = cmi_now_ns();
    for (int i = 0; i < ROUNDS; i++)
        CM_TRY(play(d, kind));
    CM_TRY(cmi_stream_finish(d->stream));
    *seconds = 1e-9 * (double)(cmi_now_ns() - start) / (ROUNDS * kinds[kind].per_round);
    return CM_OK;
}

static bool check(bench_run *run, int k)
{
    const opened *d = device_of(k);
    float found[MANY];
    (void)run;
    if (cmi_buffer_read(d->stream, d->buffer, 0, sizeof found, found)) {
        fprintf(stderr, "clmirror-bench: %s\n", cm_last_message());
        return false;
    }
    for (int i = 0; i < MANY; i++) {
        if (found[i] == state.counts[i]) continue;
        fprintf(stderr, "clmirror-bench: launch, %s: number %d is %g, %g expected\n",
                kinds[k % KINDS].text, i, (double)found[i], (double)state.counts[i]);
        return false;
    }
    if (state.wrong_read)
        fprintf(stderr, "clmirror-bench: launch, %s: a read gave an old number\n",
                kinds[k % KINDS].text);
    return !state.wrong_read;
}

/* ---- report ---- */

static void report(bench_run *run, int k, const bench_stats stats[])
{
    const cmi_device_facts *facts = cmi_device_get_facts(device_of(k)->device);
    int kind = k % KINDS;
    char least[24], median[24], most[24];
    if (kind == 0) {
        printf("\ndevice %d: %s\n", k / KINDS, facts->name);
        printf("%-30s %9s %9s %9s\n", "", "min", "median", "p95");
    }
    printf("%-30s %s %s %s\n", kinds[kind].text, bench_time_text(stats->min, least, sizeof least),
           bench_time_text(stats->median, median, sizeof median),
           bench_time_text(stats->p95, most, sizeof most));
    cJSON *row = bench_row(run, "launch");
    cJSON_AddStringToObject(row, "device", facts->name);
    cJSON_AddStringToObject(row, "what", kinds[kind].name);
    cJSON_AddNumberToObject(row, "min_s", stats->min);
    cJSON_AddNumberToObject(row, "median_s", stats->median);
    cJSON_AddNumberToObject(row, "p95_s", stats->p95);
}

static void close_table(bench_run *run)
{
    (void)run;
}

static bool option(const char *name, const char *value)
{
    (void)name, (void)value;
    return false;
}

static const bench_option options[] = {{NULL, NULL, NULL, false}};

const bench_descriptor bench_launch = {
    .name = "launch",
    .doc = "a kernel launch, a map, a small read",
    .help = "Measures, on each device of the selection, a kernel over one element: alone with the "
            "wait for its end, 100 in\n"
            "a row with one wait, 100 that each need the one before; a map and unmap; a read of 4 "
            "bytes.  A repetition is\n"
            "20 rounds.  Checked: the numbers that the kernels counted.",
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
