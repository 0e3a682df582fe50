/* bench_gemm.c - the matrix product of device/gemm.h, beside OpenBLAS on as many threads.
 *
 * A case is a shape and an op; both sides get the same operands.  Everything that a call of the
 * library costs is inside the time, the packing of both operands too: one repetition is some calls
 * in a row, as a training makes them, and one wait for their end.  It has so many calls that
 * neither the wait nor the waking of the other threads is what is measured.
 *
 * The result is compared with sums in double: every element of small products, a sample of large
 * ones.  C is filled with NaN before, so an element that was left out is seen in any case. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/knob.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "bench.h"
#include "device/gemm.h"
#include "reference.h"

enum { MAX_CASES = 512, MAX_SIZE = 1 << 16, MAX_CALLS = 100, SAMPLES = 4096 };

static const double REPETITION = 2e9; /* operations, unless MAX_CALLS are fewer */
static const double ALL_BELOW =
    3.4e7; /* operations of a product of which every element is checked */

enum { OP_NN, OP_NT, OP_TN, OPS };
static const char *const op_names[OPS] = {"nn", "nt", "tn"};

typedef struct product {
    int op, m, n, k;
} product;

enum { OURS, REFERENCE, SIDES };

static struct {
    product cases[MAX_CASES];
    int count;
    cmi_gemm_choice wanted;
    bool with_reference;
    cmi_device *device;
    cmi_stream *stream;
    cmi_buffer *buffers[3];  /* A, B, C */
    float *a, *b, *c[SIDES]; /* the same operands on the host, and the results */
    double log_ratios, smallest;
} state;

/* ---- options ---- */

static bool add_case(product shape)
{
    if (state.count == MAX_CASES) {
        fprintf(stderr, "clmirror-bench: more than %d products\n", MAX_CASES);
        return false;
    }
    state.cases[state.count++] = shape;
    return true;
}

static bool add_shape(const char *text)
{
    const char *at = text;
    long size[3];
    int op = OPS;
    for (int i = 0; i < 3; i++) {
        if (!bench_parse_whole(at, 1, MAX_SIZE, &size[i], &at) || (i < 2 && *at++ != ','))
            goto wrong;
    }
    product shape = {0, (int)size[0], (int)size[1], (int)size[2]};
    if (!*at) {
        for (shape.op = 0; shape.op < OPS; shape.op++)
            if (!add_case(shape)) return false;
        return true;
    }
    for (op = 0; *at == ',' && op < OPS && strcmp(at + 1, op_names[op]) != 0;)
        op++;
    if (*at != ',' || op == OPS) goto wrong;
    shape.op = op;
    return add_case(shape);
wrong:
    fprintf(stderr,
            "clmirror-bench: shape \"%s\": M,N,K or M,N,K,op expected, sizes from 1 to %d, op nn, "
            "nt or tn\n",
            text, MAX_SIZE);
    return false;
}

static bool option(const char *name, const char *value)
{
    if (strcmp(name, "shapes") == 0) return add_shape(value);
    if (strcmp(name, "reference") == 0) return state.with_reference = true;
    if (strcmp(value, "auto") == 0) return state.wanted = CMI_GEMM_AUTO, true;
    if (strcmp(value, "packed") == 0) return state.wanted = CMI_GEMM_PACKED, true;
    if (strcmp(value, "clblast") == 0) return state.wanted = CMI_GEMM_CLBLAST, true;
    fprintf(stderr, "clmirror-bench: --implementation \"%s\": packed, clblast or auto expected\n",
            value);
    return false;
}

static void add_default_shapes(void)
{
    static const char *const shapes[] = {"128,512,784",    "128,512,512",   "256,512,784",
                                         "784,512,128",    "512,512,512",   "1024,1024,1024",
                                         "2048,2048,2048", "1000,1000,1000"};
    if (state.count) return;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        (void)add_shape(shapes[i]);
}

/* ---- device ---- */

/* PoCL's threads are woken for every product.  Left to the scheduler, two of them often share a CPU
 * for the milliseconds that a product takes while another CPU idles, and the figures say more about
 * that than about the product; in a training, which keeps them awake, it makes no difference.  Only
 * where every CPU may be used: PoCL counts them from 0. */
