/* layer_run.c - one layer, forward and backward, over host arrays.  See layer_run.h. */
#include <stdlib.h>
#include <string.h>
#include "support/layer_run.h"

cmi_shape shape_of_text(const char *text)
{
    cmi_shape shape = {.rank = 0};

    while (*text && shape.rank < CMI_MAX_RANK) {
        char *end = NULL;
        shape.dim[shape.rank++] = strtoll(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',') break;
    }
    return shape;
}

static size_t count_of(const cmi_shape *shape)
{
    int64_t count = 0;

    CM_ASSERT(cmi_shape_count(shape, &count));
    return (size_t)count;
}

cm_status layer_run_open(layer_run *run, const char *spec, const cmi_shape *in, size_t rows)
{
    const cmi_entry *entry = NULL;

    memset(run, 0, sizeof *run);
    CM_TRY(cmi_registry_parse(&cmi_layer_registry, spec, &entry, &run->config));
    run->layer = (const cmi_layer *)(const void *)entry;
    run->in = *in;
    run->rows = rows;
    CM_TRY(run->layer->infer(run->config, in, &run->spec));
    run->in_count = count_of(in);
    run->out_count = count_of(&run->spec.out);
    for (int i = 0; i < run->spec.params; i++)
        run->param_count[i] = count_of(&run->spec.param[i].shape);
    run->training = true;
    return CM_OK;
}

void layer_run_close(layer_run *run)
{
    if (run->layer) cmi_config_free(&run->layer->entry, run->config);
    memset(run, 0, sizeof *run);
}

/* The views of a pass, beside those that stand in the pass itself. */
typedef struct views {
    cmi_view params[CMI_MAX_PARAMS], grads[CMI_MAX_PARAMS], saved[CMI_MAX_SAVED];
} views;

static cm_status forward(layer_run *run, pick *p, cmi_pass *pass, views *v)
{
    CM_TRY(pick_put(p, run->x, run->rows * run->in_count, &pass->x));
    CM_TRY(pick_new(p, run->rows * run->out_count, &pass->y));
    CM_TRY(pick_new(p, run->rows * (size_t)run->spec.scratch_count, &pass->scratch));
    for (int i = 0; i < run->spec.params; i++)
        CM_TRY(pick_put(p, run->params[i], run->param_count[i], &v->params[i]));
    for (int i = 0; i < run->spec.saved; i++)
        CM_TRY(pick_new(p, run->rows * (size_t)run->spec.saved_count[i], &v->saved[i]));
    CM_TRY_CTX(run->layer->forward(pass), "forward");
    return pick_get(p, pass->y, run->y);
}

static cm_status backward(layer_run *run, pick *p, cmi_pass *pass, views *v)
{
    CM_TRY(pick_put(p, run->dy, run->rows * run->out_count, &pass->dy));
    CM_TRY(pick_new(p, run->rows * run->in_count, &pass->dx));
    for (int i = 0; i < run->spec.params; i++)
        CM_TRY(run->grad_beta != 0 ? pick_put(p, run->grads[i], run->param_count[i], &v->grads[i])
                                   : pick_new(p, run->param_count[i], &v->grads[i]));
    if (!run->spec.needs_x) CM_TRY(pick_new(p, run->rows * run->in_count, &pass->x));
    if (!run->spec.needs_y) CM_TRY(pick_new(p, run->rows * run->out_count, &pass->y));
    CM_TRY_CTX(run->layer->backward(pass), "backward");
    if (!run->skip_dx) CM_TRY(pick_get(p, pass->dx, run->dx));
    for (int i = 0; i < run->spec.params && !run->skip_grads; i++)
        CM_TRY(pick_get(p, v->grads[i], run->grads[i]));
    return CM_OK;
}

cm_status layer_run_go(layer_run *run, pick *p)
{
    views v = {.params = {{NULL, 0, 0}}};
    cmi_pass pass = {.stream = p->stream,
                     .config = run->config,
                     .in = run->in,
                     .out = run->spec.out,
                     .rows = run->rows,
                     .training = run->training,
                     .linear = run->linear,
                     .draw = run->draw,
                     .params = v.params,
                     .grads = v.grads,
                     .saved = v.saved,
                     .grad_beta = run->grad_beta,
                     .want_dx = !run->skip_dx,
                     .want_grads = !run->skip_grads};

    pick_clear(p);
    if (run->spec.alias) {
        memcpy(run->y, run->x, run->rows * run->in_count * sizeof(float));
        if (run->dy) memcpy(run->dx, run->dy, run->rows * run->in_count * sizeof(float));
        return CM_OK;
    }
    CM_TRY(forward(run, p, &pass, &v));
    if (run->dy) CM_TRY(backward(run, p, &pass, &v));
    return pick_check(p);
}
