/* ranks.c - starts the threads of ranks.h and collects how they ended. */
#include <string.h>
#include "support/cm_test.h"
#include "support/ranks.h"

static void run_one(void *argument)
{
    ranks_one *one = argument;
    cmi_error_clear();
    cm_status status = one->all->body(one->rank, one->all->argument);
    if (status) cmi_error_save(&one->error);
    one->error.status = status;
}

void ranks_start(rank_group *ranks, int count, ranks_body body, void *argument)
{
    ck_assert_int_le(count, RANKS_MAX);
    memset(ranks, 0, sizeof *ranks);
    ranks->count = count;
    ranks->body = body;
    ranks->argument = argument;
    for (int r = 0; r < count; r++) {
        ranks->one[r].all = ranks;
        ranks->one[r].rank = r;
        ck_assert_cm_ok(cmi_thread_start(&ranks->one[r].thread, "rank", run_one, &ranks->one[r]));
    }
}

void ranks_join(rank_group *ranks)
{
    for (int r = 0; r < ranks->count; r++)
        cmi_thread_join(ranks->one[r].thread);
}

void ranks_assert_ok(const rank_group *ranks)
{
    for (int r = 0; r < ranks->count; r++) {
        const cm_error *error = &ranks->one[r].error;
        if (error->status)
            ck_abort_msg("rank %d of %d: %s: %s", r, ranks->count, cm_status_name(error->status),
                         error->message);
    }
}

int ranks_ended_with(const rank_group *ranks, cm_status status)
{
    int number = 0;
    for (int r = 0; r < ranks->count; r++)
        number += ranks->one[r].error.status == status;
    return number;
}

void ranks_run(int count, ranks_body body, void *argument)
{
    rank_group all;
    ranks_start(&all, count, body, argument);
    ranks_join(&all);
    ranks_assert_ok(&all);
}