static void bind_driver_threads(void)
{
    if (getenv("POCL_AFFINITY") || sysconf(_SC_NPROCESSORS_ONLN) != cmi_cpu_count()) return;
    (void)setenv("POCL_AFFINITY", "1", 0);
}

static cm_status open_device(const char *selection)
{
    cm_device_choice choices[CM_MAX_DEVICES];
    cm_device_list *list = NULL;
    cm_status status = cm_device_list_create(&list);
    int count = 0;
    if (!status) status = cm_device_select(list, selection, choices, &count);
    if (!status) status = cmi_device_open(list, &choices[0], &state.device);
    cm_device_list_destroy(list);
    if (!status)
        status =
            cmi_stream_create(state.device, cmi_knob_number(CMI_KNOB_TIMEOUT_MS), &state.stream);
    if (status) return status;
    cmi_stream_own(state.stream);
    const cmi_device_facts *facts = cmi_device_get_facts(state.device);
    printf("device: %s, %u compute unit%s, vectors of %u floats", facts->name, facts->units,
           facts->units == 1 ? "" : "s", facts->vector);
    if (count > 1) printf(" (the first of %d; --devices chooses)", count);
    puts("");
    return CM_OK;
}

static void print_head(const bench_run *run)
{
    printf("%d repetition%s%s; GF/s and ratio are those of the medians\n\n", run->options.repeat,
           run->options.repeat == 1 ? "" : "s", state.with_reference ? ", alternated" : "");
    printf("op      m      n      k  kernel        min    median       p95     GF/s");
    puts(state.with_reference ? "  reference   ratio" : "");
    fflush(stdout);
}

static int prepare(bench_run *run)
{
    add_default_shapes();
    bind_driver_threads();
    cm_status status = open_device(run->options.devices);
    if (status) {
        fprintf(stderr, "clmirror-bench: %s\n", cm_last_message());
        return status == CM_E_NO_DEVICE || status == CM_E_INVALID ? BENCH_USAGE : BENCH_FAILED;
    }
    const cmi_device_facts *facts = cmi_device_get_facts(state.device);
    /* A serial device computes in the calling thread, whatever the number of its units. */
    if (state.with_reference && !reference_open(facts->serial ? 1 : (int)facts->units))
        return BENCH_USAGE;
    state.smallest = INFINITY;
    run->cases = state.count;
    run->sides = state.with_reference ? SIDES : 1;
    print_head(run);
    return BENCH_GOOD;
}

/* ---- a case ---- */

static size_t size_a(const product *p)
{
    return (size_t)p->m * (size_t)p->k;
}
static size_t size_b(const product *p)
{
    return (size_t)p->k * (size_t)p->n;
}
static size_t size_c(const product *p)
{
    return (size_t)p->m * (size_t)p->n;
}
static double operations(const product *p)
{
    return 2.0 * p->m * p->n * p->k;
}

static void drop_operands(void)
{
    for (int i = 0; i < 3; i++)
        cmi_buffer_destroy(state.buffers[i]);
    cmi_free(state.a);
    cmi_free(state.b);
    for (int i = 0; i < SIDES; i++)
        cmi_free(state.c[i]);
    memset(state.buffers, 0, sizeof state.buffers);
    memset(state.c, 0, sizeof state.c);
    state.a = state.b = NULL;
}

/* Uniform in [-1,1), the same in every run. */
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

static cm_status begin(bench_run *run, int k)
{
    const product *p = &state.cases[k];
    size_t count = size_c(p);
    drop_operands();
    CM_TRY(fill(&state.a, size_a(p), 0, &state.buffers[0]));
    CM_TRY(fill(&state.b, size_b(p), 1, &state.buffers[1]));
    CM_TRY(cmi_buffer_create(state.device, count * sizeof(float), &state.buffers[2]));
    CM_TRY(cmi_buffer_fill(state.stream, state.buffers[2], 0, count * sizeof(float), 0x7fc00000u));
    for (int side = 0; side < run->sides; side++) {
        CM_TRY(CMI_NEW(count, &state.c[side]));
        for (size_t i = 0; i < count; i++)
            state.c[side][i] = NAN;
    }
    return cmi_stream_finish(state.stream);
}

