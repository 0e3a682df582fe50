/* test_failure.c - aborts, deadlines, blame, and going on after a reset.
 *
 * Deadlines are short here and sleeps several times longer; nothing is said about how fast a
 * failure is seen, only that it is seen and who is named. */
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "comm/suites.h"

#define MS       INT64_C(1000000)
#define SHORT_MS 150

/* The calls of comm.h one after another: kind k % KINDS. */
enum { REDUCE, GATHER, BROADCAST, BARRIER, REDUCE_NONE, KINDS };

static cm_status one_call(cmi_comm *comm, int rank, int kind, float *span, size_t count)
{
    float gathered[RANKS_MAX * 4];
    switch (kind) {
    case REDUCE:
        return cmi_comm_all_reduce(comm, rank, span, count);
    case GATHER:
        return cmi_comm_all_gather(comm, rank, span, 4 * sizeof *span, gathered);
    case BROADCAST:
        return cmi_comm_broadcast(comm, rank, cmi_comm_ranks(comm) / 2, span, count * sizeof *span);
    case BARRIER:
        return cmi_comm_barrier(comm, rank);
    default:
        return cmi_comm_all_reduce(comm, rank, span, 0);
    }
}

typedef struct failure_test {
    cmi_comm *comm;
    int ranks, calls;
    size_t floats;     /* of a span */
    int culprit, call; /* this rank does not make that call but fails; -1: nobody */
    int64_t nap_ns;    /* what it does instead of aborting, then it makes the call; 0: it aborts */
    int64_t build_ns;  /* and this much of building before the nap */
} failure_test;

static cm_status fail_here(const failure_test *test, int rank)
{
    cm_error error;
    cm_status status = cmi_error(CM_E_OPENCL, "rank %d broke in call %d", rank, test->call);
    cmi_error_save(&error);
    cmi_comm_abort(test->comm, rank, &error);
    return status;
}

/* Spans are freed at once when a call returns: whoever still read them would be caught by the
 * sanitizers. */
static cm_status failure_body(int rank, void *argument)
{
    const failure_test *test = argument;
    cm_status status = CM_OK;
    for (int k = 0; k < test->calls && !status; k++) {
        float *span;
        if (rank == test->culprit && k == test->call) {
            if (!test->nap_ns && !test->build_ns) return fail_here(test, rank);
            cmi_comm_set_state(test->comm, rank, CMI_RANK_BUILDING);
            cmi_sleep_ns(test->build_ns);
            cmi_comm_set_state(test->comm, rank, CMI_RANK_RUNNING);
            cmi_comm_set_phase(test->comm, rank, "napping");
            cmi_sleep_ns(test->nap_ns);
        }
        CM_TRY(CMI_NEW(test->floats, &span));
        status = one_call(test->comm, rank, k % KINDS, span, test->floats);
        memset(span, 0xff, test->floats * sizeof *span);
        cmi_free(span);
    }
    return status;
}

static void run_well(const failure_test *broken)
{
    failure_test test = *broken;
    test.culprit = -1;
    cmi_comm_reset(test.comm);
    ck_assert(!cmi_comm_aborted(test.comm));
    cm_error first;
    int rank;
    cmi_comm_first_error(test.comm, &first, &rank);
    ck_assert_int_eq(first.status, CM_OK);
    ck_assert_int_eq(rank, -1);
    ranks_run(test.ranks, failure_body, &test);
}

static const char *const specs[] = {"naive", "direct", "ring", "ring segment=100"};

/* D12: each rank fails before each call; the error is its error; after a reset the group works. */
START_TEST(abort_before_each_call)
{
    rank_group ranks;
    failure_test test = {.ranks = 4, .floats = 3000, .calls = 2 * KINDS, .culprit = _i};
    for (int s = 0; s < CM_TEST_COUNT(specs); s++) {
        test.comm = make_comm(test.ranks, specs[s], LONG_MS);
        for (test.call = 0; test.call < test.calls; test.call++) {
            cm_error first;
            int rank;
            ranks_start(&ranks, test.ranks, failure_body, &test);
            ranks_join(&ranks);
            ck_assert_int_eq(ranks.one[_i].error.status, CM_E_OPENCL);
            ck_assert_int_eq(ranks_ended_with(&ranks, CM_E_ABORTED), 3);
            cmi_comm_first_error(test.comm, &first, &rank);
            ck_assert_int_eq(rank, _i);
            ck_assert_str_eq(first.message, ranks.one[_i].error.message);
            for (int r = 0; r < 4; r++) /* the others say why they ended */
                ck_assert_ptr_nonnull(strstr(ranks.one[r].error.message, first.message));
            run_well(&test);
        }
        cmi_comm_destroy(test.comm);
    }
}
END_TEST

