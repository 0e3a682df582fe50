/* test_leave.c - a call does not return while another rank can touch the caller's span, also after
 * an abort.
 *
 * The spans are so long that a copy takes milliseconds, and the abort comes in its middle.  A rank
 * that has left spoils its span at once; the reader must not have seen any of that. */
#include <math.h>
#include "base/clock.h"
#include "base/mem.h"
#include "comm/collective.h"
#include "comm/suites.h"

#define CHUNK  ((size_t)2 << 20) /* floats */
#define ROUNDS 24

typedef struct leave_test {
    cmi_comm *comm;
    float *span[2]; /* of ranks 0 and 1 */
    int64_t delay_ns;
    bool through; /* the receiver got the whole span */
} leave_test;

static void set_all(float *span, size_t count, float value)
{
    for (size_t i = 0; i < count; i++)
        span[i] = value;
}

/* Counts the elements that are not a number, which only a span that was spoilt can have brought
 * in. */
static size_t spoilt(const float *span, size_t count)
{
    size_t number = 0;
    for (size_t i = 0; i < count; i++)
        number += isnan(span[i]) != 0;
    return number;
}

static void abort_after(leave_test *test)
{
    cm_error error = {.status = CM_E_STATE, .message = "stop"};
    cmi_sleep_ns(test->delay_ns);
    cmi_comm_abort(test->comm, -1, &error);
}

static cm_status link_body(int rank, void *argument)
{
    leave_test *test = argument;
    const cmi_link *link;
    /* So that all three run, and the delay is counted from the beginning of the copy. */
    CM_TRY(cmi_comm_barrier(test->comm, rank));
    cmi_edge *edge = cmi_comm_edge(test->comm, 0, 1, &link);
    if (rank == 2) {
        abort_after(test);
        return CM_OK;
    }
    if (rank == 1) {
        cm_status status = link->recv(edge, test->span[1], CHUNK * sizeof(float), CMI_RECV_COPY);
        test->through = !status;
        return status;
    }
    CM_TRY(link->send(edge, test->span[0], CHUNK * sizeof(float)));
    cm_status status = link->wait(edge);
    set_all(test->span[0], CHUNK, NAN);
    return status;
}

static void leave_start(leave_test *test, size_t count)
{
    *test = (leave_test){.comm = make_comm(3, "ring segment=1073741824", LONG_MS)};
    for (int r = 0; r < 2; r++)
        ck_assert_cm_ok(CMI_NEW(count, &test->span[r]));
}

static void leave_end(leave_test *test)
{
    for (int r = 0; r < 2; r++)
        cmi_free(test->span[r]);
    cmi_comm_destroy(test->comm);
}

/* A receiver that began before the abort gets all of the span; one that did not begin gets
 * nothing. */
START_TEST(sender_waits_for_its_reader)
{
    leave_test test;
    int in_the_middle = 0;
    leave_start(&test, CHUNK);
    for (int round = 0; round < 40 * ROUNDS && in_the_middle < 3; round++) {
        rank_group ranks;
        set_all(test.span[0], CHUNK, 1.0f);
        set_all(test.span[1], CHUNK, 0.0f);
        test.through = false;
        test.delay_ns = (round % ROUNDS + 1) * 50000;
        ranks_start(&ranks, 3, link_body, &test);
        ranks_join(&ranks);
        for (size_t i = 0; i < CHUNK; i++)
            if (test.span[1][i] != (test.through ? 1.0f : 0.0f))
                ck_abort_msg("round %d: float %zu of %zu is %g", round, i, CHUNK,
                             (double)test.span[1][i]);
        in_the_middle += test.through && ranks.one[0].error.status == CM_E_ABORTED;
        cmi_comm_reset(test.comm);
    }
    /* Else nothing was tested. */
    ck_assert_int_gt(in_the_middle, 0);
    leave_end(&test);
}
END_TEST

static cm_status ring_body(int rank, void *argument)
{
    leave_test *test = argument;
    if (rank == 2) {
        abort_after(test);
        return CM_OK;
    }
    cm_status status = cmi_comm_all_reduce(test->comm, rank, test->span[rank], 3 * CHUNK);
    if (rank == 0) set_all(test->span[0], 3 * CHUNK, NAN);
    return status;
}

/* Rank 0 waits for rank 2, which never comes, while rank 1 adds the chunk that rank 0 has lent. */
START_TEST(ring_waits_for_its_reader)
{
    leave_test test;
    leave_start(&test, 3 * CHUNK);
    for (int round = 0; round < ROUNDS; round++) {
        rank_group ranks;
        for (int r = 0; r < 2; r++)
            set_all(test.span[r], 3 * CHUNK, 1.0f);
        test.delay_ns = (round + 1) * 100000;
        ranks_start(&ranks, 3, ring_body, &test);
        ranks_join(&ranks);
        ck_assert_int_eq(ranks_ended_with(&ranks, CM_E_ABORTED), 2);
        ck_assert_uint_eq(spoilt(test.span[1], 3 * CHUNK), 0);
        cmi_comm_reset(test.comm);
    }
    leave_end(&test);
}
END_TEST

Suite *leave_suite(void)
{
    Suite *suite = suite_create("leave");
    TCase *tcase = tcase_create("leave");
    tcase_set_timeout(tcase, 280);
    tcase_add_test(tcase, sender_waits_for_its_reader);
    tcase_add_test(tcase, ring_waits_for_its_reader);
    suite_add_tcase(suite, tcase);
    return suite;
}