static cmi_gemm call_of(const product *p)
{
    return (cmi_gemm){.transpose_a = p->op == OP_TN,
                      .transpose_b = p->op == OP_NT,
                      .m = (size_t)p->m,
                      .n = (size_t)p->n,
                      .k = (size_t)p->k,
                      .a = {state.buffers[0], 0, size_a(p)},
                      .b = {state.buffers[1], 0, size_b(p)},
                      .c = {state.buffers[2], 0, size_c(p)}};
}

static int calls_of(const product *p)
{
    double calls = ceil(REPETITION / operations(p));
    return calls < MAX_CALLS ? (int)calls : MAX_CALLS;
}

static cm_status measure(bench_run *run, int k, int side, double *seconds)
{
    const product *p = &state.cases[k];
    const cmi_gemm gemm = call_of(p);
    int calls = calls_of(p);
    int64_t start = cmi_now_ns();
    (void)run;
    for (int i = 0; i < calls; i++) {
        if (side == REFERENCE) {
            reference_gemm(gemm.transpose_a, gemm.transpose_b, p->m, p->n, p->k, state.a, state.b,
                           state.c[REFERENCE]);
        } else {
            cmi_stream_rewind(state.stream, CMI_TRACK_OTHER);
            CM_TRY(cmi_gemm_run_as(state.stream, &gemm, state.wanted));
        }
    }
    if (side == OURS) CM_TRY(cmi_stream_finish(state.stream));
    *seconds = 1e-9 * (double)(cmi_now_ns() - start) / calls;
    return CM_OK;
}

/* ---- check ---- */

/* How far element (i,j) is from the sum in double, in units of what rounding may do: 4 * 2^-24 *
 * sqrt(K) * sum |a b|. */
static double distance(const product *p, const float *c, size_t i, size_t j, double *expected)
{
    size_t m = (size_t)p->m, n = (size_t)p->n, depth = (size_t)p->k;
    double sum = 0, absolute = 0;
    for (size_t s = 0; s < depth; s++) {
        double a = state.a[p->op == OP_TN ? s * m + i : i * depth + s];
        double b = state.b[p->op == OP_NT ? j * depth + s : s * n + j];
        sum += a * b;
        absolute += fabs(a * b);
    }
    *expected = sum;
    return fabs(c[i * n + j] - sum) / (4 * 0x1p-24 * sqrt((double)depth) * absolute + 1e-30);
}

static bool check_side(const product *p, const float *c, const char *who)
{
    size_t count = size_c(p), n = (size_t)p->n;
    bool all = operations(p) < ALL_BELOW;
    size_t turns = all ? count : SAMPLES;
    cmi_rng rng;
    cmi_rng_init(&rng, 0, CMI_RNG_DATA, 2);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(c[i])) {
            fprintf(stderr, "clmirror-bench: %s %d,%d,%d,%s: element (%zu,%zu) is %g\n", who, p->m,
                    p->n, p->k, op_names[p->op], i / n, i % n, (double)c[i]);
            return false;
        }
    for (size_t t = 0; t < turns; t++) {
        size_t at = all ? t : (size_t)cmi_rng_below(&rng, count);
        double expected = 0;
        if (distance(p, c, at / n, at % n, &expected) <= 1) continue;
        fprintf(stderr,
                "clmirror-bench: %s %d,%d,%d,%s: element (%zu,%zu) is %.9g, %.9g expected\n", who,
                p->m, p->n, p->k, op_names[p->op], at / n, at % n, (double)c[at], expected);
        return false;
    }
    return true;
}

static bool check(bench_run *run, int k)
{
    const product *p = &state.cases[k];
    if (cmi_buffer_read(state.stream, state.buffers[2], 0, size_c(p) * sizeof(float),
                        state.c[OURS])) {
        fprintf(stderr, "clmirror-bench: %s\n", cm_last_message());
        return false;
    }
    bool good = check_side(p, state.c[OURS], "gemm");
    if (run->sides > REFERENCE) good &= check_side(p, state.c[REFERENCE], "reference");
    return good;
}