/* An abort from a thread that is no rank, at any moment of any call. */
START_TEST(abort_from_outside)
{
    failure_test test = {.ranks = 2 + 3 * (_i % 2), .calls = 1000000, .culprit = -1};
    test.floats = 20000;
    for (int round = 0; round < 150; round++) {
        rank_group ranks;
        cm_error error = {.status = CM_E_STATE, .message = "stop"}, first;
        int rank;
        test.comm = make_comm(test.ranks, specs[round % 3], LONG_MS);
        ranks_start(&ranks, test.ranks, failure_body, &test);
        cmi_sleep_ns((round * 7919 % 1000) * 1000);
        cmi_comm_abort(test.comm, -1, &error);
        ranks_join(&ranks);
        ck_assert_int_eq(ranks_ended_with(&ranks, CM_E_ABORTED), test.ranks);
        cmi_comm_first_error(test.comm, &first, &rank);
        ck_assert_int_eq(first.status, CM_E_STATE);
        ck_assert_int_eq(rank, -1);
        cmi_comm_destroy(test.comm);
    }
}
END_TEST

static cm_status two_errors_body(int rank, void *argument)
{
    const failure_test *test = argument;
    if (rank % 2) {
        cmi_sleep_ns(rank == 3 ? 60 * MS : 1);
        return fail_here(test, rank);
    }
    return cmi_comm_barrier(test->comm, rank);
}

/* D12 */
START_TEST(first_error_wins)
{
    rank_group ranks;
    cm_error first;
    int rank;
    failure_test test = {.comm = make_comm(4, NULL, LONG_MS)};
    ranks_start(&ranks, 4, two_errors_body, &test);
    ranks_join(&ranks);
    cmi_comm_first_error(test.comm, &first, &rank);
    ck_assert_int_eq(rank, 1);
    ck_assert_str_eq(first.message, "rank 1 broke in call 0");
    ck_assert_int_eq(ranks.one[0].error.status, CM_E_ABORTED);
    ck_assert_int_eq(ranks.one[2].error.status, CM_E_ABORTED);
    cmi_comm_destroy(test.comm);
}
END_TEST

static const char *const names[] = {"device zero", "device one", "device two", "device three"};

static cmi_comm *named_comm(const char *spec, int64_t timeout_ms)
{
    cmi_comm *comm = NULL;
    cmi_comm_options options = {
        .ranks = 4, .collective = spec, .timeout_ms = timeout_ms, .rank_names = names};
    ck_assert_cm_ok(cmi_comm_create(&options, &comm));
    return comm;
}

/* D11: rank 2 sleeps; in the ring only rank 3 waits for it, 0 for 3 and 1 for 0; all the same rank
 * 2 is named. */
START_TEST(sleeper_is_blamed)
{
    static const char *const calls[] = {"all-reduce", "all-gather", "broadcast", "barrier",
                                        "all-reduce"};
    rank_group ranks;
    cm_error first;
    int rank;
    failure_test test = {
        .ranks = 4, .floats = 3000, .calls = KINDS, .culprit = 2, .call = _i % KINDS};
    test.nap_ns = 6 * SHORT_MS * MS;
    /* The naive sum and the broadcast are stars, the ring is a chain. */
    test.comm = named_comm(_i / KINDS ? "naive" : "ring", SHORT_MS);
    ranks_start(&ranks, 4, failure_body, &test);
    ranks_join(&ranks);
    ck_assert_int_eq(ranks_ended_with(&ranks, CM_E_TIMEOUT), 1);
    ck_assert_int_eq(ranks_ended_with(&ranks, CM_E_ABORTED), 3);
    ck_assert_int_eq(ranks.one[2].error.status, CM_E_ABORTED);
    cmi_comm_first_error(test.comm, &first, &rank);
    ck_assert_int_eq(first.status, CM_E_TIMEOUT);
    ck_assert_int_ne(rank, 2);
    ck_assert_msg(!strncmp(first.message, "device two made no progress", 27), "%s", first.message);
    ck_assert_msg(strstr(first.message, "\"napping\""), "%s", first.message);
    ck_assert_msg(strstr(first.message, calls[test.call]), "%s", first.message);
    for (int r = 0; r < 4; r++)
        ck_assert_ptr_nonnull(strstr(ranks.one[r].error.message, first.message));
    test.nap_ns = 0;
    run_well(&test);
    cmi_comm_destroy(test.comm);
}
END_TEST

