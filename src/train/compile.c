/* compile.c - cm_model_compile: optimiser, loss and metrics from their texts.
 *
 * Everything is read before anything of an earlier compile is given up, so a typing error leaves
 * the model as it was.
 *
 * Called by the threads of the user, never while a call is running. */
#include <string.h>
#include "base/mem.h"
#include "train/train.h"

typedef struct parts {
    const cmi_optim *optim;
    void *optim_config;
    const cmi_loss *loss; /* NULL: predict only */
    void *loss_config;
    char *metrics;
} parts;

static void free_parts(parts *p)
{
    if (p->optim) cmi_config_free(&p->optim->entry, p->optim_config);
    if (p->loss) cmi_config_free(&p->loss->entry, p->loss_config);
    cmi_free(p->metrics);
}

void cmi_compile_free(cm_model *model)
{
    parts old = {model->optim, model->optim_config, model->objective.loss,
                 model->objective.loss_config, model->metrics_text};

    cmi_metrics_free(model);
    free_parts(&old);
    model->optim = NULL;
    model->optim_config = NULL;
    model->metrics_text = NULL;
    model->objective = (cmi_objective){.version = model->objective.version + 1};
    model->compiled = false;
}

static cm_status read_parts(const cm_compile_options *options, parts *p)
{
    const cmi_entry *entry = NULL;

    CM_TRY_CTX(cmi_registry_parse(&cmi_optim_registry,
                                  options->optimizer ? options->optimizer : "rmsprop", &entry,
                                  &p->optim_config),
               "optimizer");
    p->optim = (const cmi_optim *)entry;
    CM_TRY(cmi_optim_check(p->optim, p->optim_config));
    if (options->loss) {
        CM_TRY_CTX(cmi_registry_parse(&cmi_loss_registry, options->loss, &entry, &p->loss_config),
                   "loss");
        p->loss = (const cmi_loss *)entry;
    }
    CM_TRY(cmi_strdup(options->metrics ? options->metrics : "", &p->metrics));
    return cmi_metrics_check(p->metrics);
}

static cm_status check_scope(const cm_model *model)
{
    const cm_strategy *scope = cmi_scope_current();

    if (scope && scope != model->strategy)
        return cmi_error(
            CM_E_SCOPE,
            "model creation must happen inside the scope: \"%s\" was created %s; move its "
            "cm_sequential_create and cm_model_add between cm_strategy_scope_begin(strategy) and "
            "cm_strategy_scope_end(strategy)",
            model->layers.name,
            model->had_scope ? "in the scope of another strategy" : "outside of it");
    if (model->had_scope && !model->strategy)
        return cmi_error(CM_E_STATE, "the strategy of \"%s\" was destroyed", model->layers.name);
    return cmi_model_idle(model);
}

static cm_status compile(cm_model *model, const cm_compile_options *options)
{
    parts p = {0};

    CM_TRY(check_scope(model));
    cm_status status = read_parts(options, &p);
    if (status) {
        free_parts(&p);
        return status;
    }
    cmi_compile_free(model);
    model->optim = p.optim;
    model->optim_config = p.optim_config;
    model->objective.loss = p.loss;
    model->objective.loss_config = p.loss_config;
    model->metrics_text = p.metrics;
    model->compiled = true;
    model->slots_made = -1;
    model->trained = false;
    model->updates = 0;
    return CM_OK;
}

cm_status cm_model_compile(cm_model *model, const cm_compile_options *options)
{
    static const cm_compile_options defaults;

    cmi_error_clear();
    if (!model) return cmi_error(CM_E_INVALID, "cm_model_compile: model is NULL");
    CM_TRY_CTX(compile(model, options ? options : &defaults), "cm_model_compile");
    return CM_OK;
}
