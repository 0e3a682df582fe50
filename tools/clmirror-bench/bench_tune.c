/* bench_tune.c - measures what the choice table can choose and writes the table (device/choice.h).
 *
 * A case is one product of one device.  Side 0 is the library's default; the others are the other
 * tiles of the packed kernel and, where it is asked for, CLBlast.  A side is put in force as the
 * table would do it, and the product runs as the library runs it.  What a side gains with a product
 * is the default's median by its own, or the same of the minima where that is less, so that a
 * disturbed median alone gains nothing; in a class, the geometric mean over its products.  The best
 * side is taken when it gains more than repeated runs differ.
 *
 * Results are compared with sums in double; all tiles must give the same bits.  Devices of one
 * kind are measured once.  One thread. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "base/cachefile.h"
#include "base/clock.h"
#include "base/knob.h"
#include "base/mem.h"
#include "base/rng.h"
#include "bench.h"
#include "device/choice.h"
#include "device/gemm_internal.h"

/* Two or three products of each class, class by class: layers (nn) and their gradients (nt, tn). */
static const struct product {
    const char *op;
    size_t m, n, k;
} products[] = {{"nn", 32, 64, 20},    {"nt", 32, 64, 128},   {"tn", 128, 64, 32},
                {"tn", 784, 128, 128}, {"nn", 1024, 64, 512}, {"nn", 128, 512, 784},
                {"nt", 64, 784, 512},  {"nn", 512, 512, 512}, {"nt", 256, 512, 784},
                {"tn", 512, 512, 128}};

enum { PRODUCTS = sizeof products / sizeof products[0] };
enum { MAX_SIDES = CMI_TILE_ROW_COUNT + 1, MAX_CALLS = 100, SAMPLES = 1024 };
_Static_assert((int)MAX_SIDES <= (int)BENCH_MAX_SIDES, "more sides than main.c measures");

static const double LEAST_GAIN = 1.05;   /* below it the default stays */
static const double REPETITION = 4e-3;   /* seconds that one repetition should last */
static const double DEVICE_SECONDS = 20; /* timed on one device; compiling comes on top */

static struct {
    bool dry_run, all;
    cm_device_list *list;
    cm_device_choice choices[CM_MAX_DEVICES]; /* one of each kind */
    int devices;
    /* the device */
    cmi_device *device;
    cmi_stream *stream;
    cmi_gemm_entry sides[MAX_SIDES], found[CMI_GEMM_CLASS_COUNT];
    int count;    /* of the sides */
    double spent; /* seconds */
    bool wrong;
    /* the class */
    double gain[MAX_SIDES]; /* logarithms, summed */
    int measured;
    /* the product */
    cmi_buffer *buffers[3]; /* A, B, C */
    float *a, *b, *c[MAX_SIDES];
    double last[MAX_SIDES]; /* seconds of a side's last repetition; 0: it never ran */
    int calls;              /* in a repetition */
    bool skipped;
} state;

static bool option(const char *name, const char *value)
{
    (void)value;
    if (strcmp(name, "dry-run") == 0) state.dry_run = true;
    if (strcmp(name, "all") == 0) state.all = true;
    return true;
}

/* ---- devices ---- */

static bool same_kind(const cm_device_info *a, const cm_device_info *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->driver, b->driver) &&
           !strcmp(a->platform_name, b->platform_name);
}

static cm_status choose_devices(const char *selection)
{
    cm_device_choice all[CM_MAX_DEVICES];
    int count = 0;
    CM_TRY(cm_device_list_create(&state.list));
    CM_TRY(cm_device_select(state.list, selection, all, &count));
    for (int i = 0; i < count; i++) {
        const cm_device_info *info = cm_device_list_get(state.list, all[i].index);
        bool known = false;
        for (int k = 0; k < state.devices; k++)
            known |= same_kind(info, cm_device_list_get(state.list, state.choices[k].index));
        if (!known) state.choices[state.devices++] = all[i];
    }
    return CM_OK;
}

static int prepare(bench_run *run)
{
    char folder[CMI_CACHE_PATH_BYTES];
    cm_status status = state.dry_run ? CM_OK : cmi_cache_folder(folder);
    if (status) {
        fprintf(stderr, "clmirror-bench: %s; --dry-run measures and writes nothing\n",
                cm_last_message());
        return BENCH_USAGE;
    }
    cmi_knob_override(CMI_KNOB_GEMM, "auto"); /* it would overrule the sides */
    status = choose_devices(run->options.devices);
    if (status) {
        fprintf(stderr, "clmirror-bench: %s\n", cm_last_message());
        return status == CM_E_NO_DEVICE || status == CM_E_INVALID ? BENCH_USAGE : BENCH_FAILED;
    }
    run->cases = state.devices * PRODUCTS;
    run->sides = MAX_SIDES;
    if (state.dry_run)
        puts("nothing is written (--dry-run)");
    else
        printf("table: %s/choices\n", folder);
    return BENCH_GOOD;
}