/* Building takes as long as it takes; a rank that hangs afterwards is blamed all the same. */
START_TEST(building_has_no_deadline)
{
    rank_group ranks;
    failure_test test = {.ranks = 4, .floats = 3000, .calls = KINDS, .culprit = 2, .call = _i};
    test.build_ns = 5 * SHORT_MS * MS;
    test.comm = named_comm("ring", SHORT_MS);
    ranks_run(4, failure_body, &test);

    test.nap_ns = 6 * SHORT_MS * MS;
    ranks_start(&ranks, 4, failure_body, &test);
    ranks_join(&ranks);
    ck_assert_int_eq(ranks_ended_with(&ranks, CM_E_TIMEOUT), 1);
    cmi_comm_destroy(test.comm);
}
END_TEST

static cm_status slow_body(int rank, void *argument)
{
    cmi_comm *comm = argument;
    for (int i = 0; rank == 2 && i < 20; i++) {
        cmi_sleep_ns(50 * MS);
        cmi_comm_set_phase(comm, rank, i % 2 ? "left foot" : "right foot");
    }
    return cmi_comm_barrier(comm, rank);
}

/* The deadline is about progress: a second of work in small steps is no reason. */
START_TEST(slow_is_not_dead)
{
    cmi_comm *comm = named_comm("ring", 500);
    ranks_run(4, slow_body, comm);
    cmi_comm_destroy(comm);
}
END_TEST

static cm_status unequal_body(int rank, void *argument)
{
    float span[10] = {0};
    return cmi_comm_all_reduce(argument, rank, span, rank ? 10 : 8);
}

static cm_status crossed_body(int rank, void *argument)
{
    float span[10] = {0};
    return rank ? cmi_comm_all_reduce(argument, rank, span, 10) : cmi_comm_barrier(argument, rank);
}

/* Calls that do not match end with an error that says so, not with a wrong sum. */
START_TEST(calls_do_not_match)
{
    rank_group ranks;
    cm_error first;
    int rank;
    cmi_comm *comm = make_comm(2, _i ? "naive" : "ring", SHORT_MS);
    ranks_start(&ranks, 2, unequal_body, comm);
    ranks_join(&ranks);
    cmi_comm_first_error(comm, &first, &rank);
    ck_assert_int_eq(ranks_ended_with(&ranks, CM_OK), 0);
    ck_assert_int_eq(first.status, CM_E_STATE);
    ck_assert_ptr_nonnull(strstr(first.message, "same counts"));

    cmi_comm_reset(comm);
    ranks_start(&ranks, 2, crossed_body, comm);
    ranks_join(&ranks);
    cmi_comm_first_error(comm, &first, &rank);
    ck_assert_int_eq(ranks_ended_with(&ranks, CM_OK), 0);
    ck_assert_int_eq(first.status, CM_E_TIMEOUT);
    ck_assert_msg(strstr(first.message, "wait for each other"), "%s", first.message);
    cmi_comm_destroy(comm);
}
END_TEST

START_TEST(one_rank_is_told_too)
{
    float span[4] = {1, 2, 3, 4}, got[4];
    cm_error error = {.status = CM_E_STATE, .message = "stop"};
    cmi_comm *comm = make_comm(1, NULL, LONG_MS);
    ck_assert_cm_ok(cmi_comm_all_reduce(comm, 0, span, 4));
    ck_assert_cm_ok(cmi_comm_all_gather(comm, 0, span, sizeof span, got));
    ck_assert_cm_ok(cmi_comm_broadcast(comm, 0, 0, span, sizeof span));
    ck_assert_cm_ok(cmi_comm_barrier(comm, 0));
    ck_assert_float_eq(got[3], 4);
    cmi_comm_abort(comm, -1, &error);
    ck_assert_cm_status(cmi_comm_barrier(comm, 0), CM_E_ABORTED);
    ck_assert_cm_status(cmi_comm_all_reduce(comm, 0, span, 4), CM_E_ABORTED);
    ck_assert_message_has("stop");
    cmi_comm_reset(comm);
    ck_assert_cm_ok(cmi_comm_barrier(comm, 0));
    cmi_comm_destroy(comm);
}
END_TEST

Suite *failure_suite(void)
{
    Suite *suite = suite_create("failure");
    TCase *tcase = tcase_create("failure");
    tcase_set_timeout(tcase, 280);
    tcase_add_loop_test(tcase, abort_before_each_call, 0, 4);
    tcase_add_loop_test(tcase, abort_from_outside, 0, 2);
    tcase_add_test(tcase, first_error_wins);
    tcase_add_loop_test(tcase, sleeper_is_blamed, 0, 2 * KINDS);
    tcase_add_loop_test(tcase, building_has_no_deadline, 0, 2);
    tcase_add_test(tcase, slow_is_not_dead);
    tcase_add_loop_test(tcase, calls_do_not_match, 0, 2);
    tcase_add_test(tcase, one_rank_is_told_too);
    suite_add_tcase(suite, tcase);
    return suite;
}
