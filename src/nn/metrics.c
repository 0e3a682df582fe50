/* metrics.c - from a word of `metrics=` to something that can be run: a metric, or a loss whose
 * mean is shown.
 *
 * "accuracy" and "crossentropy" are not names of functions but wishes; which function serves
 * depends on the shape of output and labels, as in Keras.  Resolving on the main thread, running on
 * the owner of the stream. */
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "nn/metric.h"

enum { NAME_BYTES = 64 };

/* `kind` is "accuracy" or "crossentropy". */
static void choose(const char *kind, const cmi_shape *out, bool class_labels, char name[NAME_BYTES])
{
    int64_t last = out->rank ? out->dim[out->rank - 1] : 1;
    const char *which = last == 1 ? "binary" : class_labels ? "sparse_categorical" : "categorical";

    snprintf(name, NAME_BYTES, "%s_%s", which, kind);
}

static cm_status not_found(const char *name)
{
    const char *words[64] = {"accuracy", "crossentropy"};
    char near[256], valid[768] = "";
    size_t count = 2, length = 0;

    for (size_t i = 0; i < cmi_metric_registry.count && count < 64; i++)
        words[count++] = cmi_metric_registry.entries[i]->name;
    for (size_t i = 0; i < cmi_loss_registry.count && count < 64; i++)
        words[count++] = cmi_loss_registry.entries[i]->name;
    for (size_t i = 0; i < count && length < sizeof valid; i++)
        length += (size_t)snprintf(valid + length, sizeof valid - length, "%s%s", i ? ", " : "",
                                   words[i]);
    cmi_nearest(name, words, count, near, sizeof near);
    return cmi_error(CM_E_NOT_FOUND, "no metric is named \"%s\"%s%s%s; there are: %s", name,
                     near[0] ? "; did you mean " : "", near, near[0] ? "?" : "", valid);
}

static const cmi_entry *entry_of(const cmi_metric_use *use)
{
    return use->metric ? &use->metric->entry : &use->loss->entry;
}

/* The descriptor of a resolved name: of the metrics if there is one, else of the losses. */
static cm_status find(const char *name, cmi_metric_use *use)
{
    const cmi_entry *entry = NULL;
    cm_error before;

    /* The entry is the first member of both descriptors.  A miss in the first list must leave no
     * record when the second has the name. */
    cmi_error_save(&before);
    if (!cmi_registry_find(&cmi_metric_registry, name, &entry)) {
        use->metric = (const cmi_metric *)(const void *)entry;
        return CM_OK;
    }
    if (!cmi_registry_find(&cmi_loss_registry, name, &entry)) {
        use->loss = (const cmi_loss *)(const void *)entry;
        (void)cmi_error_restore(&before);
        return CM_OK;
    }
    return not_found(name);
}

/* The text of the key `name`, NULL if it is not given. */
static const char *given_name(const cmi_entry *entry, const void *config)
{
    for (const cmi_field *field = entry->fields; field && field->key; field++)
        if (!strcmp(field->key, "name"))
            return *(char *const *)(const void *)((const char *)config + field->offset);
    return NULL;
}

cm_status cmi_metric_resolve(const char *spec, const cmi_shape *out, bool class_labels,
                             cmi_metric_use *use)
{
    char typed[NAME_BYTES], name[NAME_BYTES];
    cm_status status = CM_OK;

    memset(use, 0, sizeof *use);
    CM_TRY_CTX(cmi_spec_name(spec, typed, sizeof typed), "metric");
    snprintf(name, sizeof name, "%s", typed);
    if (!strcmp(typed, "accuracy") || !strcmp(typed, "acc"))
        choose("accuracy", out, class_labels, name);
    if (!strcmp(typed, "crossentropy") || !strcmp(typed, "ce"))
        choose("crossentropy", out, class_labels, name);
    CM_TRY_GOTO(fail, find(name, use));
    CM_TRY_GOTO(fail, cmi_config_parse(entry_of(use), spec, &use->config));
    const char *given = given_name(entry_of(use), use->config);
    CM_TRY_GOTO(fail, cmi_strdup(given ? given : typed, &use->name));
    return CM_OK;
fail:
    cmi_metric_use_free(use);
    return status;
}

void cmi_metric_use_free(cmi_metric_use *use)
{
    if (use->metric || use->loss) cmi_config_free(entry_of(use), use->config);
    cmi_free(use->name);
    memset(use, 0, sizeof *use);
}

cmi_label_kind cmi_metric_use_labels(const cmi_metric_use *use)
{
    return use->metric ? use->metric->labels : use->loss->labels;
}

const char *cmi_metric_use_logits_of(const cmi_metric_use *use)
{
    return use->metric ? use->metric->logits_of : use->loss->logits_of;
}

cm_status cmi_metric_use_run(const cmi_metric_use *use, cmi_stream *stream,
                             const cmi_metric_run *run)
{
    if (use->metric) return use->metric->run(stream, use->config, run);
    return use->loss->run(stream, use->config, run->logits,
                          &(cmi_loss_run){.items = run->items,
                                          .classes = run->classes,
                                          .label = run->label,
                                          .pred = run->pred,
                                          .value = run->value});
}

double cmi_metric_use_finish(const cmi_metric_use *use, double sum, double items)
{
    if (use->metric && use->metric->finish) return use->metric->finish(use->config, sum, items);
    return items > 0 ? sum / items : 0.0;
}