static void drop_operands(void)
{
    for (int i = 0; i < 3; i++)
        cmi_buffer_destroy(state.buffers[i]);
    cmi_free(state.a);
    cmi_free(state.b);
    for (int i = 0; i < MAX_SIDES; i++)
        cmi_free(state.c[i]);
    memset(state.buffers, 0, sizeof state.buffers);
    memset(state.c, 0, sizeof state.c);
    state.a = state.b = NULL;
}

static void drop_device(void)
{
    drop_operands();
    cmi_stream_destroy(state.stream);
    cmi_device_close(state.device);
    state.stream = NULL;
    state.device = NULL;
}

static bool default_is_packed(void)
{
    return cmi_device_get_facts(state.device)->info.kind == CM_DEVICE_CPU;
}

/* Side 0 is the default, whatever it is. */
static void list_sides(void)
{
    size_t rows = cmi_gemm_default_rows(cmi_device_get_facts(state.device)->vector);
    state.sides[0] = (cmi_gemm_entry){CMI_GEMM_AUTO, 0};
    state.count = 1;
    for (int i = 0; i < CMI_TILE_ROW_COUNT; i++)
        if (!default_is_packed() || cmi_tile_rows[i] != rows)
            state.sides[state.count++] = (cmi_gemm_entry){CMI_GEMM_PACKED, cmi_tile_rows[i]};
    if (default_is_packed() && state.all)
        state.sides[state.count++] = (cmi_gemm_entry){CMI_GEMM_CLBLAST, 0};
}

static const char *side_name(int side, char text[32])
{
    const cmi_gemm_entry *entry = &state.sides[side];
    if (entry->implementation == CMI_GEMM_PACKED)
        snprintf(text, 32, "%zu rows", entry->rows);
    else
        snprintf(text, 32, "%s", entry->implementation == CMI_GEMM_CLBLAST ? "clblast" : "default");
    return text;
}

static cm_status open_device(const cm_device_choice *choice)
{
    char name[32];
    drop_device();
    CM_TRY(cmi_device_open(state.list, choice, &state.device));
    CM_TRY(cmi_stream_create(state.device, cmi_knob_number(CMI_KNOB_TIMEOUT_MS), &state.stream));
    cmi_stream_own(state.stream);
    const cmi_device_facts *facts = cmi_device_get_facts(state.device);
    list_sides();
    memset(state.found, 0, sizeof state.found);
    state.spent = 0;
    state.wrong = false;
    printf("\ndevice: %s, %u compute unit%s, vectors of %u floats; the default is %s", facts->name,
           facts->units, facts->units == 1 ? "" : "s", facts->vector,
           default_is_packed() ? "packed" : "clblast");
    if (default_is_packed()) printf(", %zu rows", cmi_gemm_default_rows(facts->vector));
    printf("\n\nop      m      n      k    default");
    for (int side = 1; side < state.count; side++)
        printf("  %7s", side_name(side, name));
    puts("   (times as fast as the default)");
    fflush(stdout);
    return CM_OK;
}

/* ---- a product ---- */

static cm_status fill(float **host, size_t count, uint64_t index, cmi_buffer **buffer)
{
    cmi_rng rng;
    CM_TRY(CMI_NEW(count, host));
    cmi_rng_init(&rng, 0, CMI_RNG_DATA, index);
    for (size_t i = 0; i < count; i++)
        (*host)[i] = 2 * cmi_rng_float(&rng) - 1;
    CM_TRY(cmi_buffer_create(state.device, count * sizeof(float), buffer));
    return cmi_buffer_write(state.stream, *buffer, 0, count * sizeof(float), *host);
}

static cmi_gemm call_of(const struct product *p)
{
    return (cmi_gemm){.transpose_a = p->op[0] == 't',
                      .transpose_b = p->op[1] == 't',
                      .m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .a = {state.buffers[0], 0, p->m * p->k},
                      .b = {state.buffers[1], 0, p->k * p->n},
                      .c = {state.buffers[2], 0, p->m * p->n}};
}

static cmi_gemm_class class_of(const struct product *p)
{
    const cmi_gemm gemm = call_of(p);
    return cmi_gemm_class_of(&gemm);
}

