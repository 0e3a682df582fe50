/* group.h - what a communicator is made of; for comm.c and collective.c only.
 *
 * Everything that ranks poll while others write it is atomic.  PADs keep data with different
 * writers on different cache lines, whatever the alignment of the allocation is: a line that one
 * rank polls must not be dirtied by another rank's bookkeeping, or each wait costs a transfer
 * more. */
#ifndef CMI_COMM_GROUP_H
#define CMI_COMM_GROUP_H

#include <stdatomic.h>
#include "base/thread.h"
#include "comm/collective.h"

#define CMI_CACHE_LINE 64

/* Values of cmi_rank_cell.waits_for beside a rank. */
#define CMI_WAITS_FOR_NOBODY   (-1)
#define CMI_WAITS_FOR_EVERYONE (-2) /* in a barrier */

typedef struct cmi_rank_cell {
    /* Sleeping.  Others read `asleep_on` whenever they advance a sequence; the mutex guards only
     * the going to sleep, no data; it is never held together with another lock. */
    _Atomic(const _Atomic uint64_t *) asleep_on; /* NULL: awake */
    cmi_mutex mutex;
    cmi_cond cond;
    char pad_sleep[CMI_CACHE_LINE];

    /* What the rank does, written by itself, read by others that look for whom to blame. */
    _Atomic uint64_t progress; /* changes whenever the rank gets on */
    _Atomic uint64_t barriers; /* barriers entered in this generation */
    _Atomic int waits_for;     /* while asleep: a rank or CMI_WAITS_FOR_... */
    _Atomic int state;         /* cmi_rank_state */
    int64_t waited_ns;         /* read by the rank itself, or when it is idle */
    _Atomic bool reading;      /* between lend and take_back: may be reading what others lent */
    _Atomic(const char *) phase;
    _Atomic(const char *) call; /* the present or last function of comm.h */
    char pad_doing[CMI_CACHE_LINE];
} cmi_rank_cell;

typedef struct cmi_port {
    cmi_edge *edge;
    const cmi_link *link;
} cmi_port;

struct cmi_comm {
    int ranks;
    bool spins; /* every rank can have a CPU, so that spinning takes nobody's */
    int64_t timeout_ms, grace_ms;
    const char *const *names;
    uint64_t (*beats)(void *user, int rank);
    void *beats_user;
    const cmi_collective *collective;
    void *config;
    char all_reduce[48]; /* "all-reduce (ring)", for messages */
    cmi_rank_cell *cells;
    cmi_port *ports;   /* [from * ranks + to] */
    const void **lent; /* per rank; written before the barrier of lend, read after it */
    int cells_ready;   /* cells whose lock exists: for a failed create */
    bool mutex_ready;

    /* The error cell.  `mutex` guards the two fields below until ABORTED is set in `gate`; from
     * then on they stay as they are until the reset. */
    cmi_mutex mutex;
    cm_error first;
    int first_rank;

    _Atomic uint64_t reduced;
    _Atomic int64_t building_logged_ns;
    char pad_gate[CMI_CACHE_LINE];
    _Atomic uint64_t gate; /* barriers and abort in one word; see comm.c */
    char pad_end[CMI_CACHE_LINE];
};

/* "device 1 (...)" or "rank 1", in `text`. */
const char *cmi_comm_rank_name(const cmi_comm *comm, int rank, char *text, size_t bytes);
/* The rank gets on. */
void cmi_comm_progress(cmi_rank_cell *cell);
/* Records an error; whether it was the first. */
bool cmi_comm_record(cmi_comm *comm, int rank, const cm_error *error);
/* The answer of a rank that leaves because the group has failed. */
cm_status cmi_comm_give_up(cmi_comm *comm, int rank);
/* Begins a call: publishes its name; CM_E_ABORTED if the group has failed. */
cm_status cmi_comm_enter(cmi_comm *comm, int rank, const char *call);
/* The barrier without the entry. */
cm_status cmi_comm_meet(cmi_comm *comm, int rank);
/* Lend and take back without the entry; hide takes the status of what was done in between and, when
 * that failed, waits for the readers instead of meeting them. */
cm_status cmi_comm_show(cmi_comm *comm, int rank, const void *mine);
cm_status cmi_comm_hide(cmi_comm *comm, int rank, cm_status status);
/* Ends a call: after a failure reports it to the others and waits until nobody reads what this rank
 * lent. */
cm_status cmi_comm_leave(cmi_comm *comm, int rank, cm_status status);

#endif
