/* comm.c - the group of ranks: its life, the barrier, aborting.  Waiting is in wait.c.
 *
 * DESIGN.  One word, the GATE, holds both the barriers and the abort flag:
 *
 *     bits 17...63  INDEX    barriers completed in this generation
 *     bits 1...16   ARRIVED  ranks that have come to barrier number INDEX
 *     bit 0         ABORTED  set once, cleared by the reset
 *
 * A rank arrives at barrier k by one compare-exchange that adds 1 to ARRIVED and fails if ABORTED
 * is set; the last one instead moves the gate to (k+1, 0).  An abort is one fetch-or of ABORTED.
 *
 * Claim: barrier k returns CM_OK on all ranks or on none.  Proof: changes of one atomic word stand
 * in one order that all threads agree on.  After ABORTED is set no arrival succeeds, so INDEX never
 * changes again in this generation.  So either INDEX went past k (before ABORTED, or there was
 * none), or it never does.  A rank answers CM_OK only if it made or read INDEX > k, and
 * CM_E_ABORTED only if it read ABORTED together with INDEX <= k.  The two readings exclude each
 * other whoever makes them.  A rank that fails before it arrives was needed for INDEX > k, so then
 * nobody gets CM_OK.  Note that an abort which comes too late lets barrier k succeed on all ranks,
 * also on those that read the gate after it; their next call fails.  A step of a training is
 * committed by this.  And INDEX is what `gate >= (k+1) << 17` compares, so the barrier waits by the
 * same function as the links.
 *
 * Ranks call from their own threads; aborts and questions come from any thread. */
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "comm/group.h"

#define GATE_ABORTED    UINT64_C(1)
#define GATE_ONE        UINT64_C(2) /* one arrival */
#define GATE_SHIFT      17          /* of INDEX */
#define GATE_ARRIVED(g) (((g) >> 1) & 0xffff)
#define MAX_RANKS       0xffff

/* ---- life ---- */

static cm_status make_cells(cmi_comm *comm)
{
    CM_TRY(CMI_NEW(comm->ranks, &comm->cells));
    for (int r = 0; r < comm->ranks; r++) {
        cmi_rank_cell *cell = &comm->cells[r];
        atomic_store(&cell->waits_for, CMI_WAITS_FOR_NOBODY);
        CM_TRY(cmi_mutex_init(&cell->mutex));
        cm_status status = cmi_cond_init(&cell->cond);
        if (status) {
            cmi_mutex_destroy(&cell->mutex);
            return status;
        }
        comm->cells_ready = r + 1;
    }
    return CM_OK;
}

static cm_status make_ports(cmi_comm *comm)
{
    size_t n = (size_t)comm->ranks;
    CM_TRY(CMI_NEW(n * n, &comm->ports));
    for (int from = 0; from < comm->ranks; from++) {
        for (int to = 0; to < comm->ranks; to++) {
            cmi_port *port = &comm->ports[(size_t)from * n + (size_t)to];
            if (from != to) CM_TRY(cmi_link_connect(comm, from, to, &port->edge, &port->link));
        }
    }
    return CM_OK;
}

cm_status cmi_comm_create(const cmi_comm_options *options, cmi_comm **out)
{
    cm_status status = CM_OK;
    cmi_comm *comm = NULL;
    *out = NULL;
    if (options->ranks < 1 || options->ranks > MAX_RANKS)
        return cmi_error(CM_E_INVALID, "a communicator of %d ranks; valid are 1 to %d",
                         options->ranks, MAX_RANKS);
    if (options->timeout_ms <= 0)
        return cmi_error(CM_E_INVALID, "a time limit of %lld ms; it must be above 0",
                         (long long)options->timeout_ms);

    CM_TRY(CMI_NEW(1, &comm));
    comm->ranks = options->ranks;
    comm->spins = options->ranks <= cmi_cpu_count();
    comm->timeout_ms = options->timeout_ms;
    comm->grace_ms = options->grace_ms;
    comm->names = options->rank_names;
    comm->beats = options->beats;
    comm->beats_user = options->beats_user;
    comm->first_rank = -1;
    CM_TRY_GOTO(fail, cmi_mutex_init(&comm->mutex));
    comm->mutex_ready = true;
    CM_TRY_GOTO(fail, cmi_collective_choose(options->collective, &comm->collective, &comm->config));
    snprintf(comm->all_reduce, sizeof comm->all_reduce, "all-reduce (%s)",
             comm->collective->entry.name);
    CM_TRY_GOTO(fail, make_cells(comm));
    CM_TRY_GOTO(fail, make_ports(comm));
    CM_TRY_GOTO(fail, CMI_NEW(comm->ranks, &comm->lent));
    *out = comm;
    return CM_OK;

fail:
    cmi_comm_destroy(comm);
    return status;
}

