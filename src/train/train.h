/* train.h - strategies, their workers, and models that run on them; inside train/ only.
 *
 * Threads.  The caller of fit ("main") hands every worker the same job and sleeps; the workers, one
 * per device, run its steps without main and meet only in collectives.  Shared between threads: the
 * job (its agreement word and its cells), the worker's mailbox (mutex), and what comm/ guards
 * itself. */
#ifndef CMI_TRAIN_TRAIN_H
#define CMI_TRAIN_TRAIN_H

#include <stdatomic.h>
#include <sys/types.h>
#include <clmirror/model.h>
#include "base/thread.h"
#include "comm/comm.h"
#include "data/data.h"
#include "model/replica.h"

/* ---- strategy.c, worker.c
 * --------------------------------------------------------------------------------- */

typedef cm_status (*cmi_job)(void *argument, int rank);

typedef struct cmi_worker {
    cm_strategy *strategy;
    int rank;
    cmi_thread thread;
    bool started;
    cmi_mutex mutex; /* guards job ... status */
    cmi_cond changed;
    cmi_job job; /* NULL: idle */
    void *argument;
    bool quit, done, left; /* left: the thread is at its end */
    cm_status status;
    _Atomic uint64_t beats; /* calls into the driver that came back: the watchdog's measure */
    _Atomic bool building;  /* compiling: the watchdog waits */
    bool gone;              /* given up: main posts nothing to it any more */
    cmi_replica *left_behind;
} cmi_worker;

typedef enum cmi_update_choice {
    CMI_UPDATE_AUTO,
    CMI_UPDATE_REPLICATED,
    CMI_UPDATE_SHARDED
} cmi_update_choice;

struct cm_strategy {
    int ranks;
    cmi_device **devices;
    cmi_stream **streams;
    char **names; /* "device 1 (basic-...)" */
    cmi_worker *workers;
    cmi_comm *comm;
    bool unlike; /* devices of more than one kind: the update is always sharded */
    int update;  /* cmi_update_choice */
    int64_t timeout_ms;
    size_t bucket_bytes, align_bytes;
    bool collective_named;   /* asked for by the user, not chosen here */
    _Atomic bool scope_open; /* on some thread */
    bool hidden;             /* hidden: made for one model outside any scope */
    pid_t process;           /* that created it */
    _Atomic bool busy, lost;
    cm_model *models;  /* list through cm_model.next */
    cm_strategy *next; /* of all living ones, for the end of the process */
};

/* Around the user's callbacks: reading weights is allowed inside, on this thread. */
void cmi_callback_begin(const cm_strategy *strategy);
void cmi_callback_end(void);
bool cmi_in_callback(const cm_strategy *strategy);
/* The strategy whose scope is open on this thread, or NULL. */
cm_strategy *cmi_scope_current(void);
/* Runs job(argument, rank) on every worker that is not gone and waits; `tick`, if any, is called on
 * the caller's thread about every 50 ms. One job at a time: CM_E_STATE.  The first error of any
 * rank is put on the caller's thread. */
cm_status cmi_strategy_run(cm_strategy *strategy, cmi_job job, void *argument, void (*tick)(void *),
                           void *tick_user);
/* Takes the strategy for one public call, so that a second caller gets CM_E_STATE; release with
 * _leave.  `reading`: also when a device is lost. */
cm_status cmi_strategy_enter(cm_strategy *strategy, const char *call, bool reading);
void cmi_strategy_leave(cm_strategy *strategy);

/* For a model outside any scope: the first device of the default selection. */
cm_status cmi_strategy_create_hidden(cm_strategy **strategy);
cm_status cmi_worker_start(cm_strategy *strategy, int rank);
void cmi_worker_stop(cmi_worker *worker); /* joins */
/* At the end of the process: tells it to go, and joins it if it leaves before `end_ns` (false: it
 * did not). */
void cmi_worker_dismiss(cmi_worker *worker);
bool cmi_worker_join_until(cmi_worker *worker, int64_t end_ns);

