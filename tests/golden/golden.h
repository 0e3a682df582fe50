/* golden.h - what the parts of the golden runner share: tensors of a JSON file, comparing, and the
 * report.
 *
 * A file has a `kind`; main.c has a table from kinds to functions.  Such a function runs the cases
 * of the file on the report's device and returns nothing: it tells the report what it compared,
 * what the library has not got, and what went wrong.  Once something went wrong it may go on with
 * the next case; only the first failure is printed. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdbool.h>
#include <cjson/cJSON.h>
#include "base/shape.h"
#include "support/device_pick.h"

typedef struct golden_report {
    pick *pick;
    const char *spec; /* of the case in hand, for messages */
    int cases;        /* that ran and agreed */
    int compared;     /* tensors and numbers */
    bool failed;
    char failure[1024];
    char unsupported[512]; /* names, with commas */
} golden_report;

typedef void golden_run(const cJSON *file, golden_report *report);

golden_run golden_activations, golden_initializers, golden_losses, golden_metrics,
    golden_optimizers, golden_layer;
/* Runs a whole training; 0 when it agreed. */
int golden_train(const cJSON *file, golden_report *report);

/* ---- values.c
 * ---------------------------------------------------------------------------------------- */

typedef struct golden_tensor {
    cmi_shape shape; /* with the batch axis */
    size_t count;
    bool whole;    /* int32 */
    float *values; /* numbers, whatever the type */
    int32_t *ints; /* the same as int32 */
} golden_tensor;

/* Reads {"shape","dtype","data"}; false, with a failure in the report, if it is none. */
bool golden_tensor_read(const cJSON *item, const char *name, golden_report *report,
                        golden_tensor *tensor);
void golden_tensor_free(golden_tensor *tensor);
/* The shape without its first axis. */
cmi_shape golden_row_shape(const golden_tensor *tensor);

void golden_fail(golden_report *report, const char *fmt, ...) CM_PRINTF(2, 3);
/* After a failed call: true, and the case counts as not supported, when the library does not know
 * the name or key; else the message becomes the failure. */
bool golden_refused(golden_report *report, cm_status status);
/* Notes a name, or a whole spec with a key, as not supported. */
void golden_unsupported(golden_report *report, const char *what);

/* |got - want| <= absolute + relative |want| for every element. */
bool golden_compare(golden_report *report, const char *name, const float *got,
                    const golden_tensor *want, double absolute, double relative);
bool golden_compare_number(golden_report *report, const char *name, double got, double want,
                           double tolerance);
/* The largest absolute value, at least `floor`. */
double golden_largest(const golden_tensor *tensor, double floor);
/* max abs error <= 1e-5 max(1, largest): the rule of layers and losses. */
bool golden_compare_scaled(golden_report *report, const char *name, const float *got,
                           const golden_tensor *want);

#endif
