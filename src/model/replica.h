/* replica.h - the copy of a model on one device: arenas, activations, the feed of a batch, and the
 * walk through the layers.  Used by the worker thread of its stream only. */
#ifndef CMI_MODEL_REPLICA_H
#define CMI_MODEL_REPLICA_H

#include "model/model.h"

/* What a compiled model computes beside the layers; the same for all replicas. */
typedef struct cmi_objective {
    uint64_t version;     /* changes whenever the rest does */
    const cmi_loss *loss; /* NULL: predict only */
    void *loss_config;
    bool logits;        /* the loss takes the input of the final activation */
    bool output_wanted; /* some metric wants the output although the loss takes logits */
    const cmi_metric_use *metrics;
    int metric_count;
    bool class_labels, vector_labels; /* which forms of the labels loss and metrics read */
} cmi_objective;

/* Counts of one row of each column of a batch, and how x arrives. */
typedef struct cmi_feed_spec {
    bool x_uint8;
    float x_scale;
    size_t x_count;     /* elements of one row of x */
    size_t items;       /* vectors of the output per row */
    size_t label_count; /* floats of a label vector per row, = output count */
} cmi_feed_spec;

/* Host pointers into the mapped feed, valid between cmi_replica_feed_begin and _end. */
typedef struct cmi_feed {
    void *x;              /* uint8 or float [rows, x_count] */
    int32_t *class_label; /* [rows, items], NULL if not read */
    float *vector_label;  /* [rows, label_count], NULL if not read */
    float *weight;        /* [rows, items] */
} cmi_feed;

typedef struct cmi_replica cmi_replica;

/* Allocates params and grads (zero) and the block table; slots come with cmi_replica_set_slots. */
cm_status cmi_replica_create(cmi_stream *stream, const cmi_sequential *model, const cmi_plan *plan,
                             cmi_replica **out);
/* Puts a replica whose device does not answer, and which therefore stays for ever, on a list. */
void cmi_replica_leave(cmi_replica *replica, cmi_replica **list);
void cmi_replica_destroy(
    cmi_replica *replica); /* accepts NULL; the caller has finished the stream */
/* New slots, zero, for all trainable parameters or (share not NULL) for those of the share alone.
 */
cm_status cmi_replica_set_slots(cmi_replica *replica, int slots, const cmi_share *share);
/* Makes room for batches of `rows` rows in this form; keeps what is large enough. */
cm_status cmi_replica_reserve(cmi_replica *replica, size_t rows, const cmi_feed_spec *feed,
                              const cmi_objective *objective);

/* Maps the feed for writing and ends it (the device sees the data afterwards). */
cm_status cmi_replica_feed_begin(cmi_replica *replica, cmi_feed *feed);
cm_status cmi_replica_feed_end(cmi_replica *replica, size_t rows, bool weighted);

/* Which sums a pass adds to. */
typedef enum cmi_sum_set { CMI_SUMS_TRAIN, CMI_SUMS_EVALUATE, CMI_SUM_SETS } cmi_sum_set;

typedef struct cmi_run {
    size_t rows; /* of this shard, > 0 */
    bool training;
    bool plain; /* predict: the final activation is applied whatever the loss takes */
    uint64_t seed;
    uint32_t step, first_row; /* of the random draws */
    double scale;             /* 1 / D */
    double loss_factor;       /* epoch sum of the loss += factor * sum of the item losses */
    cmi_sum_set sums;
} cmi_run;

/* Stages of a step; each only enqueues.  Failures name the layer. */
cm_status cmi_replica_forward(cmi_replica *replica, const cmi_run *run);
cm_status cmi_replica_loss(cmi_replica *replica, const cmi_run *run); /* also metrics and sums */
cm_status cmi_replica_backward(cmi_replica *replica, const cmi_run *run);
/* For a shard without rows: zero gradients and control floats. */
cm_status cmi_replica_no_rows(cmi_replica *replica);
/* One update from reduced gradients. */
typedef struct cmi_update_step {
    const cmi_optim *optim;
    const void *config;
    uint64_t step; /* counted from 1 */
    double rate;
    /* Sharded: only these blocks, and the new values are written over the gradients.  NULL: all, in
     * place. */
    const cmi_share *share;
    /* Sharded, with clipping by norms: all [blocks of the plan] = the sums of squares of all ranks,
     * of which `mine` are this share's. */
    cm_status (*exchange)(void *user, const float *mine, size_t count, float *all);
    void *user;
} cmi_update_step;

/* Clip, decay, update. */
cm_status cmi_replica_update(cmi_replica *replica, const cmi_update_step *update);

/* Sums on the host: loss first, then the metrics; at most CMI_MAX_SUMS. */
enum { CMI_MAX_SUMS = 64 };
cm_status cmi_replica_clear_sums(cmi_replica *replica, cmi_sum_set set);
cm_status cmi_replica_read_sums(cmi_replica *replica, cmi_sum_set set, double *sums);
/* The step's loss, from the control floats of this replica: of all replicas after the reduction. */
cm_status cmi_replica_read_loss(cmi_replica *replica, float *loss);
/* Output of the last plain forward pass, `rows` rows. */
cm_status cmi_replica_read_output(cmi_replica *replica, size_t rows, float *out);

/* A bucket of gradients, or parameters, mapped for the host. */
cm_status cmi_replica_map_bucket(cmi_replica *replica, int bucket, cmi_map_mode mode, float **host);
cm_status cmi_replica_unmap_bucket(cmi_replica *replica, int bucket, float *host);
cm_status cmi_replica_map_params(cmi_replica *replica, cmi_map_mode mode, float **host);
cm_status cmi_replica_unmap_params(cmi_replica *replica, float *host);
cm_status cmi_replica_write_params(cmi_replica *replica, size_t offset, size_t count,
                                   const float *values);
cm_status cmi_replica_read_params(cmi_replica *replica, size_t offset, size_t count, float *values);
/* Parameters and slots (parameters alone when slots are sharded) in one host array of
 * cmi_replica_all_count floats. */
size_t cmi_replica_all_count(const cmi_replica *replica);
cm_status cmi_replica_read_all(cmi_replica *replica, float *values);
cm_status cmi_replica_write_all(cmi_replica *replica, const float *values);
cmi_stream *cmi_replica_stream(const cmi_replica *replica);

#endif
