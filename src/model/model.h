/* model.h - a model as data: its layers (sequential.c), where its tensors lie (plan.c), and its
 * copy on one device (replica.c).  No threads here, and nothing about strategies. */
#ifndef CMI_MODEL_MODEL_H
#define CMI_MODEL_MODEL_H

#include "nn/activation.h"
#include "nn/init.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optim.h"

/* ---- sequential.c: the ordered list of configured layers
 * ---------------------------------------------- */

typedef struct cmi_node {
    const cmi_layer *layer;
    void *config;
    char *name;
    cmi_shape in, out; /* of one row; set when the input shape is known */
    cmi_layer_spec spec;
} cmi_node;

typedef struct cmi_sequential {
    char *name;
    cmi_node *nodes;
    int count;
    bool has_input; /* the input shape is known, and every node's shapes with it */
    cmi_shape input;
} cmi_sequential;

cm_status cmi_sequential_init(cmi_sequential *model, const char *name);
void cmi_sequential_free(cmi_sequential *model);
/* Appends one layer given by its spec. */
cm_status cmi_sequential_add(cmi_sequential *model, const char *spec);
/* Infers all shapes from the input's; errors name the layer and both shapes. */
cm_status cmi_sequential_infer(cmi_sequential *model, const cmi_shape *input);
const cmi_shape *cmi_sequential_output(const cmi_sequential *model);
/* Name of the activation that makes the output, NULL if none does. */
const char *cmi_sequential_final_activation(const cmi_sequential *model);
bool cmi_node_trainable(const cmi_node *node);

/* ---- plan.c: where every tensor lies
 * ------------------------------------------------------------------ */

typedef struct cmi_tensor_place {
    int node, param;
    size_t offset, count; /* elements in the arena */
    bool trainable;
} cmi_tensor_place;

typedef struct cmi_bucket {
    size_t offset, count; /* elements; the first bucket begins with the control floats */
} cmi_bucket;

typedef struct cmi_block {
    uint32_t first, count, tensor, unused;
} cmi_block;

enum { CMI_BLOCK = 4096, CMI_CONTROL_LOSS = 0, CMI_CONTROL_COUNT = 2 };

/* The blocks that one rank updates when the update is sharded, and their span in the arena, gaps
 * included; spans of all ranks follow one another and end at grad_count. */
typedef struct cmi_share {
    size_t first_block, block_count;
    size_t begin, end;
} cmi_share;

/* Layout of the arenas, the same for every replica: the control floats, then the trainable tensors
 * from the last layer to the first, then the frozen ones.  Gradients and slots cover the part up to
 * grad_count. */
typedef struct cmi_plan {
    size_t align;              /* elements */
    cmi_tensor_place *tensors; /* in arena order */
    int tensor_count, trainable_count;
    int *weight_order; /* weight i of the model (layer order) -> index into tensors */
    size_t control_count, grad_count, param_count;
    cmi_bucket *buckets;
    int bucket_count;
    cmi_block *blocks;
    size_t block_count;
} cmi_plan;

/* bucket_bytes 0: 1 MiB for the first, then 25 MiB.  align_bytes: the largest of all devices. */
cm_status cmi_plan_make(const cmi_sequential *model, size_t align_bytes, size_t bucket_bytes,
                        cmi_plan *plan);
void cmi_plan_free(cmi_plan *plan);
/* Share of `rank` of `ranks`: blocks are cut evenly; a pure function. */
cmi_share cmi_plan_share(const cmi_plan *plan, int ranks, int rank);
/* Tensor of a parameter of a node. */
int cmi_plan_find(const cmi_plan *plan, int node, int param);

/* ---- weights.c
 * ---------------------------------------------------------------------------------------- */

/* Fills arena [param_count] with initial values: functions of (seed, position in the model). */
cm_status cmi_weights_init(const cmi_sequential *model, const cmi_plan *plan, uint64_t seed,
                           float *arena);

/* ---- summary.c
 * ---------------------------------------------------------------------------------------- */

typedef void (*cmi_print)(void *user, const char *text);

typedef struct cmi_summary_facts {
    bool built;
    int64_t fixed_batch;         /* > 0: shapes begin with this number instead of None */
    int64_t optimizer_variables; /* floats and counters of the optimiser; 0: not shown */
    int64_t optimizer_bytes;
    int columns; /* of the terminal, 80 when there is none */
    bool color;
} cmi_summary_facts;

cm_status cmi_summary_print(const cmi_sequential *model, const cmi_summary_facts *facts,
                            cmi_print print, void *user);

#endif
