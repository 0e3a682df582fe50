/* test_comm.c - the communicator on host memory: no device, so the thread sanitizer sees all of it.
 *
 * Spans hold whole numbers, element j of rank r is j + r, so that every sum is exact in float and
 * the right value is a formula: n j + n (n-1) / 2.  Ids such as A27 name the re-enacted reports. */
#include "comm/suites.h"

cmi_comm *make_comm(int ranks, const char *collective, int64_t timeout_ms)
{
    cmi_comm *comm = NULL;
    cmi_comm_options options = {.ranks = ranks, .collective = collective, .timeout_ms = timeout_ms};
    ck_assert_cm_ok(cmi_comm_create(&options, &comm));
    return comm;
}

int main(int argc, char **argv)
{
    Suite *suites[] = {sum_suite(), spread_suite(), failure_suite(), leave_suite(), commit_suite()};
    return cm_test_main(argc, argv, suites, CM_TEST_COUNT(suites));
}
