/* objective.c - the metrics of a compiled model, and whether its loss takes logits, resolved at the
 * first data.
 *
 * "accuracy" means another function by the form of the labels and the shape of the output, so the
 * text of compile is kept and looked up when the model is built and data are there.  Names in logs
 * are what the user typed; a repeated name gets _1, _2.
 *
 * Called by the thread of the public call. */
#include <string.h>
#include "base/mem.h"
#include "train/train.h"

enum { NAME_BYTES = 128 };

/* Takes the next metric of the text: separated by `,`, `;` or a new line. */
static cm_status next_metric(const char **cursor, char **spec)
{
    return cmi_spec_next(cursor, ",;\n", spec);
}

cm_status cmi_metrics_check(const char *text)
{
    const cmi_shape one = {.rank = 1, .dim = {2}};
    int count = 0;

    for (;;) {
        char *spec = NULL;
        cmi_metric_use use = {0};
        CM_TRY(next_metric(&text, &spec));
        if (!spec) return CM_OK;
        cm_status status = cmi_metric_resolve(spec, &one, true, &use);
        cmi_metric_use_free(&use);
        cmi_free(spec);
        if (status) {
            cmi_error_prefix("metrics");
            return status;
        }
        if (++count >= CMI_MAX_SUMS)
            return cmi_error(CM_E_INVALID, "metrics: more than %d", CMI_MAX_SUMS - 1);
    }
}

void cmi_metrics_free(cm_model *model)
{
    for (int m = 0; m < model->metric_count; m++)
        cmi_metric_use_free(&model->metrics[m]);
    cmi_free(model->metrics);
    model->metrics = NULL;
    model->metric_count = 0;
    model->metrics_resolved = false;
    model->objective.metrics = NULL;
    model->objective.metric_count = 0;
    model->objective.version++;
}

static cm_status set_name(cm_model *model, int array, const char *name)
{
    char unique[NAME_BYTES], with_prefix[NAME_BYTES];

    (void)cmi_format(unique, sizeof unique, "%s", name);
    for (int i = 1, before = 0; before < array; before++)
        if (!strcmp(model->log_names[0][before], unique)) {
            (void)cmi_format(unique, sizeof unique, "%.100s_%d", name, i++);
            before = -1;
        }
    (void)cmi_format(with_prefix, sizeof with_prefix, "val_%.120s", unique);
    for (int v = 0; v < 2; v++) {
        cmi_free(model->log_names[v][array]);
        model->log_names[v][array] = NULL;
    }
    CM_TRY(cmi_strdup(unique, &model->log_names[0][array]));
    return cmi_strdup(with_prefix, &model->log_names[1][array]);
}

static cm_status resolve_all(cm_model *model, bool class_labels)
{
    const cmi_shape *out = cmi_sequential_output(&model->layers);
    const char *cursor = model->metrics_text;

    CM_TRY(set_name(model, 0, "loss"));
    CM_TRY(CMI_NEW(CMI_MAX_SUMS, &model->metrics));
    for (;;) {
        char *spec = NULL;
        CM_TRY(next_metric(&cursor, &spec));
        if (!spec) return CM_OK;
        cmi_metric_use *use = &model->metrics[model->metric_count];
        cm_status status = cmi_metric_resolve(spec, out, class_labels, use);
        cmi_free(spec);
        if (!status) {
            model->metric_count++;
            status = set_name(model, model->metric_count, use->name);
        }
        if (status) {
            cmi_error_prefix("metrics");
            return status;
        }
    }
}

cm_status cmi_metrics_resolve(cm_model *model)
{
    cmi_objective *objective = &model->objective;

    if (model->metrics_resolved) return CM_OK;
    cmi_metrics_free(model);
    cm_status status = resolve_all(model, objective->loss->labels == CMI_LABEL_CLASS);
    if (status) {
        cmi_metrics_free(model);
        return status;
    }
    objective->metrics = model->metrics;
    objective->metric_count = model->metric_count;
    objective->class_labels = objective->vector_labels = objective->output_wanted = false;
    const char *final = cmi_sequential_final_activation(&model->layers),
               *by_loss = objective->loss->logits_of;
    /* The loss takes logits when the output comes directly from the activation that it would take
     * the logarithm of. */
    objective->logits = final && by_loss && !strcmp(final, by_loss);
    for (int m = -1; m < model->metric_count; m++) {
        cmi_label_kind kind =
            m < 0 ? objective->loss->labels : cmi_metric_use_labels(&model->metrics[m]);
        objective->class_labels |= kind == CMI_LABEL_CLASS;
        objective->vector_labels |= kind == CMI_LABEL_VECTOR;
        const char *wanted = m < 0 ? final : cmi_metric_use_logits_of(&model->metrics[m]);
        if (objective->logits && !(wanted && final && !strcmp(wanted, final)))
            objective->output_wanted = true;
    }
    objective->version++;
    model->metrics_resolved = true;
    return CM_OK;
}

const char *cmi_log_name(const cm_model *model, int array, bool validation)
{
    return model->log_names[validation][array];
}