void cmi_comm_destroy(cmi_comm *comm)
{
    if (!comm) return;
    size_t ports = comm->ports ? (size_t)comm->ranks * (size_t)comm->ranks : 0;
    for (size_t i = 0; i < ports; i++)
        if (comm->ports[i].link) comm->ports[i].link->close(comm->ports[i].edge);
    cmi_free(comm->ports);
    for (int r = 0; r < comm->cells_ready; r++) {
        cmi_cond_destroy(&comm->cells[r].cond);
        cmi_mutex_destroy(&comm->cells[r].mutex);
    }
    cmi_free(comm->cells);
    cmi_free((void *)comm->lent);
    if (comm->collective) cmi_config_free(&comm->collective->entry, comm->config);
    if (comm->mutex_ready) cmi_mutex_destroy(&comm->mutex);
    cmi_free(comm);
}

int cmi_comm_ranks(const cmi_comm *comm)
{
    return comm->ranks;
}

const char *cmi_comm_collective(const cmi_comm *comm)
{
    return comm->collective->entry.name;
}

uint64_t cmi_comm_reduced(const cmi_comm *comm)
{
    return atomic_load(&comm->reduced);
}

cmi_edge *cmi_comm_edge(cmi_comm *comm, int from, int to, const cmi_link **link)
{
    CM_ASSERT(from != to && from >= 0 && to >= 0 && from < comm->ranks && to < comm->ranks);
    const cmi_port *port = &comm->ports[(size_t)from * (size_t)comm->ranks + (size_t)to];
    *link = port->link;
    return port->edge;
}

const char *cmi_comm_rank_name(const cmi_comm *comm, int rank, char *text, size_t bytes)
{
    if (rank >= 0 && comm->names && comm->names[rank])
        snprintf(text, bytes, "%s", comm->names[rank]);
    else if (rank >= 0)
        snprintf(text, bytes, "rank %d", rank);
    else
        snprintf(text, bytes, "the caller");
    return text;
}

void cmi_comm_progress(cmi_rank_cell *cell)
{
    atomic_fetch_add_explicit(&cell->progress, 1, memory_order_relaxed);
}

void cmi_comm_set_state(cmi_comm *comm, int rank, cmi_rank_state state)
{
    atomic_store(&comm->cells[rank].state, (int)state);
    cmi_comm_progress(&comm->cells[rank]);
}

bool cmi_comm_waiting(const cmi_comm *comm, int rank)
{
    return atomic_load(&comm->cells[rank].waits_for) != CMI_WAITS_FOR_NOBODY;
}

void cmi_comm_set_phase(cmi_comm *comm, int rank, const char *phase)
{
    atomic_store(&comm->cells[rank].phase, phase);
    cmi_comm_progress(&comm->cells[rank]);
}

/* ---- failing ---- */

bool cmi_comm_aborted(const cmi_comm *comm)
{
    return atomic_load(&comm->gate) & GATE_ABORTED;
}

static void wake(cmi_rank_cell *cell)
{
    /* Taking the mutex waits for a rank that is between its last look and its sleep; giving it back
     * first lets the woken rank run at once. */
    cmi_mutex_lock(&cell->mutex);
    cmi_mutex_unlock(&cell->mutex);
    cmi_cond_signal(&cell->cond);
}

void cmi_comm_wake(cmi_comm *comm, int rank, const _Atomic uint64_t *sequence)
{
    cmi_rank_cell *cell = &comm->cells[rank];
    if (atomic_load(&cell->asleep_on) == sequence) wake(cell);
}

/* Whether this was the first error. */
bool cmi_comm_record(cmi_comm *comm, int rank, const cm_error *error)
{
    cmi_mutex_lock(&comm->mutex);
    bool first = !cmi_comm_aborted(comm);
    if (first) {
        comm->first = *error;
        if (!comm->first.status) comm->first.status = CM_E_ABORTED;
        comm->first_rank = rank;
        /* From here on the error may be read without the mutex. */
        atomic_fetch_or(&comm->gate, GATE_ABORTED);
    }
    cmi_mutex_unlock(&comm->mutex);
    for (int r = 0; first && r < comm->ranks; r++)
        if (atomic_load(&comm->cells[r].asleep_on)) wake(&comm->cells[r]);
    return first;
}