/* ---- model.c
 * ---------------------------------------------------------------------------------------------- */

/* The stages of a step: what a rank that makes no progress is blamed with, and what a profile is
 * made of. */
typedef enum cmi_stage {
    CMI_STAGE_NONE,
    CMI_STAGE_GATHER,
    CMI_STAGE_FORWARD,
    CMI_STAGE_LOSS,
    CMI_STAGE_BACKWARD,
    CMI_STAGE_REDUCE,
    CMI_STAGE_UPDATE,
    CMI_STAGES
} cmi_stage;

/* Where the time of one rank goes. */
typedef struct cmi_profile {
    int64_t stage_ns[CMI_STAGES]; /* of training steps */
    int64_t waited_ns;            /* part of it: waiting for other ranks */
    uint64_t steps, launches;
    cmi_stage current;
    int64_t since_ns;
} cmi_profile;

/* A rank's mapped buckets and parameters. */
typedef struct cmi_lent {
    float **bucket;
    float *params;
} cmi_lent;

struct cm_model {
    cmi_sequential layers;
    cm_strategy *strategy; /* NULL after the strategy was destroyed */
    bool own_strategy;     /* hidden one-device strategy */
    bool had_scope;        /* created inside a scope */
    cm_model *next;
    uint64_t seed;

    bool compiled, built;
    const cmi_optim *optim;
    void *optim_config;
    char *metrics_text;
    cmi_objective objective; /* metrics are resolved when labels are seen */
    cmi_metric_use *metrics;
    int metric_count;
    bool metrics_resolved;

    cmi_plan plan;
    cmi_replica **replicas;
    int slots_made;           /* -1: not yet */
    bool sharded;             /* the update; decided with the slots */
    cmi_share *shares;        /* per rank */
    cmi_lent *lent;           /* per rank: what it shows the others during an exchange */
    cmi_profile *profile;     /* per rank; NULL: not wanted */
    bool parted;              /* weights were set on some replicas only */
    bool trained;             /* a step was made: summary shows the optimiser's variables */
    int64_t fixed_batch;      /* rows of the first batch of a model built from data, for summary */
    uint64_t updates, epochs; /* trained so far */
    _Atomic int64_t *rows_done; /* per replica */
    _Atomic uint64_t
        *applied; /* updates that reached each replica: after a failure some may lag behind */
    char *log_names[2][CMI_MAX_SUMS]; /* "loss", "accuracy", ...; "val_loss", ... */
    _Atomic bool stop;
};

/* Frees what lives on the strategy's devices and takes the model off its list. */
void cmi_model_orphan(cm_model *model);
/* Every public call on a model that needs its devices begins with _enter (CM_E_STATE, CM_E_SCOPE)
 * and ends with cmi_strategy_leave. */
cm_status cmi_model_enter(cm_model *model, const char *call);
/* CM_E_STATE while a call is running: for calls that change the model without its devices. */
cm_status cmi_model_idle(const cm_model *model);
/* The same for reading weights: a callback may do it, and so may a program whose strategy has lost
 * a device. */
cm_status cmi_model_enter_reading(cm_model *model, const char *call, bool *leave);
/* A job over all workers that hands each its replica. */
typedef cm_status (*cmi_replica_job)(void *argument, cm_model *model, int rank);
cm_status cmi_model_run(cm_model *model, cmi_replica_job job, void *argument);
/* Builds for rows of this shape if not built; CM_E_SHAPE names both shapes otherwise.  `rows` > 0:
 * batch of the data. */
cm_status cmi_model_ensure_built(cm_model *model, const cmi_shape *row, int64_t rows);
/* CM_E_MEMORY when the parameters are larger than one allocation of some device. */
cm_status cmi_model_check_size(const cm_model *model);
/* Optimiser slots on every replica. */
cm_status cmi_model_ensure_slots(cm_model *model);
/* After a failure between the commit of a step and its end some replicas may lack the update, and
 * after one in setting weights some may lack these: copies parameters and slots of one that has all
 * to them. */