static cm_status begin(bench_run *run, int k)
{
    const struct product *p = &products[k % PRODUCTS];
    size_t count = p->m * p->n;
    drop_operands();
    if (k % PRODUCTS == 0) CM_TRY(open_device(&state.choices[k / PRODUCTS]));
    run->sides = state.count;
    if (k % PRODUCTS == 0 || class_of(p) != class_of(p - 1)) {
        memset(state.gain, 0, sizeof state.gain);
        state.measured = 0;
    }
    memset(state.last, 0, sizeof state.last);
    state.skipped = state.spent > DEVICE_SECONDS;
    if (state.skipped) return CM_OK;
    CM_TRY(fill(&state.a, p->m * p->k, 0, &state.buffers[0]));
    CM_TRY(fill(&state.b, p->k * p->n, 1, &state.buffers[1]));
    CM_TRY(cmi_buffer_create(state.device, count * sizeof(float), &state.buffers[2]));
    for (int side = 0; side < state.count; side++)
        CM_TRY(CMI_NEW(count, &state.c[side]));
    return CM_OK;
}

static cm_status repetition(const cmi_gemm *gemm, int calls, double *seconds)
{
    int64_t start = cmi_now_ns();
    for (int i = 0; i < calls; i++) {
        cmi_stream_rewind(state.stream, CMI_TRACK_OTHER);
        CM_TRY(cmi_gemm_run(state.stream, gemm));
    }
    CM_TRY(cmi_stream_finish(state.stream));
    *seconds = (double)(cmi_now_ns() - start) / 1e9 / calls;
    return CM_OK;
}

/* The first run of a side compiles, and leaves its result; the default's says how many calls make a
 * repetition. */
static cm_status first_run(const cmi_gemm *gemm, int side)
{
    size_t bytes = gemm->m * gemm->n * sizeof(float);
    double seconds;
    CM_TRY(cmi_buffer_fill(state.stream, state.buffers[2], 0, bytes, 0x7fc00000u));
    CM_TRY(repetition(gemm, 1, &seconds));
    CM_TRY(cmi_buffer_read(state.stream, state.buffers[2], 0, bytes, state.c[side]));
    CM_TRY(repetition(gemm, 1, &state.last[side]));
    if (side == 0) state.calls = (int)fmin(fmax(REPETITION / state.last[0], 1), MAX_CALLS);
    return CM_OK;
}

static cm_status measure(bench_run *run, int k, int side, double *seconds)
{
    (void)run;
    *seconds = state.last[side];
    if (state.skipped) return CM_OK;
    cmi_gemm_entry entries[CMI_GEMM_CLASS_COUNT];
    const cmi_gemm gemm = call_of(&products[k % PRODUCTS]);
    for (int i = 0; i < CMI_GEMM_CLASS_COUNT; i++)
        entries[i] = state.sides[side];
    cmi_choice_set(state.device, entries);
    if (state.last[side] <= 0) return first_run(&gemm, side);
    if (state.spent > DEVICE_SECONDS) return CM_OK; /* no time: the last one counts again */
    CM_TRY(repetition(&gemm, state.calls, seconds));
    state.last[side] = *seconds;
    state.spent += *seconds * state.calls;
    return CM_OK;
}

/* ---- check ---- */

/* Within 4 * 2^-24 * sqrt(K) * sum |a b| of the sum in double. */
static bool right(const struct product *p, float got, size_t i, size_t j)
{
    double sum = 0, absolute = 0;
    for (size_t s = 0; s < p->k; s++) {
        double a = state.a[p->op[0] == 't' ? s * p->m + i : i * p->k + s];
        double b = state.b[p->op[1] == 't' ? j * p->k + s : s * p->n + j];
        sum += a * b;
        absolute += fabs(a * b);
    }
    return fabs(got - sum) <= 4 * 0x1p-24 * sqrt((double)p->k) * absolute;
}

static bool check_side(const struct product *p, int side)
{
    size_t count = p->m * p->n;
    char name[32];
    cmi_rng rng;
    cmi_rng_init(&rng, 0, CMI_RNG_DATA, 2);
    for (size_t t = 0; t < count + SAMPLES; t++) {
        size_t at = t < count ? t : (size_t)cmi_rng_below(&rng, count);
        float got = state.c[side][at];
        if (t < count ? isfinite(got) : right(p, got, at / p->n, at % p->n)) continue;
        fprintf(stderr,
                "clmirror-bench: %s, %zu,%zu,%zu,%s: element (%zu,%zu) is %g, not as expected\n",
                side_name(side, name), p->m, p->n, p->k, p->op, at / p->n, at % p->n, (double)got);
        return false;
    }
    return true;
}

