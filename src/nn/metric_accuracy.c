/* metric_accuracy.c - share of hits: the first maximum is the label, or each element lies on the
 * right side of a threshold.  The kernels are in cl/metric.cl; called by the owner of the
 * stream. */
#include "nn/metric.h"

typedef struct accuracy {
    char *name;
    double threshold; /* binary only */
} accuracy;

#define NAME_FIELD                                                                                 \
    {                                                                                              \
        "name", CMI_FIELD_TEXT, offsetof(accuracy, name), "None", 0, 0,                            \
            "name of the metric in logs", NULL                                                     \
    }
static const cmi_field fields[] = {NAME_FIELD, CMI_FIELDS_END};
static const cmi_field binary_fields[] = {{"threshold", CMI_FIELD_FLOAT,
                                           offsetof(accuracy, threshold), "0.5", 0, 0,
                                           "larger outputs count as yes", NULL},
                                          NAME_FIELD,
                                          CMI_FIELDS_END};

static cm_status run_as(cmi_accuracy kind, cmi_stream *stream, const accuracy *c,
                        const cmi_metric_run *run)
{
    return cmi_op_accuracy(stream, kind, run->items, run->classes, (float)c->threshold, run->label,
                           run->pred, run->value);
}

static cm_status run_sparse(cmi_stream *stream, const void *config, const cmi_metric_run *run)
{
    return run_as(CMI_ACCURACY_SPARSE, stream, config, run);
}

static cm_status run_categorical(cmi_stream *stream, const void *config, const cmi_metric_run *run)
{
    return run_as(CMI_ACCURACY_CATEGORICAL, stream, config, run);
}

static cm_status run_binary(cmi_stream *stream, const void *config, const cmi_metric_run *run)
{
    return run_as(CMI_ACCURACY_BINARY, stream, config, run);
}

extern const cmi_metric cmi_metric_sparse_categorical_accuracy, cmi_metric_categorical_accuracy,
    cmi_metric_binary_accuracy;

const cmi_metric cmi_metric_sparse_categorical_accuracy = {
    .entry = {"sparse_categorical_accuracy", "the largest output is the class of the label",
              sizeof(accuracy), fields},
    .labels = CMI_LABEL_CLASS,
    .logits_of = "softmax", /* keeps the order */
    .run = run_sparse};

const cmi_metric cmi_metric_categorical_accuracy = {
    .entry = {"categorical_accuracy", "the largest output is where the label is largest",
              sizeof(accuracy), fields},
    .labels = CMI_LABEL_VECTOR,
    .logits_of = "softmax",
    .run = run_categorical};

const cmi_metric cmi_metric_binary_accuracy = {
    .entry = {"binary_accuracy", "outputs on the label's side of the threshold", sizeof(accuracy),
              binary_fields},
    .labels = CMI_LABEL_VECTOR,
    .run = run_binary};
