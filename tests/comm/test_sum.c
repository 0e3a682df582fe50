/* test_sum.c - all-reduce: every algorithm over awkward rank counts, lengths and segments.
 *
 * Each rank checks its own result and answers with a status; the span lies between two guard bands,
 * and all algorithms run one after another on the same memory. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "comm/collective.h"
#include "comm/suites.h"

#define GUARD 32
#define MOST  65537

static const int rank_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 13};
static const char *const specs[] = {"naive", "direct", "ring segment=4", "ring segment=1000",
                                    "ring"};

typedef struct sum_sweep {
    cmi_comm *comm;
    int ranks;
    size_t counts[8];
    int tests;
    float *memory[RANKS_MAX]; /* GUARD + MOST + GUARD */
} sum_sweep;

static float guard_value(size_t i)
{
    return -1000.0f - (float)i;
}

/* Element j of the sum over all ranks. */
static float expected(int ranks, size_t j)
{
    return (float)((size_t)ranks * j + (size_t)(ranks * (ranks - 1) / 2));
}

static void fill(float *memory, int rank, size_t count)
{
    for (size_t i = 0; i < count + 2 * GUARD; i++)
        memory[i] = guard_value(i);
    for (size_t j = 0; j < count; j++)
        memory[GUARD + j] = (float)(j + (size_t)rank);
}

static cm_status verify(const float *memory, int ranks, size_t count)
{
    for (size_t i = 0; i < count + 2 * GUARD; i++) {
        bool inside = i >= GUARD && i < GUARD + count;
        float want = inside ? expected(ranks, i - GUARD) : guard_value(i);
        if (memory[i] != want)
            return cmi_error(CM_E_NUMERIC, "count %zu: %s %zd is %g, not %g", count,
                             inside ? "element" : "guard", (ssize_t)i - GUARD, (double)memory[i],
                             (double)want);
    }
    return CM_OK;
}

static cm_status sweep_body(int rank, void *argument)
{
    sum_sweep *sweep = argument;
    float *memory = sweep->memory[rank];
    for (int t = 0; t < sweep->tests; t++) {
        size_t count = sweep->counts[t];
        fill(memory, rank, count);
        CM_TRY(cmi_comm_all_reduce(sweep->comm, rank, memory + GUARD, count));
        CM_TRY(verify(memory, sweep->ranks, count));
    }
    return CM_OK;
}

static void sweep_start(sum_sweep *sweep, int ranks)
{
    memset(sweep, 0, sizeof *sweep);
    sweep->ranks = ranks;
    for (int r = 0; r < ranks; r++)
        ck_assert_cm_ok(CMI_NEW(MOST + 2 * GUARD, &sweep->memory[r]));
}

static void sweep_spec(sum_sweep *sweep, const char *spec)
{
    sweep->comm = make_comm(sweep->ranks, spec, LONG_MS);
    ranks_run(sweep->ranks, sweep_body, sweep);
    cmi_comm_destroy(sweep->comm);
}

static void sweep_end(sum_sweep *sweep)
{
    for (int r = 0; r < sweep->ranks; r++)
        cmi_free(sweep->memory[r]);
}

/* A26: every algorithm, the host link. */
START_TEST(sums_are_exact)
{
    int n = rank_counts[_i];
    sum_sweep sweep;
    sweep_start(&sweep, n);
    const size_t counts[] = {0, 1, (size_t)n - 1, (size_t)n, (size_t)n + 1, 1000, 0, MOST};
    memcpy(sweep.counts, counts, sizeof counts);
    for (int s = 0; s < CM_TEST_COUNT(specs); s++) {
        /* One element at a time over the long span is 30,000 meetings of n threads: only with
         * two. */
        bool tiny = !strcmp(specs[s], "ring segment=4");
        sweep.tests = CM_TEST_COUNT(counts) - (tiny && n != 2);
        sweep_spec(&sweep, specs[s]);
    }
    sweep_end(&sweep);
}
END_TEST

/* D07: ten numbers, not a multiple of four, after a thousand on the same group, in place. */
START_TEST(ten_after_a_thousand)
{
    const int ranks[] = {2, 3, 4};
    sum_sweep sweep;
    sweep_start(&sweep, ranks[_i]);
    const size_t counts[] = {1000, 10, 1000, 10};
    memcpy(sweep.counts, counts, sizeof counts);
    sweep.tests = CM_TEST_COUNT(counts);
    for (int s = 0; s < CM_TEST_COUNT(specs); s++)
        sweep_spec(&sweep, specs[s]);
    sweep_end(&sweep);
}
END_TEST

/* A27: small tensors with gaps between them, as one bucket and as three. */
typedef struct bucket_test {
    cmi_comm *comm;
    int ranks, buckets;
} bucket_test;

