/* replica_internal.h - the struct behind replica.h, shared by replica.c (buffers and room) and
 * replica_run.c (the walk). */
#ifndef CMI_MODEL_REPLICA_INTERNAL_H
#define CMI_MODEL_REPLICA_INTERNAL_H

#include "model/replica.h"

typedef struct cmi_node_views {
    cmi_view y; /* of the layer, or of the layer before for an alias */
    cmi_view saved[CMI_MAX_SAVED];
    cmi_view params[CMI_MAX_PARAMS], grads[CMI_MAX_PARAMS];
} cmi_node_views;

/* A list of buffers that are freed together, in reverse order: parts before parents. */
typedef struct cmi_buffer_list {
    cmi_buffer **items;
    size_t count, capacity;
} cmi_buffer_list;

struct cmi_replica {
    cmi_replica *next; /* of those left behind */
    cmi_stream *stream;
    const cmi_sequential *model;
    const cmi_plan *plan;
    const cmi_objective *objective;
    uint64_t objective_version;
    cmi_feed_spec feed;
    size_t rows; /* capacity */
    int slots;
    cmi_share share; /* sharded slots: what they cover */
    bool sharded;

    cmi_buffer_list fixed, batch,
        slot_list; /* life of the build; of a reserved size; of a compile */
    cmi_buffer *params, *grads, *slot[3];
    cmi_buffer **buckets;
    cmi_view control, table, partial, factor, sums;
    float *factor_host, *partial_host;
    cmi_node_views *nodes;

    cmi_buffer *feed_buffer;
    void *feed_host;
    size_t feed_class_at, feed_vector_at, feed_weight_at; /* bytes */
    cmi_view x, x_raw, class_label, vector_label, weight, gradient[2], scratch, values, output;
    bool weighted;
};

/* Product of the sizes of a shape that inference has checked. */
size_t cmi_element_count(const cmi_shape *shape);

#endif
