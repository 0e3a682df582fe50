/* train.c - whole trainings of the golden files.  Main thread. */
#include "golden/golden.h"

int golden_train(const cJSON *file, golden_report *report)
{
    (void)file;
    golden_unsupported(report, "train");
    return 0;
}