static cm_status bucket_body(int rank, void *argument)
{
    const bucket_test *test = argument;
    static const size_t begin[] = {0, 544, 576}, count[] = {512, 7, 1};
    float bucket[608] = {0}; /* gaps are 0 and must stay 0 */
    float want[608] = {0};
    for (int t = 0; t < 3; t++) {
        for (size_t j = 0; j < count[t]; j++) {
            bucket[begin[t] + j] = (float)(j + (size_t)rank);
            want[begin[t] + j] = expected(test->ranks, j);
        }
    }
    if (test->buckets == 1) CM_TRY(cmi_comm_all_reduce(test->comm, rank, bucket, 608));
    for (int t = 0; t < 3 && test->buckets == 3; t++)
        CM_TRY(cmi_comm_all_reduce(test->comm, rank, bucket + begin[t], count[t]));
    for (size_t i = 0; i < 608; i++)
        if (bucket[i] != want[i])
            return cmi_error(CM_E_NUMERIC, "float %zu is %g, not %g", i, (double)bucket[i],
                             (double)want[i]);
    return CM_OK;
}

START_TEST(small_tensors_in_buckets)
{
    const int ranks[] = {2, 4, 8};
    for (int s = 0; s < CM_TEST_COUNT(specs); s++) {
        bucket_test test = {.ranks = ranks[_i]};
        test.comm = make_comm(test.ranks, specs[s], LONG_MS);
        for (test.buckets = 1; test.buckets <= 3; test.buckets += 2)
            ranks_run(test.ranks, bucket_body, &test);
        cmi_comm_destroy(test.comm);
    }
}
END_TEST

/* Numbers whose sum depends on the order of the additions. */
typedef struct bits_test {
    cmi_comm *comm;
    int ranks;
    size_t count;
    float *got[RANKS_MAX];
} bits_test;

static float rough(int rank, size_t j)
{
    return (float)((j * 7919 + (size_t)rank * 104729 + 13) % 1009) /
           (float)(3 + (j + (size_t)rank) % 7);
}

static cm_status bits_body(int rank, void *argument)
{
    bits_test *test = argument;
    for (size_t j = 0; j < test->count; j++)
        test->got[rank][j] = rough(rank, j);
    return cmi_comm_all_reduce(test->comm, rank, test->got[rank], test->count);
}

/* Rank r's terms added in the order first, first + 1, ... mod n. */
static float sum_from(int first, int ranks, size_t j)
{
    float sum = rough(first % ranks, j);
    for (int k = 1; k < ranks; k++)
        sum += rough((first + k) % ranks, j);
    return sum;
}

/* Runs the spec, compares all ranks bit by bit with `want`. */
static void bits_run(bits_test *test, const char *spec, const float *want)
{
    test->comm = make_comm(test->ranks, spec, LONG_MS);
    ranks_run(test->ranks, bits_body, test);
    cmi_comm_destroy(test->comm);
    for (int r = 0; r < test->ranks; r++)
        ck_assert_floats_bits(test->got[r], want, test->count);
}

/* Each algorithm has one order, whatever the timing and the segments are.  A28 is the case of two
 * ranks: there ring and naive agree, also with 32 elements. */
START_TEST(order_is_fixed)
{
    static const size_t counts[] = {32, 1003};
    bits_test test = {.ranks = 2 + _i / 2, .count = counts[_i % 2]};
    size_t n = (size_t)test.ranks;
    float *ring, *naive;
    ck_assert_cm_ok(CMI_NEW(test.count, &ring));
    ck_assert_cm_ok(CMI_NEW(test.count, &naive));
    for (int r = 0; r < test.ranks; r++)
        ck_assert_cm_ok(CMI_NEW(test.count, &test.got[r]));
    size_t j = 0;
    for (size_t c = 0; c < n; c++) {
        size_t end = j + test.count / n + (c < test.count % n);
        for (; j < end; j++)
            ring[j] = sum_from((int)c + 1, test.ranks, j);
    }
    for (j = 0; j < test.count; j++)
        naive[j] = sum_from(0, test.ranks, j);

    for (int again = 0; again < 3; again++) {
        bits_run(&test, "naive", naive);
        bits_run(&test, "ring", ring);
        bits_run(&test, "ring segment=40", ring);
    }
    if (n == 2) ck_assert_floats_bits(ring, naive, test.count);
    for (int r = 0; r < test.ranks; r++)
        cmi_free(test.got[r]);
    cmi_free(ring);
    cmi_free(naive);
}
END_TEST

typedef struct quiet_test {
    cmi_comm *comm;
    uint64_t allocations;
} quiet_test;

static cm_status quiet_body(int rank, void *argument)
{
    quiet_test *test = argument;
    float span[1000] = {0};
    CM_TRY(cmi_comm_barrier(test->comm, rank));
    uint64_t before = cmi_mem_total();
    for (int i = 0; i < 50; i++) {
        CM_TRY(cmi_comm_all_reduce(test->comm, rank, span, 1000));
        CM_TRY(cmi_comm_broadcast(test->comm, rank, 1, span, sizeof span));
        CM_TRY(cmi_comm_all_gather(test->comm, rank, span, 4, span + 4));
    }
    uint64_t after = cmi_mem_total();
    CM_TRY(cmi_comm_barrier(test->comm, rank));
    if (rank == 0) test->allocations = after - before;
    return CM_OK;
}

