/* suites.h - the suites of this program, and the communicator they make. */
#ifndef CM_TEST_COMM_SUITES_H
#define CM_TEST_COMM_SUITES_H

#include "comm/comm.h"
#include "support/cm_test.h"
#include "support/ranks.h"

Suite *sum_suite(void);
Suite *spread_suite(void);
Suite *failure_suite(void);
Suite *leave_suite(void);
Suite *commit_suite(void);

/* Must succeed; main thread. */
cmi_comm *make_comm(int ranks, const char *collective, int64_t timeout_ms);

/* Nothing in these tests takes this long unless it hangs. */
#define LONG_MS 60000

#endif
