/* wait.c - how a rank waits for another, and whom it blames when it has waited too long.
 *
 * Waiting.  A waiter spins for some 20 us if every rank can have a CPU, then sleeps on its own
 * condition. It sets `asleep_on`, then looks at the sequence once more; a waker advances the
 * sequence, then looks at `asleep_on`.  All four are sequentially consistent, so at least one of
 * the two sees the other.
 *
 * Blame.  A sleeping rank publishes whom it waits for.  A few times per deadline each sleeper walks
 * from itself along these marks to the rank at the end, the one that waits for nobody, and looks at
 * its progress counter. The deadline runs anew whenever end or counter differ from the last look.
 * In the barrier "everyone" stands for the lowest rank that has entered fewer barriers.  A walk
 * that goes round means that ranks wait for each other: their calls do not match.
 *
 * Ranks call from their own threads. */
#include "base/clock.h"
#include "base/log.h"
#include "comm/group.h"

#define SPIN_NS         20000
#define BUILDING_LOG_NS (INT64_C(10) * 1000 * 1000 * 1000)
#define MS_NS           INT64_C(1000000)

/* ---- blame ---- */

/* What a sleeper remembers of the rank at the end of its chain. */
typedef struct lookout {
    int end;
    uint64_t progress;
    int64_t began, since;
} lookout;

#define NOT_LOOKED    (-2)
#define ROUND_IN_RING (-1)

/* The lowest rank that has entered fewer barriers than `rank`; `rank` itself if there is none. */
static int last_to_arrive(cmi_comm *comm, int rank)
{
    uint64_t mine = atomic_load(&comm->cells[rank].barriers);
    for (int q = 0; q < comm->ranks; q++)
        if (atomic_load(&comm->cells[q].barriers) < mine) return q;
    return rank;
}

static int end_of_chain(cmi_comm *comm, int rank)
{
    int at = rank;
    for (int hops = 0; hops <= comm->ranks; hops++) {
        int next = atomic_load(&comm->cells[at].waits_for);
        if (next == CMI_WAITS_FOR_EVERYONE) next = last_to_arrive(comm, at);
        if (next == CMI_WAITS_FOR_NOBODY || next == at) return at;
        at = next;
    }
    return ROUND_IN_RING;
}

static void log_building(cmi_comm *comm, int end, int64_t began, int64_t now)
{
    char who[128];
    int64_t last = atomic_load(&comm->building_logged_ns);
    if (now - began < BUILDING_LOG_NS || now - last < BUILDING_LOG_NS) return;
    /* Of all ranks that wait, one writes the line. */
    if (!atomic_compare_exchange_strong(&comm->building_logged_ns, &last, now)) return;
    cmi_log(CM_LOG_INFO, "comm", "%s is still building, the others wait (%lld s)",
            cmi_comm_rank_name(comm, end, who, sizeof who),
            (long long)((now - began) / (1000 * MS_NS)));
}

/* Whether the deadline has passed for the rank at the end of the chain. */
static bool overdue(cmi_comm *comm, int rank, lookout *watch)
{
    int end = end_of_chain(comm, rank);
    const cmi_rank_cell *cell = end >= 0 ? &comm->cells[end] : NULL;
    uint64_t progress = cell ? atomic_load(&cell->progress) : 0;
    int64_t now = cmi_now_ns();
    bool building = cell && atomic_load(&cell->state) == CMI_RANK_BUILDING;
    if (cell && comm->beats) progress += comm->beats(comm->beats_user, end);

    if (building) log_building(comm, end, watch->began, now);
    if (building || end != watch->end || progress != watch->progress) {
        watch->end = end;
        watch->progress = progress;
        watch->since = now;
        return false;
    }
    return now - watch->since >= (comm->timeout_ms + comm->grace_ms) * MS_NS;
}

static cm_status report_timeout(cmi_comm *comm, int rank, const lookout *watch)
{
    char who[128], waiter[128];
    cm_error error;
    double seconds = (double)(cmi_now_ns() - watch->since) / 1e9;
    const cmi_rank_cell *cell = &comm->cells[watch->end >= 0 ? watch->end : rank];
    const char *phase = atomic_load(&cell->phase);
    const char *call = atomic_load(&comm->cells[rank].call);

    cmi_comm_rank_name(comm, rank, waiter, sizeof waiter);
    if (watch->end >= 0)
        cmi_error(
            CM_E_TIMEOUT,
            "%s made no progress for %.2f s in phase \"%s\" while %s waited in %s; its device may "
            "hang, or it needs a time limit above %lld ms (CLMIRROR_TIMEOUT_MS)",
            cmi_comm_rank_name(comm, watch->end, who, sizeof who), seconds,
            phase ? phase : "unknown", waiter, call, (long long)comm->timeout_ms);
    else
        cmi_error(
            CM_E_TIMEOUT,
            "ranks wait for each other for %.2f s, %s in %s; all ranks must make the same calls "
            "with the same counts in the same order",
            seconds, waiter, call);
    cmi_error_save(&error);
    /* Several ranks run into the deadline at about the same time; one of them reports it. */
    return cmi_comm_record(comm, rank, &error) ? CM_E_TIMEOUT : cmi_comm_give_up(comm, rank);
}

