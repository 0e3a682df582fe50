/* test_spread.c - all-gather, broadcast and barrier, also mixed with all-reduces on the same edges.
 *
 * Byte i of rank r's block is a mix of both, so a block from the wrong rank or place is seen. */
#include <string.h>
#include <stdatomic.h>
#include "base/clock.h"
#include "comm/suites.h"

#define MOST 70000

static const int rank_counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 13};
static const size_t sizes[] = {0, 1, 3, 4, 1000, 5000};

typedef struct spread_test {
    cmi_comm *comm;
    int ranks;
    unsigned char memory[RANKS_MAX][MOST];
    unsigned char block[RANKS_MAX][5000];
} spread_test;

static spread_test shared; /* too large for a stack */

static unsigned char mix(int rank, size_t i, int round)
{
    return (unsigned char)((size_t)rank * 37 + i * 11 + (size_t)round * 5 + 1);
}

static cm_status check(const unsigned char *bytes, size_t count, int rank, int round)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != mix(rank, i, round))
            return cmi_error(CM_E_NUMERIC, "byte %zu of %zu of rank %d is %d, not %d", i, count,
                             rank, bytes[i], mix(rank, i, round));
    return CM_OK;
}

static void fill(unsigned char *bytes, size_t count, int rank, int round)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = mix(rank, i, round);
}

/* Out of place, or with `in_place` from the rank's own place in recv. */
static cm_status gather_once(int rank, size_t bytes, int round, bool in_place)
{
    unsigned char *recv = shared.memory[rank];
    unsigned char *send = in_place ? recv + (size_t)rank * bytes : shared.block[rank];
    size_t all = (size_t)shared.ranks * bytes;
    memset(recv, 0xee, all + 8);
    fill(send, bytes, rank, round);
    CM_TRY(cmi_comm_all_gather(shared.comm, rank, send, bytes, recv));
    for (int q = 0; q < shared.ranks; q++)
        CM_TRY_CTX(check(recv + (size_t)q * bytes, bytes, q, round), "gather");
    for (size_t i = all; i < all + 8; i++)
        if (recv[i] != 0xee) return cmi_error(CM_E_NUMERIC, "byte %zu behind the end changed", i);
    return CM_OK;
}

static cm_status broadcast_once(int rank, int root, size_t bytes, int round)
{
    unsigned char *span = shared.memory[rank];
    fill(span, bytes, rank == root ? root : 99, round);
    span[bytes] = 0xee;
    CM_TRY(cmi_comm_broadcast(shared.comm, rank, root, span, bytes));
    CM_TRY_CTX(check(span, bytes, root, round), "broadcast");
    return span[bytes] == 0xee ? CM_OK : cmi_error(CM_E_NUMERIC, "a byte behind the end changed");
}

static cm_status spread_body(int rank, void *argument)
{
    (void)argument;
    int round = 0;
    for (int s = 0; s < CM_TEST_COUNT(sizes); s++) {
        CM_TRY(gather_once(rank, sizes[s], round++, false));
        CM_TRY(gather_once(rank, sizes[s], round++, true));
        for (int root = 0; root < shared.ranks; root++)
            CM_TRY(broadcast_once(rank, root, sizes[s], round++));
        CM_TRY(cmi_comm_barrier(shared.comm, rank));
    }
    return CM_OK;
}

START_TEST(bytes_arrive)
{
    shared.ranks = rank_counts[_i];
    shared.comm = make_comm(shared.ranks, NULL, LONG_MS);
    ranks_run(shared.ranks, spread_body, NULL);
    cmi_comm_destroy(shared.comm);
}
END_TEST

