/* losses.c - golden losses and metrics.  Main thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "golden/golden.h"
#include "nn/loss.h"
#include "nn/metric.h"

typedef struct arrays {
    golden_tensor label, pred, weight, gradient; /* weight.values NULL: none */
    size_t items, classes;
} arrays;

static bool read(const cJSON *item, golden_report *report, arrays *a)
{
    const cJSON *weight = cJSON_GetObjectItem(item, "sample_weight");

    memset(a, 0, sizeof *a);
    if (!golden_tensor_read(cJSON_GetObjectItem(item, "y_true"), "y_true", report, &a->label) ||
        !golden_tensor_read(cJSON_GetObjectItem(item, "y_pred"), "y_pred", report, &a->pred))
        return false;
    if (cJSON_IsObject(weight) && !golden_tensor_read(weight, "sample_weight", report, &a->weight))
        return false;
    a->classes = a->pred.shape.rank > 1 ? (size_t)a->pred.shape.dim[a->pred.shape.rank - 1] : 1;
    a->items = a->pred.count / a->classes;
    if (a->weight.values && a->weight.count != a->items) {
        golden_fail(report, "%zu weights for %zu items", a->weight.count, a->items);
        return false;
    }
    return true;
}

static void release(arrays *a)
{
    golden_tensor_free(&a->label);
    golden_tensor_free(&a->pred);
    golden_tensor_free(&a->weight);
    golden_tensor_free(&a->gradient);
}

/* Labels as the function wants them.  False when the file has others. */
static bool put_labels(pick *p, const arrays *a, cmi_label_kind kind, cm_status *status,
                       cmi_view *view)
{
    bool fits = kind == CMI_LABEL_CLASS ? a->label.whole && a->label.count == a->items
                                        : a->label.count == a->items * a->classes;

    *status = CM_OK;
    if (!fits) return false;
    *status = kind == CMI_LABEL_CLASS ? pick_put_ints(p, a->label.ints, a->items, view)
                                      : pick_put(p, a->label.values, a->label.count, view);
    return true;
}

/* ---- losses
 * ------------------------------------------------------------------------------------------ */

static double divisor(const arrays *a, cmi_reduction reduction)
{
    double weights = a->weight.values ? 0 : (double)a->items;

    for (size_t i = 0; a->weight.values && i < a->items; i++)
        weights += (double)a->weight.values[i];
    if (reduction == CMI_REDUCE_SUM) return 1;
    return reduction == CMI_REDUCE_WEIGHTED_MEAN ? weights : (double)a->items;
}

/* value [items], gradient [items * classes]. */
static cm_status run_loss(const cmi_loss *loss, const void *config, pick *p, const arrays *a,
                          double divide, float *value, float *gradient)
{
    cmi_loss_run run = {.items = a->items, .classes = a->classes, .scale = (float)(1 / divide)};
    cm_status status = CM_OK;

    pick_clear(p);
    if (!put_labels(p, a, loss->labels, &status, &run.label))
        return cmi_error(CM_E_SHAPE, "the labels of the file are not what the loss takes");
    CM_TRY(status);
    CM_TRY(pick_put(p, a->pred.values, a->pred.count, &run.pred));
    if (a->weight.values) CM_TRY(pick_put(p, a->weight.values, a->items, &run.weight));
    CM_TRY(pick_new(p, a->items, &run.value));
    CM_TRY(pick_new(p, a->pred.count, &run.dpred));
    CM_TRY(loss->run(p->stream, config, false, &run));
    CM_TRY(pick_get(p, run.value, value));
    CM_TRY(pick_get(p, run.dpred, gradient));
    return pick_check(p);
}