/* ---- waiting ---- */

static void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whether the sequence got there while spinning. */
static bool spin(const cmi_comm *comm, const _Atomic uint64_t *sequence, uint64_t value)
{
    int64_t end = 0;
    for (unsigned turn = 1;; turn++) {
        if (atomic_load(sequence) >= value) return true;
        if (cmi_comm_aborted(comm)) return false;
        relax_cpu();
        if (turn % 32) continue;
        int64_t now = cmi_now_ns();
        if (!end) end = now + SPIN_NS;
        if (now >= end) return false;
    }
}

/* Sleeps until the sequence is there, the group fails, or the deadline passes; CM_E_... without a
 * message. */
static cm_status sleep_until(cmi_comm *comm, int rank, const _Atomic uint64_t *sequence,
                             uint64_t value, lookout *watch)
{
    cmi_rank_cell *cell = &comm->cells[rank];
    /* Eight looks per deadline, at most five a second. */
    int64_t tick_ms = comm->timeout_ms / 8 < 200 ? comm->timeout_ms / 8 + 1 : 200;
    int64_t look = watch->began + tick_ms * MS_NS;
    cm_status status = CM_OK;

    cmi_mutex_lock(&cell->mutex);
    atomic_store(&cell->asleep_on, sequence);
    for (;;) {
        /* The flag is read before the sequence.  A set flag freezes the barriers, so if the
         * sequence is still behind then, it has failed for all; the other way round, the barrier
         * could complete and the abort come between the two looks. */
        bool aborted = cmi_comm_aborted(comm);
        if (atomic_load(sequence) >= value) break;
        if (aborted) {
            status = CM_E_ABORTED;
            break;
        }
        int64_t now = cmi_now_ns();
        if (now < look) {
            cmi_cond_wait_ms(&cell->cond, &cell->mutex, (look - now) / MS_NS + 1);
            continue;
        }
        /* The log may be slow, and whoever wakes us must not wait for it. */
        cmi_mutex_unlock(&cell->mutex);
        bool late = overdue(comm, rank, watch);
        cmi_mutex_lock(&cell->mutex);
        look = cmi_now_ns() + tick_ms * MS_NS;
        if (late) {
            status = CM_E_TIMEOUT;
            break;
        }
    }
    atomic_store(&cell->asleep_on, NULL);
    cmi_mutex_unlock(&cell->mutex);
    return status;
}

/* Sleeps, with the marks and the deadline of a sleeper. */
static cm_status wait_asleep(cmi_comm *comm, int rank, int other, const _Atomic uint64_t *sequence,
                             uint64_t value)
{
    cmi_rank_cell *cell = &comm->cells[rank];
    lookout watch = {.end = NOT_LOOKED, .began = cmi_now_ns()};

    atomic_store(&cell->waits_for, other);
    cm_status status = sleep_until(comm, rank, sequence, value, &watch);
    atomic_store(&cell->waits_for, CMI_WAITS_FOR_NOBODY);
    if (status == CM_E_TIMEOUT) return report_timeout(comm, rank, &watch);
    return status ? cmi_comm_give_up(comm, rank) : CM_OK;
}

/* `other` may be CMI_WAITS_FOR_EVERYONE too. */
cm_status cmi_comm_wait_sequence(cmi_comm *comm, int rank, int other,
                                 const _Atomic uint64_t *sequence, uint64_t value)
{
    cmi_rank_cell *cell = &comm->cells[rank];
    cm_status status = CM_OK;
    if (atomic_load(sequence) < value) {
        int64_t began = cmi_now_ns();
        if (!(comm->spins && spin(comm, sequence, value)))
            status = wait_asleep(comm, rank, other, sequence, value);
        cell->waited_ns += cmi_now_ns() - began;
        if (status) return status;
    }
    cmi_comm_progress(cell);
    return CM_OK;
}

int64_t cmi_comm_waited_ns(const cmi_comm *comm, int rank)
{
    return comm->cells[rank].waited_ns;
}
