/* losses.c - what all losses share: how items become one number.
 *
 * The divisor itself is taken by the caller, who knows the global batch; here are only the names.
 * Any thread. */
#include "nn/loss.h"

enum { MEAN_OVER_BATCH, MEAN, SUM, WEIGHTED };

const char *const cmi_reduction_names[] = {[MEAN_OVER_BATCH] = "sum_over_batch_size",
                                           [MEAN] = "mean",
                                           [SUM] = "sum",
                                           [WEIGHTED] = "mean_with_sample_weight",
                                           [WEIGHTED + 1] = NULL};

cmi_reduction cmi_reduction_of(const cmi_loss_common *common)
{
    if (common->reduction == SUM) return CMI_REDUCE_SUM;
    return common->reduction == WEIGHTED ? CMI_REDUCE_WEIGHTED_MEAN : CMI_REDUCE_MEAN;
}
