/* metric.h - what a metric is: per-item values on the device, sums over an epoch, a result from the
 * sums.
 *
 * Only means of per-item values exist so far, so the sums are {sum of values, items}.  Sums of all
 * replicas are added on the host before `finish`: results are never averaged. */
#ifndef CMI_NN_METRIC_H
#define CMI_NN_METRIC_H

#include "nn/loss.h"

/* What the loss's output and the metric's input are. */
typedef struct cmi_metric_run {
    size_t items, classes;
    cmi_view label; /* as `labels` of the metric says */
    cmi_view pred;  /* probabilities or plain outputs; logits if `logits` */
    bool logits;
    cmi_view value; /* [items] */
} cmi_metric_run;

typedef struct cmi_metric {
    cmi_entry entry;
    cmi_label_kind labels;
    /* "softmax" or "sigmoid": takes logits of that activation instead of its output
     * (cross-entropies, and functions that only compare, since the activation keeps the order);
     * NULL: wants the output itself. */
    const char *logits_of;
    cm_status (*run)(cmi_stream *stream, const void *config, const cmi_metric_run *run);
    double (*finish)(const void *config, double sum,
                     double items); /* NULL: sum / items, 0 when items is 0 */
} cmi_metric;

extern const cmi_registry cmi_metric_registry;

/* A metric of a compiled model: a descriptor of the metric registry, or a loss whose mean is
 * reported. */
typedef struct cmi_metric_use {
    const cmi_metric *metric; /* NULL: `loss` */
    const cmi_loss *loss;
    void *config;
    char *name; /* in logs: what the user typed */
} cmi_metric_use;

/* Resolves a spec of `metrics=`: "accuracy"/"acc" and "crossentropy"/"ce" become the binary,
 * categorical or sparse one by the output's and the label's shape, as Keras does; names of losses
 * give their mean. */
cm_status cmi_metric_resolve(const char *spec, const cmi_shape *out, bool class_labels,
                             cmi_metric_use *use);
void cmi_metric_use_free(cmi_metric_use *use);
cmi_label_kind cmi_metric_use_labels(const cmi_metric_use *use);
const char *cmi_metric_use_logits_of(const cmi_metric_use *use);
cm_status cmi_metric_use_run(const cmi_metric_use *use, cmi_stream *stream,
                             const cmi_metric_run *run);
double cmi_metric_use_finish(const cmi_metric_use *use, double sum, double items);

#endif
