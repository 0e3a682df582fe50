/* coll_naive.c - all-reduce through rank 0; the yardstick for the others.
 *
 * Rank 0 adds the spans of ranks 1, 2, ..., n-1 to its own, in this order, then everybody copies
 * the sum from rank 0.  Element i is ((x0 + x1) + x2) + ... on every rank.  Rank 0 reads (n-1)
 * spans and sends (n-1) spans, so the time grows with the ranks; for small spans and few ranks that
 * matters little, and nothing is simpler to trust.
 *
 * Called on the thread of each rank, all ranks at once.  Allocates nothing. */
#include "comm/collective.h"

static cm_status reduce_on_root(cmi_comm *comm, float *span, size_t bytes)
{
    const cmi_link *link;
    int ranks = cmi_comm_ranks(comm);
    for (int r = 1; r < ranks; r++) {
        cmi_edge *edge = cmi_comm_edge(comm, r, 0, &link);
        CM_TRY(link->recv(edge, span, bytes, CMI_RECV_ADD));
    }
    /* All receivers copy at the same time; only then is the first of them waited for. */
    for (int r = 1; r < ranks; r++) {
        cmi_edge *edge = cmi_comm_edge(comm, 0, r, &link);
        CM_TRY(link->send(edge, span, bytes));
    }
    for (int r = 1; r < ranks; r++) {
        cmi_edge *edge = cmi_comm_edge(comm, 0, r, &link);
        CM_TRY(link->wait(edge));
    }
    return CM_OK;
}

static cm_status all_reduce(cmi_comm *comm, int rank, const void *config, float *span, size_t count)
{
    (void)config;
    size_t bytes = count * sizeof *span;
    if (rank == 0) return reduce_on_root(comm, span, bytes);

    const cmi_link *link;
    cmi_edge *up = cmi_comm_edge(comm, rank, 0, &link);
    CM_TRY(link->send(up, span, bytes));
    CM_TRY(link->wait(up)); /* rank 0 has read my span: it may be overwritten */
    cmi_edge *down = cmi_comm_edge(comm, 0, rank, &link);
    return link->recv(down, span, bytes, CMI_RECV_COPY);
}

/* Rank 0 is the busiest: it sends the sum n-1 times.  n-1 additions one after another, then one
 * copy. */
static void traffic(int ranks, size_t bytes, size_t *wire, int *steps)
{
    *wire = bytes * (size_t)(ranks - 1);
    *steps = ranks > 1 ? ranks : 0;
}

const cmi_collective cmi_collective_naive = {
    .entry = {.name = "naive",
              .doc = "rank 0 adds all spans in rank order, the others copy the sum"},
    .all_reduce = all_reduce,
    .traffic = traffic,
};