void cmi_comm_abort(cmi_comm *comm, int rank, const cm_error *error)
{
    cmi_comm_record(comm, rank, error);
}

void cmi_comm_first_error(cmi_comm *comm, cm_error *error, int *rank)
{
    cmi_mutex_lock(&comm->mutex);
    *error = comm->first;
    *rank = comm->first_rank;
    cmi_mutex_unlock(&comm->mutex);
}

void cmi_comm_reset(cmi_comm *comm)
{
    cmi_mutex_lock(&comm->mutex);
    memset(&comm->first, 0, sizeof comm->first);
    comm->first_rank = -1;
    atomic_store(&comm->gate, 0);
    cmi_mutex_unlock(&comm->mutex);
    for (int r = 0; r < comm->ranks; r++) {
        atomic_store(&comm->cells[r].barriers, 0);
        atomic_store(&comm->cells[r].state, CMI_RANK_RUNNING);
        atomic_store(&comm->cells[r].reading, false);
    }
    size_t ports = (size_t)comm->ranks * (size_t)comm->ranks;
    for (size_t i = 0; i < ports; i++)
        if (comm->ports[i].link) comm->ports[i].link->reset(comm->ports[i].edge);
}

/* The answer of a rank that leaves because the group has failed. */
cm_status cmi_comm_give_up(cmi_comm *comm, int rank)
{
    char who[128];
    return cmi_error(CM_E_ABORTED, "%s ended because %s failed: %s",
                     (const char *)atomic_load(&comm->cells[rank].call),
                     cmi_comm_rank_name(comm, comm->first_rank, who, sizeof who),
                     comm->first.message);
}

cm_status cmi_comm_enter(cmi_comm *comm, int rank, const char *call)
{
    CM_ASSERT(rank >= 0 && rank < comm->ranks);
    atomic_store_explicit(&comm->cells[rank].call, call, memory_order_relaxed);
    cmi_comm_progress(&comm->cells[rank]);
    return cmi_comm_aborted(comm) ? cmi_comm_give_up(comm, rank) : CM_OK;
}

cm_status cmi_comm_leave(cmi_comm *comm, int rank, cm_status status)
{
    if (!status) return CM_OK;
    cm_error error;
    cmi_error_save(&error);
    cmi_comm_record(comm, rank, &error);
    for (int q = 0; q < comm->ranks; q++) {
        const cmi_link *link;
        if (q == rank) continue;
        cmi_edge *edge = cmi_comm_edge(comm, rank, q, &link);
        /* Fails at once where a span is still lent, but only after its reader is out. */
        (void)link->wait(edge);
    }
    return cmi_error_restore(&error);
}

/* ---- the barrier ---- */

cm_status cmi_comm_meet(cmi_comm *comm, int rank)
{
    cmi_rank_cell *cell = &comm->cells[rank];
    uint64_t index = atomic_load_explicit(&cell->barriers, memory_order_relaxed);
    uint64_t gate = atomic_load(&comm->gate), next;
    bool last;
    if (comm->ranks == 1) return gate & GATE_ABORTED ? cmi_comm_give_up(comm, rank) : CM_OK;

    /* Published before the arrival, so that nobody who finds the gate incomplete blames this
     * rank. */
    atomic_store(&cell->barriers, index + 1);
    do {
        if (gate & GATE_ABORTED) return cmi_comm_give_up(comm, rank);
        last = GATE_ARRIVED(gate) + 1 == (uint64_t)comm->ranks;
        next = last ? (index + 1) << GATE_SHIFT : gate + GATE_ONE;
    } while (!atomic_compare_exchange_weak(&comm->gate, &gate, next));
    if (!last)
        return cmi_comm_wait_sequence(comm, rank, CMI_WAITS_FOR_EVERYONE, &comm->gate,
                                      (index + 1) << GATE_SHIFT);
    for (int r = 0; r < comm->ranks; r++)
        cmi_comm_wake(comm, r, &comm->gate);
    cmi_comm_progress(cell);
    return CM_OK;
}

cm_status cmi_comm_barrier(cmi_comm *comm, int rank)
{
    CM_TRY(cmi_comm_enter(comm, rank, "barrier"));
    return cmi_comm_meet(comm, rank);
}
