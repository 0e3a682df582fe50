/* collective.h - what a collective algorithm and a link are; inside comm/ only.
 *
 * A collective sees only edges: `send a span to the right`, `receive and add, or copy, a span from
 * the left`. Whether an edge is shared memory, a peer copy or another machine is the link's
 * business. */
#ifndef CMI_COMM_COLLECTIVE_H
#define CMI_COMM_COLLECTIVE_H

#include "comm/comm.h"

typedef enum cmi_recv_op { CMI_RECV_COPY, CMI_RECV_ADD } cmi_recv_op;

typedef struct cmi_edge cmi_edge; /* one direction, one pair of ranks */

typedef struct cmi_link {
    cmi_entry entry;
    /* Makes the edge from rank `from` to rank `to`; CM_E_UNSUPPORTED lets the next link of the
     * registry try. */
    cm_status (*connect)(cmi_comm *comm, int from, int to, cmi_edge **edge);
    /* Sender: lends `bytes` of src until `wait` returns; at most one span is lent at a time. */
    cm_status (*send)(cmi_edge *edge, const void *src, size_t bytes);
    /* Sender: blocks until the receiver is done with the lent span. */
    cm_status (*wait)(cmi_edge *edge);
    /* Receiver: blocks for the next span, which must have the same size, and copies or adds floats
     * into dst. */
    cm_status (*recv)(cmi_edge *edge, void *dst, size_t bytes, cmi_recv_op op);
    void (*reset)(cmi_edge *edge); /* after an abort */
    void (*close)(cmi_edge *edge);
} cmi_link;

typedef struct cmi_collective {
    cmi_entry entry;
    bool
        leaves_together; /* all_reduce ends in a meeting of its own: the caller adds no leaving barrier */
    /* Sums in place over all ranks; ranks >= 2, count >= 1; the caller adds the leaving barrier
     * and, after a failure, waits until nobody reads what is still lent. */
    cm_status (*all_reduce)(cmi_comm *comm, int rank, const void *config, float *span,
                            size_t count);
    /* Bytes that the busiest rank sends, and steps one after another: for tables and benches. */
    void (*traffic)(int ranks, size_t bytes, size_t *wire, int *steps);
} cmi_collective;

/* The edge from rank `from` to rank `to` and its link. */
cmi_edge *cmi_comm_edge(cmi_comm *comm, int from, int to, const cmi_link **link);
/* Waits, spinning first, until *sequence reaches `value`; the abort, deadline and blame rules of
 * comm.h. `rank` is the waiting rank, `other` the one waited for. */
cm_status cmi_comm_wait_sequence(cmi_comm *comm, int rank, int other,
                                 const _Atomic uint64_t *sequence, uint64_t value);
/* Wakes `rank` if it sleeps on this sequence; to be called after it was advanced, by a sequentially
 * consistent store (what atomic_store does). */
void cmi_comm_wake(cmi_comm *comm, int rank, const _Atomic uint64_t *sequence);

/* Joins two ranks by the first link of the registry that accepts them. */
cm_status cmi_link_connect(cmi_comm *comm, int from, int to, cmi_edge **edge,
                           const cmi_link **link);
/* Resolves a spec; NULL, "" and "auto" choose by the number of ranks. */
cm_status cmi_collective_choose(const char *spec, const cmi_collective **collective, void **config);

#endif