static void loss_case(const cJSON *item, golden_report *report)
{
    const cmi_entry *entry = NULL;
    void *config = NULL;
    arrays a;

    if (golden_refused(report,
                       cmi_registry_parse(&cmi_loss_registry, report->spec, &entry, &config)))
        return;
    const cmi_loss *loss = (const cmi_loss *)(const void *)entry;
    double want = cJSON_GetNumberValue(cJSON_GetObjectItem(item, "value")), sum = 0;
    if (read(item, report, &a) &&
        golden_tensor_read(cJSON_GetObjectItem(item, "dpred"), "dpred", report, &a.gradient)) {
        float *got = calloc(a.items + a.pred.count + 1, sizeof *got);
        CM_ASSERT(got);
        double divide = divisor(&a, cmi_reduction_of(config));
        if (!golden_refused(report,
                            run_loss(loss, config, report->pick, &a, divide, got, got + a.items))) {
            for (size_t i = 0; i < a.items; i++)
                sum += (double)got[i] / divide;
            if (golden_compare_number(report, "value", sum, want, 1e-5 * fmax(1, fabs(want))) &&
                golden_compare_scaled(report, "dpred", got + a.items, &a.gradient))
                report->cases++;
        }
        free(got);
    }
    release(&a);
    cmi_config_free(entry, config);
}

void golden_losses(const cJSON *file, golden_report *report)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(file, "cases"))
    {
        report->spec = cJSON_GetStringValue(cJSON_GetObjectItem(item, "spec"));
        loss_case(item, report);
    }
}

/* ---- metrics
 * ----------------------------------------------------------------------------------------- */

typedef struct sums {
    double value, weight;
} sums;

/* Adds the batch, weighted on the host, as a weighted metric would. */
static cm_status run_metric(const cmi_metric_use *use, pick *p, const arrays *a, sums *total)
{
    cmi_metric_run run = {.items = a->items, .classes = a->classes};
    float value[64];
    cm_status status = CM_OK;

    pick_clear(p);
    if (a->items > sizeof value / sizeof value[0] ||
        !put_labels(p, a, cmi_metric_use_labels(use), &status, &run.label))
        return cmi_error(CM_E_SHAPE, "the labels of the file are not what the metric takes");
    CM_TRY(status);
    CM_TRY(pick_put(p, a->pred.values, a->pred.count, &run.pred));
    CM_TRY(pick_new(p, a->items, &run.value));
    CM_TRY(cmi_metric_use_run(use, p->stream, &run));
    CM_TRY(pick_get(p, run.value, value));
    for (size_t i = 0; i < a->items; i++) {
        double weight = a->weight.values ? (double)a->weight.values[i] : 1;
        total->value += weight * (double)value[i];
        total->weight += weight;
    }
    return pick_check(p);
}

static bool metric_batches(const cJSON *item, golden_report *report, cmi_metric_use *use)
{
    const cJSON *batch;
    sums total = {0, 0};
    int index = 0;

    cJSON_ArrayForEach(batch, cJSON_GetObjectItem(item, "batches"))
    {
        arrays a;
        bool good = read(batch, report, &a);
        cmi_shape out = golden_row_shape(&a.pred);
        if (good && !use->name)
            good =
                !golden_refused(report, cmi_metric_resolve(report->spec, &out, a.label.whole, use));
        good = good && !golden_refused(report, run_metric(use, report->pick, &a, &total));
        release(&a);
        const cJSON *want = cJSON_GetArrayItem(cJSON_GetObjectItem(item, "result"), index++);
        if (cJSON_IsArray(want)) want = cJSON_GetArrayItem(want, 0);
        if (!good || !golden_compare_number(report, "result",
                                            cmi_metric_use_finish(use, total.value, total.weight),
                                            cJSON_GetNumberValue(want),
                                            1e-6 * fmax(1, fabs(cJSON_GetNumberValue(want)))))
            return false;
    }
    return index > 0;
}

void golden_metrics(const cJSON *file, golden_report *report)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(file, "cases"))
    {
        cmi_metric_use use;
        memset(&use, 0, sizeof use);
        report->spec = cJSON_GetStringValue(cJSON_GetObjectItem(item, "spec"));
        if (metric_batches(item, report, &use)) report->cases++;
        cmi_metric_use_free(&use);
    }
}
