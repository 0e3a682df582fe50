/* ops.h - one typed launcher per kernel family; each .c file mirrors the .cl file of its name.
 *
 * Every function enqueues on the stream and returns: no allocation, no blocking, no host read.
 * Views hold float32 unless said otherwise; sizes were checked by the caller.  0 rows or elements
 * launch nothing.  Called by the owner of the stream. */
#ifndef CMI_OPS_OPS_H
#define CMI_OPS_OPS_H

#include "device/gemm.h"
#include "device/stream.h"

/* ---- pointwise.c
 * ------------------------------------------------------------------------------------- */

/* A formula over vectors `real` with parameters h0 ... h3: y = map(x), dx = gradient(dy, x, y).
 * The texts are the right-hand sides, static. */
typedef struct cmi_formula {
    const char *map, *gradient;
} cmi_formula;

/* y may be x. */
cm_status cmi_op_map(cmi_stream *stream, const cmi_formula *formula, const float h[4], size_t n,
                     cmi_view x, cmi_view y);
/* dx may be dy; pass dy for an x or y that the gradient does not use. */
cm_status cmi_op_map_gradient(cmi_stream *stream, const cmi_formula *formula, const float h[4],
                              size_t n, cmi_view dy, cmi_view x, cmi_view y, cmi_view dx);
/* y = scale * x for uint8 x (offset in bytes). */
cm_status cmi_op_from_uint8(cmi_stream *stream, size_t n, float scale, cmi_view x, cmi_view y);

/* ---- bias.c
 * ------------------------------------------------------------------------------------------ */

/* db [columns] = sum over rows of dy [rows, columns] + beta db. */
cm_status cmi_op_column_sums(cmi_stream *stream, size_t rows, size_t columns, float beta,
                             cmi_view dy, cmi_view db);

/* ---- softmax.c
 * --------------------------------------------------------------------------------------- */

/* Over the last axis of x [rows, columns]; y may be x, dx may be dy. */
cm_status cmi_op_softmax(cmi_stream *stream, bool logarithm, size_t rows, size_t columns,
                         cmi_view x, cmi_view y);
cm_status cmi_op_softmax_gradient(cmi_stream *stream, bool logarithm, size_t rows, size_t columns,
                                  cmi_view y, cmi_view dy, cmi_view dx);

/* ---- dropout.c
 * --------------------------------------------------------------------------------------- */

/* Names the draws of a layer in a step: see cl/dropout.cl. */
typedef struct cmi_draw {
    uint64_t seed;
    uint32_t layer, step, first_row;
} cmi_draw;

/* y = x * kept / (1 - rate); rate 1 gives zeros.  Also the gradient, with dy for x.  y may be x. */
cm_status cmi_op_dropout(cmi_stream *stream, size_t rows, size_t columns, float rate, cmi_draw draw,
                         cmi_view x, cmi_view y);

/* ---- loss.c
 * ------------------------------------------------------------------------------------------ */

/* What a loss kernel reads and writes; an item is one vector of `classes` numbers of the output. */
typedef struct cmi_loss_run {
    size_t items, classes;
    cmi_view label;  /* int32 [items], or float [items, classes] */
    cmi_view pred;   /* [items, classes] */
    cmi_view weight; /* [items]; buffer NULL: 1 */
    cmi_view value;  /* [items]: weight * loss */
    cmi_view dpred;  /* [items, classes]; buffer NULL: not wanted */
    float scale;     /* dpred = scale * weight * d(loss)/d(pred) */
} cmi_loss_run;

/* Mean over the item of a formula L(y, p) with gradient dL/dp and parameters h0, h1. */
typedef struct cmi_loss_formula {
    const char *value, *gradient;
} cmi_loss_formula;
cm_status cmi_op_loss_elementwise(cmi_stream *stream, const cmi_loss_formula *formula,
                                  const float h[2], const cmi_loss_run *run);
/* Cross-entropy over classes: class numbers or target vectors, logits or probabilities. */
cm_status cmi_op_loss_categorical(cmi_stream *stream, bool sparse, bool logits, float smoothing,
                                  const cmi_loss_run *run);

/* ---- metric.c
 * ---------------------------------------------------------------------------------------- */

typedef enum cmi_accuracy {
    CMI_ACCURACY_SPARSE,
    CMI_ACCURACY_CATEGORICAL,
    CMI_ACCURACY_BINARY
} cmi_accuracy;
/* value [items] = 1 for a hit (binary: the share of hits in the item). */
cm_status cmi_op_accuracy(cmi_stream *stream, cmi_accuracy kind, size_t items, size_t classes,
                          float threshold, cmi_view label, cmi_view pred, cmi_view value);
/* Adds `arrays` arrays value [arrays][stride], the first `items` of each, to two-float sums
 * [arrays][2]; array 0 is multiplied by factor0 first, and control[0] = control_scale * sum of
 * array 0. */
cm_status cmi_op_fold(cmi_stream *stream, size_t items, size_t arrays, size_t stride, float factor0,
                      float control_scale, cmi_view value, cmi_view sums, cmi_view control);

/* ---- optim.c
 * ----------------------------------------------------------------------------------------- */

/* An update: statements over p, g, s0, s1, s2 and h0 ... h7, run over a table of blocks
 * (cl/optim.cl). */
typedef struct cmi_update {
    const char *body; /* static */
    int slots;
    float h[8];
    float decay;     /* p -= decay * p before the update */
    float limit;     /* g is cut to +-limit; 0: not */
    cmi_view factor; /* [tensors]: g is multiplied by its tensor's factor; buffer NULL: not */
    cmi_view table;  /* uint4 [blocks] (offset in uint4) */
    size_t blocks;
    cmi_view grads, params,
        out;          /* whole arenas; the table's places count from their starts; out: new params,
                                  * buffer NULL: in place */
    cmi_view slot[3]; /* cover the places from slot_begin on */
    size_t slot_begin;
} cmi_update;

cm_status cmi_op_update(cmi_stream *stream, const cmi_update *update);
/* partial [blocks] = sum of squares of each block of the table. */
cm_status cmi_op_square_sums(cmi_stream *stream, size_t blocks, cmi_view table, cmi_view grads,
                             cmi_view partial);

#endif
