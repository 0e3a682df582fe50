/* coll_direct.c - all-reduce over memory that all ranks can read: no messages, three meetings.
 *
 * The vector is cut into n chunks, chunk c owned by rank c.  All lend their spans; each rank sums
 * its chunk over all ranks in the order 0, 1, ..., n-1, in place (nobody else reads or writes chunk
 * c of rank c's span); they meet; each copies the finished chunks of the others; they meet again
 * before anybody takes its span back.  Every element is (x0 + x1) + x2 + ... wherever the chunks
 * end, so the bits do not depend on how a vector is cut into buckets.
 *
 * Each rank reads n/n of the vector to sum and (n-1)/n to copy.
 *
 * Called on the thread of each rank, all ranks at once.  Allocates nothing. */
#include <string.h>
#include "comm/collective.h"
#include "comm/group.h"

/* Chunks begin at cache lines, so that no two ranks write one. */
enum { LINE_FLOATS = CMI_CACHE_LINE / sizeof(float) };

static size_t chunk_begin(int ranks, int chunk, size_t count)
{
    size_t lines = (count + LINE_FLOATS - 1) / LINE_FLOATS,
           at = lines * (size_t)chunk / (size_t)ranks * LINE_FLOATS;

    return at < count ? at : count;
}

static cm_status exchange(cmi_comm *comm, int rank, float *span, size_t count)
{
    const void *const *spans = comm->lent;
    int ranks = comm->ranks;

    cmi_comm_sum(spans, ranks, chunk_begin(ranks, rank, count), chunk_begin(ranks, rank + 1, count),
                 span);
    CM_TRY(cmi_comm_meet(comm, rank));
    for (int k = 1; k < ranks; k++) {
        int c = (rank + k) % ranks;
        size_t begin = chunk_begin(ranks, c, count), end = chunk_begin(ranks, c + 1, count);
        if (end > begin)
            memcpy(span + begin, (const float *)spans[c] + begin, (end - begin) * sizeof *span);
    }
    return CM_OK;
}

static cm_status all_reduce(cmi_comm *comm, int rank, const void *config, float *span, size_t count)
{
    (void)config;
    CM_TRY(cmi_comm_show(comm, rank, span));
    return cmi_comm_hide(comm, rank, exchange(comm, rank, span, count));
}

/* A rank's span is read by the n-1 others: its unsummed chunks once each, its finished chunk n-1
 * times. */
static void traffic(int ranks, size_t bytes, size_t *wire, int *steps)
{
    size_t n = (size_t)ranks;

    *wire = (2 * bytes * (n - 1) + n - 1) / n;
    *steps = ranks > 1 ? 2 : 0;
}

const cmi_collective cmi_collective_direct = {
    .entry = {.name = "direct",
              .doc = "each rank sums its chunk over the others' memory, then copies theirs"},
    .leaves_together = true,
    .all_reduce = all_reduce,
    .traffic = traffic,
};