static bool check(bench_run *run, int k)
{
    const struct product *p = &products[k % PRODUCTS];
    int first = default_is_packed() ? 0 : 1; /* of the packed sides */
    char name[32];
    bool good = true;
    for (int side = 0; side < run->sides && !state.skipped; side++) {
        good &= check_side(p, side);
        if (state.sides[side].implementation != CMI_GEMM_PACKED) continue;
        if (!memcmp(state.c[side], state.c[first], p->m * p->n * sizeof(float))) continue;
        fprintf(stderr, "clmirror-bench: %s, %zu,%zu,%zu,%s: the tile changes the result\n",
                side_name(side, name), p->m, p->n, p->k, p->op);
        good = false;
    }
    state.wrong |= !good;
    return good;
}

/* ---- report ---- */

/* The class is measured: takes the best other side, or leaves the default. */
static void decide(bench_run *run, cmi_gemm_class class, int expected)
{
    int best = 1;
    char name[32];
    for (int side = 2; side < state.count; side++)
        if (state.gain[side] > state.gain[best]) best = side;
    bool whole = state.measured == expected;
    double gain = whole ? exp(state.gain[best] / state.measured) : 1;
    bool taken = whole && gain >= LEAST_GAIN;
    printf("%s: ", cmi_gemm_class_name(class));
    if (!whole)
        puts("the default stays, time is up");
    else
        printf("%s%s is %.2f times as fast\n", taken ? "" : "the default stays; ",
               side_name(best, name), gain);
    if (taken) state.found[class] = state.sides[best];
    cJSON *row = bench_row(run, "tune");
    cJSON_AddStringToObject(row, "device", cmi_device_get_facts(state.device)->name);
    cJSON_AddStringToObject(row, "class", cmi_gemm_class_name(class));
    cJSON_AddStringToObject(row, "choice", side_name(taken ? best : 0, name));
    cJSON_AddNumberToObject(row, "gain", taken ? gain : 1);
}

/* The device is measured. */
static void write_table(bench_run *run)
{
    if (state.wrong) {
        puts("nothing is written: a result was wrong");
        return;
    }
    cmi_choice_set(state.device, state.found);
    if (state.dry_run || !cmi_choice_save(state.device)) return;
    fprintf(stderr, "clmirror-bench: the table is not written: %s\n", cm_last_message());
    run->failed = true;
}

static void report(bench_run *run, int k, const bench_stats stats[])
{
    const struct product *p = &products[k % PRODUCTS];
    cmi_gemm_class class = class_of(p);
    char text[24];
    int expected = 0;
    if (!state.skipped) {
        printf("%-2s %6zu %6zu %6zu  %s", p->op, p->m, p->n, p->k,
               bench_time_text(stats[0].median, text, sizeof text));
        for (int side = 1; side < run->sides; side++) {
            double median = stats[0].median / stats[side].median;
            printf("  %7.2f", median);
            state.gain[side] += log(fmin(median, stats[0].min / stats[side].min));
        }
        puts("");
        state.measured++;
    }
    bool last = k % PRODUCTS == PRODUCTS - 1;
    if (!last && class_of(p + 1) == class) return;
    for (int i = 0; i < PRODUCTS; i++)
        expected += class_of(&products[i]) == class;
    decide(run, class, expected);
    if (last) write_table(run);
}

static void close_table(bench_run *run)
{
    (void)run;
}

static void release(void)
{
    drop_device();
    cm_device_list_destroy(state.list);
}

static const bench_option options[] = {
    {"dry-run", NULL, "measure, and leave the table alone", false},
    {"all", NULL,
     "on CPU devices CLBlast too, which takes up to half a minute to compile\n"
     "and is rarely faster there",
     false},
    {NULL, NULL, NULL, false},
};

const bench_descriptor bench_tune = {
    .name = "tune",
    .doc = "finds the fastest matrix product per class of shapes, for the library to take",
    .help = "Measures, on each kind of device of the selection, what the library can choose for "
            "the matrix product: tiles of\n"
            "the packed kernel, and CLBlast.  What is clearly faster than the default goes into "
            "the choice table, the file\n"
            "`choices` in the cache folder (CLMIRROR_CACHE), which the library reads when it "
            "opens a device.  Takes at most about\n"
            "20 s on a device, and the time to compile.  Results are checked; tiles do not change "
            "them, CLBlast's differ by\n"
            "rounding.",
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
