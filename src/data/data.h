/* data.h - rows, order and shards: what train/ needs of data/.  Host memory only, no OpenCL. */
#ifndef CMI_DATA_DATA_H
#define CMI_DATA_DATA_H

#include <stdbool.h>
#include <clmirror/dataset.h>
#include "base/error.h"
#include "base/shape.h"

/* tensor.c: size of an element; rows; elements and bytes of one row.  Sizes were checked by
 * cmi_tensor_check. */
size_t cmi_dtype_bytes(cm_dtype dtype);
int64_t cmi_tensor_rows(const cm_tensor *tensor);
cmi_shape cmi_tensor_row_shape(const cm_tensor *tensor); /* shape without the first axis */
int64_t cmi_tensor_row_count(const cm_tensor *tensor);
size_t cmi_tensor_row_bytes(const cm_tensor *tensor);
/* Rank, sizes, data pointer, products that overflow; `what` ("x", "validation y") is used in
 * messages. */
cm_status cmi_tensor_check(const cm_tensor *tensor, const char *what);
/* x there, y there if needed, the same rows everywhere, rows > 0, sample weights float32 [rows] and
 * finite. `call` is "fit", "evaluate", ... */
cm_status cmi_data_check(const cm_data *data, const char *what, bool needs_y);

/* shard.c: rows [*begin, *end) of a batch that rank `rank` of `ranks` takes.  Even shares:
 * rows/ranks each and one more for rank < rows % ranks.  A pure function. */
void cmi_shard(int64_t rows, int ranks, int rank, int64_t *begin, int64_t *end);
/* The largest shard of any rank for a batch of `rows`. */
int64_t cmi_shard_max(int64_t rows, int ranks);

/* batch.c: order[i] = row that stands at place i of epoch `epoch`; with shuffle false the
 * identity.  A function of (seed, epoch, rows) only (Fisher-Yates with cmi_rng). */
void cmi_epoch_order(uint64_t seed, uint64_t epoch, int64_t rows, bool shuffle, uint32_t *order);
/* Copies rows order[0..count) of the tensor, one after another, to dst. */
void cmi_gather(const cm_tensor *tensor, const uint32_t *order, int64_t count, void *dst);

#endif
