/* batch.c - the order of an epoch, and copying rows in that order.
 *
 * The order depends on (seed, epoch, rows) and on nothing else: not on the number of replicas, not
 * on the batch size.  That is half of why N replicas train like one; the other half is shard.c.
 *
 * The order is made on the thread that calls fit; workers gather from it at the same time, reading
 * only. */
#include <string.h>
#include "base/rng.h"
#include "data/data.h"

void cmi_epoch_order(uint64_t seed, uint64_t epoch, int64_t rows, bool shuffle, uint32_t *order)
{
    cmi_rng rng;
    for (int64_t i = 0; i < rows; i++)
        order[i] = (uint32_t)i;
    if (!shuffle) return;
    cmi_rng_init(&rng, seed, CMI_RNG_SHUFFLE, epoch);
    /* Fisher and Yates: place i gets one of the i+1 rows that are left, all equally likely. */
    for (int64_t i = rows - 1; i > 0; i--) {
        uint64_t j = cmi_rng_below(&rng, (uint64_t)i + 1);
        uint32_t row = order[i];
        order[i] = order[j];
        order[j] = row;
    }
}

void cmi_gather(const cm_tensor *tensor, const uint32_t *order, int64_t count, void *dst)
{
    const size_t row_bytes = cmi_tensor_row_bytes(tensor);
    const char *from = tensor->data;
    char *to = dst;
    for (int64_t i = 0; i < count; i++, to += row_bytes)
        memcpy(to, from + order[i] * row_bytes, row_bytes);
}