/* ---- report ---- */

static void report(bench_run *run, int k, const bench_stats stats[])
{
    const product *p = &state.cases[k];
    const cmi_gemm gemm = call_of(p);
    cmi_gemm_choice choice = state.wanted ? state.wanted : cmi_gemm_choose(state.stream, &gemm);
    const char *kernel = choice == CMI_GEMM_CLBLAST ? "clblast" : "packed";
    double gflops = 1e-9 * operations(p) / stats[OURS].median;
    char least[24], median[24], most[24];
    printf("%-2s %6d %6d %6d  %-7s %s %s %s %8.2f", op_names[p->op], p->m, p->n, p->k, kernel,
           bench_time_text(stats[OURS].min, least, sizeof least),
           bench_time_text(stats[OURS].median, median, sizeof median),
           bench_time_text(stats[OURS].p95, most, sizeof most), gflops);
    cJSON *row = bench_row(run, "gemm");
    cJSON_AddStringToObject(row, "op", op_names[p->op]);
    cJSON_AddNumberToObject(row, "m", p->m);
    cJSON_AddNumberToObject(row, "n", p->n);
    cJSON_AddNumberToObject(row, "k", p->k);
    cJSON_AddStringToObject(row, "implementation", kernel);
    cJSON_AddNumberToObject(row, "gflops", gflops);
    if (run->sides > REFERENCE) {
        double ratio = stats[REFERENCE].median / stats[OURS].median;
        double reference = 1e-9 * operations(p) / stats[REFERENCE].median;
        printf("  %9.2f  %6.3f", reference, ratio);
        cJSON_AddNumberToObject(row, "reference_gflops", reference);
        cJSON_AddNumberToObject(row, "ratio", ratio);
        state.log_ratios += log(ratio);
        state.smallest = fmin(state.smallest, ratio);
    }
    puts("");
    cJSON_AddNumberToObject(row, "min_s", stats[OURS].min);
    cJSON_AddNumberToObject(row, "median_s", stats[OURS].median);
    cJSON_AddNumberToObject(row, "p95_s", stats[OURS].p95);
}

static void close_table(bench_run *run)
{
    if (run->sides <= REFERENCE) return;
    double mean = exp(state.log_ratios / run->cases);
    printf("\nratio to the reference: geometric mean %.3f, smallest %.3f\n", mean, state.smallest);
    cJSON *row = bench_row(run, "gemm");
    cJSON_AddNumberToObject(row, "geomean_ratio", mean);
    cJSON_AddNumberToObject(row, "min_ratio", state.smallest);
}

static void release(void)
{
    drop_operands();
    cmi_stream_destroy(state.stream);
    cmi_device_close(state.device);
}

static const bench_option options[] = {
    {"shapes", "M,N,K[,op]...",
     "one or more products C [M,N] = op(A) op(B) over K; op is nn, nt (B\n"
     "transposed) or tn (A transposed), without op all three.  Default:\n"
     "128,512,784 128,512,512 256,512,784 784,512,128 512,512,512\n"
     "1024,1024,1024 2048,2048,2048 1000,1000,1000",
     true},
    {"implementation", "NAME", "packed, clblast, or auto (what the library takes; the default)",
     false},
    {"reference", NULL,
     "compare with OpenBLAS (libopenblas.so.0, opened at run time) on as\n"
     "many threads as the device has compute units, turn by turn",
     false},
    {NULL, NULL, NULL, false},
};

const bench_descriptor bench_gemm = {
    .name = "gemm",
    .doc = "the matrix product, in GF/s, and beside OpenBLAS",
    .help = "Measures the library's matrix product on the first device of the selection.  One "
            "repetition is some calls\n"
            "in a row (2 billion operations, 2MNK, at most 100 calls), packing included, and the "
            "wait for their end.\n"
            "PoCL's threads are bound to CPUs (POCL_AFFINITY=1) unless the environment says "
            "otherwise.  Results are\n"
            "checked against sums in double precision.",
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