static cm_status mixed_body(int rank, void *argument)
{
    (void)argument;
    float span[101];
    int n = shared.ranks;
    for (int round = 0; round < 40; round++) {
        for (int j = 0; j < 101; j++)
            span[j] = (float)(j + rank + round);
        CM_TRY(gather_once(rank, 24, round, false));
        CM_TRY(cmi_comm_all_reduce(shared.comm, rank, span, 101));
        CM_TRY(broadcast_once(rank, round % n, 40, round));
        if (round % 3 == 0) CM_TRY(cmi_comm_barrier(shared.comm, rank));
        for (int j = 0; j < 101; j++)
            if (span[j] != (float)(n * (j + round) + n * (n - 1) / 2))
                return cmi_error(CM_E_NUMERIC, "round %d: element %d is %g", round, j,
                                 (double)span[j]);
    }
    return CM_OK;
}

START_TEST(mixed_calls)
{
    const char *const specs[] = {"naive", "direct", "ring", "ring segment=16"};
    shared.ranks = 2 + _i;
    for (int s = 0; s < CM_TEST_COUNT(specs); s++) {
        shared.comm = make_comm(shared.ranks, specs[s], LONG_MS);
        ranks_run(shared.ranks, mixed_body, NULL);
        ck_assert_uint_eq(cmi_comm_reduced(shared.comm), 40);
        cmi_comm_destroy(shared.comm);
    }
}
END_TEST

/* Each rank lends its own number and reads everybody's; then the numbers change. */
static cm_status lend_body(int rank, void *argument)
{
    (void)argument;
    int number = 0;
    for (int round = 0; round < 200; round++) {
        const void *const *all = NULL;
        number = 1000 * round + rank;
        CM_TRY(cmi_comm_lend(shared.comm, rank, &number, &all));
        for (int r = 0; r < shared.ranks; r++)
            if (*(const int *)all[r] != 1000 * round + r)
                return cmi_error(CM_E_NUMERIC, "round %d: rank %d shows %d", round, r,
                                 *(const int *)all[r]);
        CM_TRY(cmi_comm_take_back(shared.comm, rank));
        number = -1;
    }
    return CM_OK;
}

START_TEST(lending)
{
    shared.ranks = 1 + _i;
    shared.comm = make_comm(shared.ranks, NULL, LONG_MS);
    ranks_run(shared.ranks, lend_body, NULL);
    cmi_comm_destroy(shared.comm);
}
END_TEST

static _Atomic bool read_done;

/* Rank 1 fails while rank 0 is still reading what it lent: it must not come back before that ended.
 */
static cm_status leave_body(int rank, void *argument)
{
    (void)argument;
    const void *const *all = NULL;
    CM_TRY(cmi_comm_lend(shared.comm, rank, &rank, &all));
    if (rank == 1) {
        const cm_error error = {.status = CM_E_IO, .message = "rank 1 gives up"};
        cmi_comm_abort(shared.comm, 1, &error);
        cm_status status = cmi_comm_take_back(shared.comm, 1);
        if (!atomic_load(&read_done)) return cmi_error(CM_E_NUMERIC, "taken back under the reader");
        return status == CM_E_ABORTED ? CM_OK : cmi_error(CM_E_NUMERIC, "status %d", (int)status);
    }
    cmi_sleep_ns(100000000);
    atomic_store(&read_done, true);
    return cmi_comm_take_back(shared.comm, 0) == CM_E_ABORTED
               ? CM_OK
               : cmi_error(CM_E_NUMERIC, "not aborted");
}

START_TEST(lent_until_read)
{
    shared.ranks = 2;
    atomic_store(&read_done, false);
    shared.comm = make_comm(2, NULL, LONG_MS);
    ranks_run(2, leave_body, NULL);
    cmi_comm_destroy(shared.comm);
}
END_TEST

Suite *spread_suite(void)
{
    Suite *suite = suite_create("spread");
    TCase *tcase = tcase_create("spread");
    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(tcase, bytes_arrive, 0, CM_TEST_COUNT(rank_counts));
    tcase_add_loop_test(tcase, mixed_calls, 0, 4);
    tcase_add_loop_test(tcase, lending, 0, 5);
    tcase_add_test(tcase, lent_until_read);
    suite_add_tcase(suite, tcase);
    return suite;
}
