/* test_commit.c - the promise that a training step is committed by: a barrier completes for all or
 * for none.
 *
 * All ranks go through barriers as fast as they can and count those that succeeded; an abort comes
 * at some moment.  A rank that counted one more than another would have committed a step alone. */
#include "base/clock.h"
#include "comm/suites.h"

typedef struct commit_test {
    cmi_comm *comm;
    bool reduce; /* all-reduces, which end with a barrier, instead of bare barriers */
    int culprit; /* rank that aborts after `after` barriers; -1: main does */
    int after;
    /* A cache line for each counter: the ranks must not be slowed into step by it. */
    struct {
        _Atomic int done;
        char pad[64];
    } rank[RANKS_MAX];
} commit_test;

static void abort_now(cmi_comm *comm, int rank)
{
    cm_error error = {.status = CM_E_STATE, .message = "stop"};
    cmi_comm_abort(comm, rank, &error);
}

static cm_status commit_body(int rank, void *argument)
{
    commit_test *test = argument;
    float span[5] = {0};
    for (;;) {
        if (rank == test->culprit && atomic_load(&test->rank[rank].done) == test->after)
            abort_now(test->comm, rank);
        CM_TRY(test->reduce ? cmi_comm_all_reduce(test->comm, rank, span, 5)
                            : cmi_comm_barrier(test->comm, rank));
        atomic_fetch_add(&test->rank[rank].done, 1);
    }
}

/* Lets the ranks run to about barrier `after`, then aborts in the midst of them. */
static void disturb(commit_test *test, int ranks, int jitter)
{
    int watched = jitter % ranks;
    int64_t give_up = cmi_now_ns() + INT64_C(20000000000);
    while (atomic_load(&test->rank[watched].done) < test->after && cmi_now_ns() < give_up) {}
    for (volatile int spin = 0; spin < jitter % 400; spin++) {}
    abort_now(test->comm, -1);
}

static void commit_rounds(int count, bool reduce, bool outside, int rounds)
{
    cmi_comm *comm = make_comm(count, "ring", LONG_MS);
    for (int round = 0; round < rounds; round++) {
        rank_group ranks;
        int jitter = round * 7919 % 1009;
        commit_test test = {.comm = comm, .reduce = reduce, .after = jitter % 23};
        test.culprit = outside ? -1 : jitter % count;
        ranks_start(&ranks, count, commit_body, &test);
        if (outside) disturb(&test, count, jitter);
        ranks_join(&ranks);
        ck_assert_int_eq(ranks_ended_with(&ranks, CM_E_ABORTED), count);
        for (int r = 0; r < count; r++)
            ck_assert_msg(test.rank[r].done == test.rank[0].done,
                          "round %d: rank %d passed %d barriers, rank 0 passed %d", round, r,
                          test.rank[r].done, test.rank[0].done);
        if (!outside) ck_assert_int_eq(test.rank[0].done, test.after);
        cmi_comm_reset(comm);
    }
    cmi_comm_destroy(comm);
}

static const int counts[] = {2, 3, 5};

START_TEST(barrier_for_all_or_none)
{
    commit_rounds(counts[_i], false, true, 500);
    commit_rounds(counts[_i], false, false, 100);
}
END_TEST

START_TEST(all_reduce_for_all_or_none)
{
    commit_rounds(counts[_i], true, true, 200);
    commit_rounds(counts[_i], true, false, 50);
}
END_TEST

Suite *commit_suite(void)
{
    Suite *suite = suite_create("commit");
    TCase *tcase = tcase_create("commit");
    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(tcase, barrier_for_all_or_none, 0, CM_TEST_COUNT(counts));
    tcase_add_loop_test(tcase, all_reduce_for_all_or_none, 0, CM_TEST_COUNT(counts));
    suite_add_tcase(suite, tcase);
    return suite;
}
