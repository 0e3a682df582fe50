/* access.c - weights in and out, shapes, counters, summary: what a program asks of a built model.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/mem.h"
#include "train/train.h"

int cm_model_weight_count(const cm_model *model)
{
    return model && model->built ? model->plan.tensor_count : 0;
}

static cm_status find_weight(const cm_model *model, int index, const char *call,
                             const cmi_tensor_place **tensor)
{
    if (!model) return cmi_error(CM_E_INVALID, "%s: model is NULL", call);
    if (!model->built)
        return cmi_error(
            CM_E_STATE,
            "%s: \"%s\" has no weights before it is built: give the first layer an input_shape "
            "and call cm_model_build, or call fit or predict",
            call, model->layers.name);
    if (index < 0 || index >= model->plan.tensor_count)
        return cmi_error(CM_E_INVALID, "%s: weight %d; \"%s\" has weights 0 ... %d", call, index,
                         model->layers.name, model->plan.tensor_count - 1);
    *tensor = &model->plan.tensors[model->plan.weight_order[index]];
    return CM_OK;
}

cm_status cm_model_weight_info(const cm_model *model, int index, cm_weight_info *info)
{
    const cmi_tensor_place *tensor = NULL;

    cmi_error_clear();
    if (!info) return cmi_error(CM_E_INVALID, "cm_model_weight_info: info is NULL");
    memset(info, 0, sizeof *info);
    CM_TRY(find_weight(model, index, "cm_model_weight_info", &tensor));
    const cmi_node *node = &model->layers.nodes[tensor->node];
    const cmi_param_spec *spec = &node->spec.param[tensor->param];
    info->layer = node->name;
    info->name = spec->name;
    info->rank = spec->shape.rank;
    for (int i = 0; i < spec->shape.rank; i++)
        info->shape[i] = spec->shape.dim[i];
    info->count = tensor->count;
    info->trainable = tensor->trainable;
    return CM_OK;
}

typedef struct weight_work {
    const cmi_tensor_place *tensor;
    int rank; /* read: from this one */
    float *out;
    const float *in;
} weight_work;

static cm_status read_weight(void *argument, cm_model *model, int rank)
{
    weight_work *work = argument;

    if (rank != work->rank) return CM_OK;
    return cmi_replica_read_params(model->replicas[rank], work->tensor->offset, work->tensor->count,
                                   work->out);
}

static cm_status write_weight(void *argument, cm_model *model, int rank)
{
    weight_work *work = argument;

    return cmi_replica_write_params(model->replicas[rank], work->tensor->offset,
                                    work->tensor->count, work->in);
}

static cm_status check_count(const cm_model *model, const cmi_tensor_place *tensor,
                             const void *values, size_t count, const char *call)
{
    const cmi_node *node = &model->layers.nodes[tensor->node];

    if (values && count == tensor->count) return CM_OK;
    return cmi_error(values ? CM_E_SHAPE : CM_E_INVALID,
                     "%s: \"%s\" of layer \"%s\" has %zu values, %s %zu", call,
                     node->spec.param[tensor->param].name, node->name, tensor->count,
                     values ? "the array has" : "the array is NULL, count", count);
}

/* From the lowest replica that has all updates and answers: the device of another may be what
 * failed. */
static cm_status read_any(cm_model *model, weight_work *work)
{
    uint64_t newest = atomic_load(&model->applied[cmi_model_healthy(model)]);
    cm_status status = cmi_error(CM_E_STATE, "no device of the strategy answers any more");

    for (int r = 0; r < model->strategy->ranks && status; r++) {
        work->rank = r;
        if (model->strategy->workers[r].gone || atomic_load(&model->applied[r]) != newest) continue;
        cmi_error_clear();
        status = cmi_model_run(model, read_weight, work);
    }
    return status;
}

static cm_status read_one(cm_model *model, weight_work *work, bool heal)
{
    if (model->strategy->workers[work->rank].gone)
        return cmi_error(CM_E_STATE, "replica %d: %s stopped answering", work->rank,
                         model->strategy->names[work->rank]);
    if (heal && !atomic_load(&model->strategy->lost)) CM_TRY(cmi_model_heal(model));
    return cmi_model_run(model, read_weight, work);
}

