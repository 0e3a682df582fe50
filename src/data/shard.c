/* shard.c - which rows of a batch belong to which rank.
 *
 * Even shares that differ by at most one row, the larger ones first: 10 rows on 4 ranks are 3 3 2
 * 2.  Ranks beyond the rows get an empty shard, begin == end.  A pure function of its arguments, so
 * every rank knows every shard without asking; called by the workers in each step. */
#include "data/data.h"

void cmi_shard(int64_t rows, int ranks, int rank, int64_t *begin, int64_t *end)
{
    int64_t share = rows / ranks, extra = rows % ranks;
    *begin = share * rank + (rank < extra ? rank : extra);
    *end = *begin + share + (rank < extra ? 1 : 0);
}

int64_t cmi_shard_max(int64_t rows, int ranks)
{
    return rows / ranks + (rows % ranks > 0 ? 1 : 0);
}
