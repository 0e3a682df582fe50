/* link_host.c - joins two ranks of one process through the memory they share.
 *
 * Nothing is copied on the way: the sender LENDS a span, that is, writes its address into the edge,
 * and the receiver adds or copies straight out of the sender's memory.  Each side counts: `lent`
 * spans were offered, `done` spans were used up; span number k is in use while done < k <= lent.
 *
 * Leaving.  A sender must not return to its caller while the receiver reads.  In the good case done
 * == lent says so.  After an abort it may never get equal, hence the READING mark.  The receiver
 * sets the mark, then looks at the abort flag, and copies only if the flag is clear.  The sender
 * sees the flag set, then looks at the mark.  All four are sequentially consistent, so they stand
 * in one order; if the receiver found the flag clear, its mark stands before the flag and the
 * sender finds it, until the copy (which is finite and waits for nothing) is over.  If it found the
 * flag set, it does not touch the span.
 *
 * send and wait run on the sending rank's thread, recv on the receiving rank's.  connect, reset and
 * close run while no rank is inside a call. */
#include <stdatomic.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "comm/collective.h"

#define LINE                                                                                       \
    64 /* bytes of a cache line: the three groups below have different writers or readers */
#define NAP_NS 20000 /* how long a leaving sender sleeps between two looks at the mark */

struct cmi_edge {
    cmi_comm *comm;
    int from, to;
    char pad_head[LINE];
    /* Written by the sender, polled by the receiver. */
    _Atomic uint64_t lent;
    const void *src; /* these two are handed over by `lent` */
    size_t bytes;
    char pad_lent[LINE];
    /* Written by the receiver, polled by the sender. */
    _Atomic uint64_t done;
    char pad_done[LINE];
    /* The receiver's; the sender looks only after an abort, so marking does not disturb its
     * polling. */
    _Atomic int reading;
    uint64_t received;
    char pad_end[LINE];
};

static cm_status host_connect(cmi_comm *comm, int from, int to, cmi_edge **edge)
{
    CM_TRY(CMI_NEW(1, edge));
    (*edge)->comm = comm;
    (*edge)->from = from;
    (*edge)->to = to;
    return CM_OK;
}

static cm_status host_send(cmi_edge *edge, const void *src, size_t bytes)
{
    uint64_t next = atomic_load_explicit(&edge->lent, memory_order_relaxed) + 1;
    CM_ASSERT(atomic_load(&edge->done) + 1 == next); /* one span at a time */
    edge->src = src;
    edge->bytes = bytes;
    atomic_store(&edge->lent, next);
    cmi_comm_wake(edge->comm, edge->to, &edge->lent);
    return CM_OK;
}

static cm_status host_wait(cmi_edge *edge)
{
    uint64_t lent = atomic_load_explicit(&edge->lent, memory_order_relaxed);
    cm_status status = cmi_comm_wait_sequence(edge->comm, edge->from, edge->to, &edge->done, lent);
    /* Every failed wait has set the abort flag before it returned. */
    while (status && atomic_load(&edge->reading))
        cmi_sleep_ns(NAP_NS);
    return status;
}

static void add(float *restrict sum, const float *restrict term, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += term[i];
}

/* The receiver's part between its two marks. */
static cm_status take(cmi_edge *edge, void *dst, size_t bytes, cmi_recv_op op)
{
    if (cmi_comm_aborted(edge->comm)) return CM_E_ABORTED;
    if (edge->bytes != bytes)
        return cmi_error(
            CM_E_STATE,
            "rank %d sent %zu bytes where rank %d expects %zu; all ranks must make the "
            "same calls with the same counts",
            edge->from, edge->bytes, edge->to, bytes);
    if (op == CMI_RECV_ADD)
        add(dst, edge->src, bytes / sizeof(float));
    else
        memcpy(dst, edge->src, bytes);
    return CM_OK;
}

static cm_status host_recv(cmi_edge *edge, void *dst, size_t bytes, cmi_recv_op op)
{
    uint64_t next = edge->received + 1;
    CM_TRY(cmi_comm_wait_sequence(edge->comm, edge->to, edge->from, &edge->lent, next));
    atomic_store(&edge->reading, 1);
    cm_status status = take(edge, dst, bytes, op);
    atomic_store_explicit(&edge->reading, 0, memory_order_release);
    /* A wait for what cannot come any more returns at once with the abort and its message. */
    if (status == CM_E_ABORTED)
        return cmi_comm_wait_sequence(edge->comm, edge->to, edge->from, &edge->lent, UINT64_MAX);
    if (status) return status;
    edge->received = next;
    atomic_store(&edge->done, next);
    cmi_comm_wake(edge->comm, edge->from, &edge->done);
    return CM_OK;
}

static void host_reset(cmi_edge *edge)
{
    atomic_store(&edge->lent, 0);
    atomic_store(&edge->done, 0);
    atomic_store(&edge->reading, 0);
    edge->received = 0;
}

static void host_close(cmi_edge *edge)
{
    cmi_free(edge);
}

const cmi_link cmi_link_host = {
    .entry = {.name = "host", .doc = "shared memory of two threads of this process"},
    .connect = host_connect,
    .send = host_send,
    .wait = host_wait,
    .recv = host_recv,
    .reset = host_reset,
    .close = host_close,
};