static cm_status get_weight(cm_model *model, int replica, int index, float *values, size_t count,
                            const char *call)
{
    weight_work work = {.rank = replica, .out = values};
    bool leave = false;

    cmi_error_clear();
    CM_TRY(find_weight(model, index, call, &work.tensor));
    CM_TRY(check_count(model, work.tensor, values, count, call));
    CM_TRY(cmi_model_enter_reading(model, call, &leave));
    cm_status status = replica < 0 ? read_any(model, &work) : read_one(model, &work, leave);
    if (leave) cmi_strategy_leave(model->strategy);
    if (status) cmi_error_prefix("%s", call);
    return status;
}

cm_status cm_model_get_weight(cm_model *model, int index, float *values, size_t count)
{
    return get_weight(model, -1, index, values, count, "cm_model_get_weight");
}

cm_status cm_model_get_replica_weight(cm_model *model, int replica, int index, float *values,
                                      size_t count)
{
    cmi_error_clear();
    if (model && model->strategy && (replica < 0 || replica >= model->strategy->ranks))
        return cmi_error(CM_E_INVALID, "cm_model_get_replica_weight: replica %d of %d", replica,
                         model->strategy->ranks);
    return get_weight(model, replica, index, values, count, "cm_model_get_replica_weight");
}

cm_status cm_model_set_weight(cm_model *model, int index, const float *values, size_t count)
{
    weight_work work = {.in = values};

    cmi_error_clear();
    CM_TRY(find_weight(model, index, "cm_model_set_weight", &work.tensor));
    CM_TRY(check_count(model, work.tensor, values, count, "cm_model_set_weight"));
    CM_TRY(cmi_model_enter(model, "cm_model_set_weight"));
    cm_status status = cmi_model_heal(model);
    if (!status) {
        model->parted = true; /* until it is known that all have it */
        status = cmi_model_run(model, write_weight, &work);
        if (!status) model->parted = false;
    }
    cmi_strategy_leave(model->strategy);
    if (status) cmi_error_prefix("cm_model_set_weight");
    return status;
}

cm_status cm_model_output_shape(const cm_model *model, int64_t shape[CM_MAX_RANK], int *rank)
{
    cmi_error_clear();
    if (!model || !shape || !rank)
        return cmi_error(CM_E_INVALID, "cm_model_output_shape: an argument is NULL");
    *rank = 0;
    if (!model->layers.has_input)
        return cmi_error(CM_E_STATE,
                         "cm_model_output_shape: the input shape of \"%s\" is not known yet",
                         model->layers.name);
    const cmi_shape *out = cmi_sequential_output(&model->layers);
    *rank = out->rank;
    for (int i = 0; i < out->rank; i++)
        shape[i] = out->dim[i];
    return CM_OK;
}

int64_t cm_model_replica_rows(const cm_model *model, int replica)
{
    if (!model || !model->built || replica < 0 || replica >= model->strategy->ranks) return 0;
    return atomic_load(&model->rows_done[replica]);
}

/* ---- summary ---- */

static int terminal_columns(void)
{
    const char *text = getenv("COLUMNS");
    struct winsize size;

    if (text && atoi(text) > 0) return atoi(text);
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

cm_status cm_model_summary(cm_model *model, cm_output output, void *user)
{
    cmi_summary_facts facts = {.columns = terminal_columns()};

    cmi_error_clear();
    if (!model) return cmi_error(CM_E_INVALID, "cm_model_summary: model is NULL");
    facts.built = model->layers.has_input;
    facts.fixed_batch = model->fixed_batch;
    facts.color = !output && isatty(STDOUT_FILENO);
    if (model->built && model->compiled && model->trained) {
        int64_t per_parameter = model->optim->variables
                                    ? model->optim->variables(model->optim_config)
                                    : model->optim->slots(model->optim_config);
        for (int t = 0; t < model->plan.trainable_count; t++)
            facts.optimizer_variables += per_parameter * (int64_t)model->plan.tensors[t].count;
        /* Keras counts the learning rate (float32) and the iteration (int64) too. */
        facts.optimizer_bytes = facts.optimizer_variables * (int64_t)sizeof(float) + 4 + 8;
        facts.optimizer_variables += 2;
    }
    return cmi_summary_print(&model->layers, &facts, output ? output : cmi_output_standard, user);
}