START_TEST(calls_allocate_nothing)
{
    for (int s = 0; s < CM_TEST_COUNT(specs); s++) {
        quiet_test test = {.comm = make_comm(3, specs[s], LONG_MS), .allocations = 99};
        ranks_run(3, quiet_body, &test);
        ck_assert_uint_eq(test.allocations, 0);
        ck_assert_uint_eq(cmi_comm_reduced(test.comm), 50);
        cmi_comm_destroy(test.comm);
    }
}
END_TEST

START_TEST(choice)
{
    const char *const automatic[] = {NULL, "", "auto", "direct"};
    for (int i = 0; i < CM_TEST_COUNT(automatic); i++) {
        cmi_comm *comm = make_comm(4, automatic[i], LONG_MS);
        ck_assert_str_eq(cmi_comm_collective(comm), "direct");
        ck_assert_int_eq(cmi_comm_ranks(comm), 4);
        cmi_comm_destroy(comm);
    }
    cmi_comm *comm = make_comm(2, "naive", LONG_MS);
    ck_assert_str_eq(cmi_comm_collective(comm), "naive");
    cmi_comm_destroy(comm);
    cmi_comm_destroy(NULL);
}
END_TEST

static void refuse(int ranks, const char *spec, int64_t timeout_ms, cm_status status)
{
    cmi_comm *comm = (cmi_comm *)&comm;
    uint64_t live = cmi_mem_live();
    cmi_comm_options options = {.ranks = ranks, .collective = spec, .timeout_ms = timeout_ms};
    ck_assert_cm_status(cmi_comm_create(&options, &comm), status);
    ck_assert_ptr_null(comm);
    ck_assert_uint_eq(cmi_mem_live(), live);
}

START_TEST(bad_options)
{
    refuse(2, "rign", 1000, CM_E_NOT_FOUND);
    refuse(2, "ring segment=3", 1000, CM_E_INVALID);
    refuse(2, "ring segment=x", 1000, CM_E_INVALID);
    refuse(2, "ring parts=4", 1000, CM_E_INVALID);
    refuse(2, "naive segment=4", 1000, CM_E_INVALID);
    refuse(0, "ring", 1000, CM_E_INVALID);
    refuse(2, "ring", 0, CM_E_INVALID);
}
END_TEST

START_TEST(memory_runs_out)
{
    uint64_t live = cmi_mem_live();
    for (uint64_t k = 1;; k++) {
        cmi_comm *comm = NULL;
        cmi_comm_options options = {.ranks = 3, .collective = "ring", .timeout_ms = 1000};
        cmi_mem_fail_at(k);
        cm_status status = cmi_comm_create(&options, &comm);
        cmi_mem_fail_at(0);
        cmi_comm_destroy(comm);
        ck_assert_uint_eq(cmi_mem_live(), live);
        if (!status) {
            ck_assert_uint_gt(k, 8); /* comm, config, cells, ports, six edges: not none of them */
            return;
        }
        ck_assert_int_eq(status, CM_E_MEMORY);
    }
}
END_TEST

START_TEST(traffic)
{
    for (size_t i = 0; i < cmi_collective_registry.count; i++) {
        const cmi_collective *collective =
            (const cmi_collective *)(const void *)cmi_collective_registry.entries[i];
        bool naive = !strcmp(collective->entry.name, "naive");
        bool ring = !strcmp(collective->entry.name, "ring");
        size_t wire = 0;
        int steps = 0;
        collective->traffic(4, 1000, &wire, &steps);
        ck_assert_uint_eq(wire, naive ? 3000 : 1500);
        ck_assert_int_eq(steps, naive ? 4 : ring ? 6 : 2);
        collective->traffic(3, 1000, &wire, &steps);
        ck_assert_uint_eq(wire, naive ? 2000 : 1334); /* 4/3 of 1000, rounded up */
    }
}
END_TEST

Suite *sum_suite(void)
{
    Suite *suite = suite_create("sum");
    TCase *tcase = tcase_create("sum");
    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(tcase, sums_are_exact, 0, CM_TEST_COUNT(rank_counts));
    tcase_add_loop_test(tcase, ten_after_a_thousand, 0, 3);
    tcase_add_loop_test(tcase, small_tensors_in_buckets, 0, 3);
    tcase_add_loop_test(tcase, order_is_fixed, 0, 8);
    tcase_add_test(tcase, calls_allocate_nothing);
    tcase_add_test(tcase, choice);
    tcase_add_test(tcase, bad_options);
    tcase_add_test(tcase, memory_runs_out);
    tcase_add_test(tcase, traffic);
    suite_add_tcase(suite, tcase);
    return suite;
}
