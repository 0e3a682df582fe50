/* comm.h - a group of ranks that add up and exchange spans of host memory.
 *
 * A rank is one thread of this process that drives one device; comm knows neither devices nor
 * gradients.  All ranks call the same functions in the same order with the same counts.  A call
 * blocks until no other rank can touch the caller's span any more (it may be unmapped or freed
 * then).
 *
 * Failure.  A rank that fails for any reason calls cmi_comm_abort; every other rank leaves its
 * present or next call with CM_E_ABORTED.  The first error is kept.  A wait for a rank that makes
 * no progress for timeout_ms ends with CM_E_TIMEOUT, and blames the rank at the end of the chain of
 * waits (who waits for whom), not the one next in the ring.  When every rank has left,
 * cmi_comm_reset makes the group usable again. */
#ifndef CMI_COMM_COMM_H
#define CMI_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/config.h"
#include "base/registry.h"

typedef struct cmi_comm cmi_comm;

typedef struct cmi_comm_options {
    int ranks;              /* 1 ... */
    const char *collective; /* a spec, "ring segment=65536"; NULL, "" or "auto": chosen by ranks */
    int64_t timeout_ms;     /* > 0 */
    int64_t
        grace_ms; /* later than this after the time-out a rank is blamed that did not report by itself */
    /* Name of a rank for messages ("device 1 (basic ...)"); NULL: "rank 1".  Must stay valid. */
    const char *const *rank_names;
    /* A number that changes while the rank gets on with work of its own between its calls; NULL:
     * only calls and phases count.  Any thread. */
    uint64_t (*beats)(void *user, int rank);
    void *beats_user;
} cmi_comm_options;

/* CM_E_NOT_FOUND or CM_E_INVALID for a bad spec. */
cm_status cmi_comm_create(const cmi_comm_options *options, cmi_comm **out);
void cmi_comm_destroy(cmi_comm *comm); /* no rank may be inside a call */
int cmi_comm_ranks(const cmi_comm *comm);
/* Name of the collective in use ("ring"), and how many all-reduces it has run on rank 0: tests of a
 * choice. */
const char *cmi_comm_collective(const cmi_comm *comm);
uint64_t cmi_comm_reduced(const cmi_comm *comm);

/* span[i] becomes the sum over the ranks of span[i], the same bits on every rank.  count 0 is legal
 * and still meets the others.  1 rank: returns at once. */
cm_status cmi_comm_all_reduce(cmi_comm *comm, int rank, float *span, size_t count);
/* recv [ranks][bytes] gets every rank's send [bytes] in rank order. */
cm_status cmi_comm_all_gather(cmi_comm *comm, int rank, const void *send, size_t bytes, void *recv);
/* span of `root` is copied to all. */
cm_status cmi_comm_broadcast(cmi_comm *comm, int rank, int root, void *span, size_t bytes);
/* Completes for all ranks or aborts for all. */
cm_status cmi_comm_barrier(cmi_comm *comm, int rank);

/* Shared memory without an algorithm: `lend` shows `mine` to all ranks and completes, for all or
 * for none, when everybody's is there: (*all)[r] is what rank r lends.  Until `take_back`, which is
 * a barrier too, every rank may read what the others lent, and nobody unmaps, frees or rewrites
 * what others may read.  A rank that fails in between calls take_back all the same: it then waits
 * until no reader is left. */
cm_status cmi_comm_lend(cmi_comm *comm, int rank, const void *mine, const void *const **all);
cm_status cmi_comm_take_back(cmi_comm *comm, int rank);
/* out[i] = ((spans[0][i] + spans[1][i]) + spans[2][i]) + ... for begin <= i < end; out may be one
 * of the spans of float. */
void cmi_comm_sum(const void *const *spans, int ranks, size_t begin, size_t end, float *out);

/* Others wait for a rank in BUILDING (kernels being compiled, a user's code) without limit, with
 * one line in the log every 10 s. */
typedef enum cmi_rank_state { CMI_RANK_RUNNING, CMI_RANK_BUILDING } cmi_rank_state;
void cmi_comm_set_state(cmi_comm *comm, int rank, cmi_rank_state state);

/* Whether the rank is inside a wait for others.  Any thread. */
bool cmi_comm_waiting(const cmi_comm *comm, int rank);

/* Nanoseconds that the rank has spent in waits for others so far. */
int64_t cmi_comm_waited_ns(const cmi_comm *comm, int rank);

/* What the rank is doing now, shown when it is blamed; static text or text that outlives the job.
 */
void cmi_comm_set_phase(cmi_comm *comm, int rank, const char *phase);

/* Records `error` if it is the first and wakes everybody.  Any thread, also one that is no rank
 * (rank -1). */
void cmi_comm_abort(cmi_comm *comm, int rank, const cm_error *error);
bool cmi_comm_aborted(const cmi_comm *comm);
/* The first error and the rank that reported it; CM_OK and -1 when there was none. */
void cmi_comm_first_error(cmi_comm *comm, cm_error *error, int *rank);
/* Begins a new generation; no rank may be inside a call. */
void cmi_comm_reset(cmi_comm *comm);

extern const cmi_registry cmi_collective_registry;
extern const cmi_registry cmi_link_registry;

#endif
