/* collective.c - the calls that move data: they check, take the short ways, and dispatch.
 *
 * All-reduce is the business of a registered algorithm (coll_*.c); all-gather and broadcast are a
 * few lines over the edges and stand here.  Edges count their spans in order, and all ranks make
 * the same calls in the same order, so the calls share the edges without disturbing one another.
 *
 * Called on the thread of each rank, all ranks at once; only choosing allocates. */
#include <string.h>
#include "base/clock.h"
#include "comm/group.h"

#define CM_LINK(name)
#define CM_COLLECTIVE(name) extern const cmi_collective cmi_collective_##name;
#include "comm/registry.def"
#undef CM_COLLECTIVE

#define CM_COLLECTIVE(name) &cmi_collective_##name.entry,
static const cmi_entry *const entries[] = {
#include "comm/registry.def"
};
#undef CM_COLLECTIVE
#undef CM_LINK

const cmi_registry cmi_collective_registry = {
    .kind = "collective", .entries = entries, .count = sizeof entries / sizeof entries[0]};

cm_status cmi_collective_choose(const char *spec, const cmi_collective **collective, void **config)
{
    const cmi_entry *entry = NULL;
    *collective = NULL;
    *config = NULL;
    /* All ranks are threads of one process so far, and the direct exchange has the fewest meetings.
     */
    if (!spec || !*spec || !strcmp(spec, "auto")) spec = "direct";
    CM_TRY(cmi_registry_parse(&cmi_collective_registry, spec, &entry, config));
    *collective = (const cmi_collective *)(const void *)entry;
    return CM_OK;
}

static cm_status run_all_reduce(cmi_comm *comm, int rank, float *span, size_t count)
{
    const cmi_collective *collective = comm->collective;
    if (rank == 0) atomic_fetch_add(&comm->reduced, 1);
    CM_TRY(collective->all_reduce(comm, rank, comm->config, span, count));
    if (collective->leaves_together) return CM_OK;
    /* Only now may a rank hand its span back: an algorithm may let others read it outside of the
     * edges. */
    return cmi_comm_meet(comm, rank);
}

cm_status cmi_comm_all_reduce(cmi_comm *comm, int rank, float *span, size_t count)
{
    CM_TRY(cmi_comm_enter(comm, rank, comm->all_reduce));
    if (comm->ranks == 1) return CM_OK;
    if (count == 0) return cmi_comm_meet(comm, rank);
    return cmi_comm_leave(comm, rank, run_all_reduce(comm, rank, span, count));
}

/* Lends `bytes` of src to every other rank; returns at once. */
static cm_status lend_to_all(cmi_comm *comm, int rank, const void *src, size_t bytes)
{
    const cmi_link *link;
    for (int q = 0; q < comm->ranks; q++) {
        if (q == rank) continue;
        cmi_edge *edge = cmi_comm_edge(comm, rank, q, &link);
        CM_TRY(link->send(edge, src, bytes));
    }
    return CM_OK;
}

static cm_status wait_for_all(cmi_comm *comm, int rank)
{
    const cmi_link *link;
    for (int q = 0; q < comm->ranks; q++) {
        if (q == rank) continue;
        cmi_edge *edge = cmi_comm_edge(comm, rank, q, &link);
        CM_TRY(link->wait(edge));
    }
    return CM_OK;
}

static cm_status take_from(cmi_comm *comm, int rank, int from, void *dst, size_t bytes)
{
    const cmi_link *link;
    cmi_edge *edge = cmi_comm_edge(comm, from, rank, &link);
    return link->recv(edge, dst, bytes, CMI_RECV_COPY);
}

static cm_status run_all_gather(cmi_comm *comm, int rank, const void *send, size_t bytes,
                                char *recv)
{
    CM_TRY(lend_to_all(comm, rank, send, bytes));
    /* Beginning with the right neighbour spreads the readers over the senders. */
    for (int k = 1; k < comm->ranks; k++) {
        int q = (rank + k) % comm->ranks;
        CM_TRY(take_from(comm, rank, q, recv + (size_t)q * bytes, bytes));
    }
    return wait_for_all(comm, rank);
}

cm_status cmi_comm_all_gather(cmi_comm *comm, int rank, const void *send, size_t bytes, void *recv)
{
    CM_TRY(cmi_comm_enter(comm, rank, "all-gather"));
    if (bytes == 0) return cmi_comm_meet(comm, rank);
    char *mine = (char *)recv + (size_t)rank * bytes;
    if (mine != send) memcpy(mine, send, bytes);
    if (comm->ranks == 1) return CM_OK;
    return cmi_comm_leave(comm, rank, run_all_gather(comm, rank, send, bytes, recv));
}

cm_status cmi_comm_broadcast(cmi_comm *comm, int rank, int root, void *span, size_t bytes)
{
    CM_ASSERT(root >= 0 && root < comm->ranks);
    CM_TRY(cmi_comm_enter(comm, rank, "broadcast"));
    if (comm->ranks == 1) return CM_OK;
    if (bytes == 0) return cmi_comm_meet(comm, rank);
    if (rank != root) return cmi_comm_leave(comm, rank, take_from(comm, rank, root, span, bytes));
    cm_status status = lend_to_all(comm, rank, span, bytes);
    if (!status) status = wait_for_all(comm, rank);
    return cmi_comm_leave(comm, rank, status);
}

/* ---- lending ---- */

void cmi_comm_sum(const void *const *spans, int ranks, size_t begin, size_t end, float *out)
{
    /* Blocks that stay in the first-level cache between the passes over the ranks. */
    enum { BLOCK = 2048 };
    float sum[BLOCK];

    for (size_t at = begin; at < end; at += BLOCK) {
        size_t n = end - at < BLOCK ? end - at : BLOCK;
        const float *first = (const float *)spans[0] + at, *second = (const float *)spans[1] + at;
        for (size_t i = 0; i < n; i++)
            sum[i] = first[i] + second[i];
        for (int r = 2; r < ranks; r++) {
            const float *more = (const float *)spans[r] + at;
            for (size_t i = 0; i < n; i++)
                sum[i] += more[i];
        }
        memcpy(out + at, sum, n * sizeof *sum);
    }
}

cm_status cmi_comm_show(cmi_comm *comm, int rank, const void *mine)
{
    comm->lent[rank] = mine;
    atomic_store(&comm->cells[rank].reading, true);
    cm_status status = cmi_comm_meet(comm, rank);
    if (status) atomic_store(&comm->cells[rank].reading, false);
    return status;
}

cm_status cmi_comm_hide(cmi_comm *comm, int rank, cm_status status)
{
    enum { PAUSE_NS = 50000 };

    atomic_store(&comm->cells[rank].reading, false);
    if (!status) status = cmi_comm_meet(comm, rank);
    if (!status) return CM_OK;
    /* There was no meeting that says that nobody reads any more.  Readers only copy and add, so the
     * wait is short. */
    for (int q = 0; q < comm->ranks; q++)
        while (q != rank && atomic_load(&comm->cells[q].reading))
            cmi_sleep_ns(PAUSE_NS);
    return status;
}

cm_status cmi_comm_lend(cmi_comm *comm, int rank, const void *mine, const void *const **all)
{
    *all = comm->lent;
    CM_TRY(cmi_comm_enter(comm, rank, "exchange"));
    return cmi_comm_show(comm, rank, mine);
}

cm_status cmi_comm_take_back(cmi_comm *comm, int rank)
{
    return cmi_comm_hide(comm, rank, cmi_comm_enter(comm, rank, "end of exchange"));
}