cm_status cmi_model_heal(cm_model *model);
/* Lowest replica that has all updates and whose worker is not gone. */
int cmi_model_healthy(const cm_model *model);

/* compile.c: frees what compile made. */
void cmi_compile_free(cm_model *model);

/* ---- objective.c: metrics and their names
 * ------------------------------------------------------------------ */

/* Every word of a metrics text is a metric, a loss or a shorthand; errors as the registry's. */
cm_status cmi_metrics_check(const char *text);
/* Resolves the metrics for the loss's form of labels and fills model->objective, unless that is
 * done. */
cm_status cmi_metrics_resolve(cm_model *model);
void cmi_metrics_free(cm_model *model);
/* "loss" for array 0, then the metrics' names; with "val_" before them for validation.  Owned by
 * the model. */
const char *cmi_log_name(const cm_model *model, int array, bool validation);

/* ---- feed.c: from a cm_data to the feed of a replica
 * ------------------------------------------------------ */

/* A batch source for one job: arrays, order, weights. */
typedef struct cmi_source {
    cm_data data;
    const uint32_t *order;      /* row at place i */
    int64_t rows;               /* of the data */
    int64_t batch_size;         /* global */
    const double *class_weight; /* NULL: none */
    int class_weight_count;
    bool labels; /* loss and metrics are wanted */
} cmi_source;

/* Checks the data against the built model and resolves metrics: shapes, label range.  `what` names
 * the data in messages. */
cm_status cmi_feed_check(cm_model *model, const cm_data *data, const char *what, bool labels);
cmi_feed_spec cmi_feed_spec_of(const cm_model *model, const cm_data *data);
/* Sum of the sample weights of places [begin, end) of the order (rows times class weights); rows
 * when unweighted. */
double cmi_feed_weight(const cm_model *model, const cmi_source *source, int64_t begin, int64_t end);
bool cmi_feed_weighted(const cmi_source *source);
/* Gathers places [begin, end) of the order into the replica's feed. */
cm_status cmi_feed_fill(const cm_model *model, cmi_replica *replica, const cmi_source *source,
                        int64_t begin, int64_t end);

/* ---- job.c, step.c
 * ---------------------------------------------------------------------------------------- */

typedef enum cmi_pass_kind { CMI_PASS_TRAIN, CMI_PASS_EVALUATE, CMI_PASS_PREDICT } cmi_pass_kind;

/* Sums of one rank after a step, for main. */
typedef struct cmi_cell {
    int64_t step; /* after which they were read; -1: none */
    double sums[CMI_MAX_SUMS];
} cmi_cell;

/* "Run steps begin ... end-1": the same for all workers. */
typedef struct cmi_steps {
    cm_model *model;
    cmi_pass_kind kind;
    cmi_source source;
    int64_t begin, end;
    bool fresh; /* clear the sums first */
    bool stop_on_nan;
    uint64_t seed, first_update; /* update number of step 0, counted from 0 */
    float *output;               /* predict: [rows, output] */
    int epoch;                   /* for messages */

    _Atomic uint64_t word; /* the agreement, see job.c */
    _Atomic bool snapshot_wanted;
    _Atomic int64_t bad_step;   /* first step whose loss was not finite; -1: none */
    bool nan_told;              /* the user was told so in this fit: once is enough */
    cmi_mutex mutex;            /* guards cells */
    cmi_cell *cells;            /* one per rank */
    _Atomic int64_t steps_done; /* of rank 0: how far a stopped job came */
} cmi_steps;

cm_status cmi_steps_init(cmi_steps *steps, cm_model *model, cmi_pass_kind kind);
void cmi_steps_free(cmi_steps *steps);
/* The job function of every worker; argument is a cmi_steps. */
cm_status cmi_steps_job(void *argument, int rank);
/* Whether this worker runs step `step` (all or none do); *snapshot: it must publish its sums after
 * it. */
