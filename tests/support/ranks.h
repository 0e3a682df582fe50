/* ranks.h - n threads that play the ranks of a communicator.
 *
 * Each thread runs body(rank, argument) and keeps the status that it returned with the error record
 * of its thread.  Nothing is asserted there: Check's assertions belong to the main thread, which
 * asks for the results after ranks_join.  ranks_start, ranks_join and ranks_run are called on the
 * main thread. */
#ifndef CM_TEST_RANKS_H
#define CM_TEST_RANKS_H

#include "base/thread.h"

#define RANKS_MAX 16

typedef cm_status (*ranks_body)(int rank, void *argument);

typedef struct rank_group rank_group;

typedef struct ranks_one {
    rank_group *all;
    int rank;
    cmi_thread thread;
    cm_error error; /* status CM_OK and no message when the body succeeded */
} ranks_one;

struct rank_group {
    int count;
    ranks_body body;
    void *argument;
    ranks_one one[RANKS_MAX];
};

void ranks_start(rank_group *ranks, int count, ranks_body body, void *argument);
void ranks_join(rank_group *ranks);
/* Start and join, and every rank must have succeeded. */
void ranks_run(int count, ranks_body body, void *argument);
/* Every rank must have succeeded; prints the first that did not. */
void ranks_assert_ok(const rank_group *ranks);
/* How many ranks ended with this status. */
int ranks_ended_with(const rank_group *ranks, cm_status status);

#endif