bool cmi_steps_agree(cmi_steps *steps, int64_t step, bool *snapshot);
void cmi_steps_stop(cmi_steps *steps);
/* Adds up the cells if all stand at the same step; false while they do not. */
bool cmi_steps_sums(cmi_steps *steps, int64_t *step, double *sums);

/* profile.c: the rank begins a stage (NONE: ends the step).  With a profile the queue is finished
 * first, so that a stage's work is charged to it; without one only the name is noted. */
cm_status cmi_stage_begin(cm_model *model, int rank, cmi_stage stage);
const char *cmi_stage_name(cmi_stage stage);
/* Starts profiling a built model, from zero.  No call may be running. */
cm_status cmi_model_profile(cm_model *model);
/* Stages 6 and 7: reduce, commit, update; exchange.c. */
cm_status cmi_exchange(cmi_steps *steps, int rank, int64_t step);
/* One step of one replica.  step.c tells the story. */
cm_status cmi_step(cmi_steps *steps, int rank, int64_t step);
/* Under CLMIRROR_CHECK=replicas compares all replicas; all ranks at once.  `when`: "before" or
 * "after". */
cm_status cmi_check_replicas(cm_model *model, int rank, int64_t step, const char *when);

/* ---- progress.c
 * ------------------------------------------------------------------------------------------- */

/* Bytes of the visible part of a drawing, and of a whole one: backspaces, that part, blanks. */
enum { CMI_PROGRESS_LINE = 6144, CMI_PROGRESS_BYTES = 3 * CMI_PROGRESS_LINE + 8 };

typedef struct cmi_progress {
    int verbose;
    cm_output output;
    void *user;
    int64_t total, seen;
    int64_t start_ns, first_step_ns, last_draw_ns; /* first_step_ns -1: step 1 was not reported */
    int width; /* visible, of the last drawing; 0: none that could be continued */
    bool ascii;
} cmi_progress;

/* What one drawing shows. */
typedef struct cmi_progress_state {
    int64_t current;
    const cm_logs *logs; /* in their order; NULL: none */
    bool final;
    int64_t now_ns;
} cmi_progress_state;

/* total > 0.  Also chooses the bar's character by the locale variables of the environment. */
void cmi_progress_begin(cmi_progress *progress, int verbose, cm_output output, void *user,
                        int64_t total);
/* Verbose 1: draws, but no more often than every 50 ms before the final one; verbose 2: the final
 * one only.  `final` comes last, with current == total.  Accepts NULL, as _abandon does. */
void cmi_progress_update(cmi_progress *progress, int64_t current, const cm_logs *logs, bool final);
/* The text of one drawing, a pure function; returns its visible width.  Values that do not fit are
 * left out whole. */
int cmi_progress_line(const cmi_progress *progress, const cmi_progress_state *state,
                      char text[CMI_PROGRESS_BYTES]);
/* Ends the line of a bar that will not be finished. */
void cmi_progress_abandon(cmi_progress *progress);
void cmi_output_standard(void *user, const char *text);

/* ---- run.c: what fit, evaluate and predict share
 * ----------------------------------------------------------- */

/* Appends loss and metrics, sorted by name: sums over `rows` rows. */
void cmi_logs_add(const cm_model *model, const double *sums, int64_t rows, bool validation,
                  cm_logs *logs);
/* Runs a job of steps with a progress bar; *rows_done are the rows of the steps that ran. */
cm_status cmi_run_steps(cmi_steps *steps, cmi_progress *progress);
/* Loss and metrics over a source, silently or with a bar; appends to logs. */
cm_status cmi_run_evaluate(cm_model *model, const cmi_source *source, bool validation,
                           cmi_progress *progress, cm_logs *logs);

/* ---- history.c
 * -------------------------------------------------------------------------------------------- */

cm_status cmi_history_create(cm_history **history);
cm_status cmi_history_add(cm_history *history, int epoch, const cm_logs *logs);

#endif
