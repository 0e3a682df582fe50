/* replica_run.c - what a replica does in a step: takes the feed, walks forward and back through the
 * layers, updates, and moves numbers to and from the host.  replica.c made the buffers.
 *
 * Called by the worker thread that owns the stream; nothing here allocates. */
#include <math.h>
#include <string.h>
#include "model/replica_internal.h"

/* ---- the feed ---- */

cm_status cmi_replica_feed_begin(cmi_replica *replica, cmi_feed *feed)
{
    unsigned char *host = NULL;

    CM_TRY(cmi_buffer_map(replica->stream, replica->feed_buffer, 0,
                          cmi_buffer_bytes(replica->feed_buffer), CMI_MAP_WRITE, (void **)&host));
    replica->feed_host = host;
    feed->x = host;
    feed->class_label =
        replica->class_label.buffer ? (int32_t *)(void *)(host + replica->feed_class_at) : NULL;
    feed->vector_label =
        replica->vector_label.buffer ? (float *)(void *)(host + replica->feed_vector_at) : NULL;
    feed->weight = (float *)(void *)(host + replica->feed_weight_at);
    return CM_OK;
}

cm_status cmi_replica_feed_end(cmi_replica *replica, size_t rows, bool weighted)
{
    static const cmi_formula scaled = {.map = "x * h0", .gradient = "dy * h0"};
    const cmi_feed_spec *feed = &replica->feed;
    size_t n = rows * feed->x_count;

    CM_TRY(cmi_buffer_unmap(replica->stream, replica->feed_buffer, replica->feed_host));
    replica->feed_host = NULL;
    replica->weighted = weighted;
    if (feed->x_uint8)
        return cmi_op_from_uint8(replica->stream, n, feed->x_scale, replica->x_raw, replica->x);
    if (feed->x_scale != 1.0f)
        return cmi_op_map(replica->stream, &scaled, (float[4]){feed->x_scale}, n, replica->x_raw,
                          replica->x);
    return CM_OK;
}

/* ---- the walk ---- */

static cmi_pass pass_of(const cmi_replica *replica, const cmi_run *run, int n)
{
    const cmi_node *node = &replica->model->nodes[n];
    const cmi_node_views *views = &replica->nodes[n];

    return (cmi_pass){.stream = replica->stream,
                      .config = node->config,
                      .in = node->in,
                      .out = node->out,
                      .rows = run->rows,
                      .training = run->training,
                      .linear = n == replica->model->count - 1 && replica->objective->logits &&
                                !run->plain,
                      .draw = {.seed = run->seed,
                               .layer = (uint32_t)n,
                               .step = run->step,
                               .first_row = run->first_row},
                      .x = n ? replica->nodes[n - 1].y : replica->x,
                      .y = views->y,
                      .params = views->params,
                      .grads = views->grads,
                      .saved = views->saved,
                      .scratch = replica->scratch};
}

cm_status cmi_replica_forward(cmi_replica *replica, const cmi_run *run)
{
    for (int n = 0; n < replica->model->count; n++) {
        const cmi_node *node = &replica->model->nodes[n];
        if (node->spec.alias) continue;
        cmi_pass pass = pass_of(replica, run, n);
        CM_TRY_CTX(node->layer->forward(&pass), "layer %d \"%s\" forward", n, node->name);
    }
    if (!replica->objective->output_wanted || run->plain) return CM_OK;
    /* The loss works on logits; somebody wants the activation's output as well. */
    const cmi_activation *activation = NULL;
    const cmi_shape *out = cmi_sequential_output(replica->model);
    CM_TRY(cmi_activation_find(cmi_sequential_final_activation(replica->model), &activation));
    size_t columns = (size_t)out->dim[out->rank - 1], count = cmi_element_count(out);
    return cmi_activation_forward(activation, replica->stream, run->rows * (count / columns),
                                  columns, replica->nodes[replica->model->count - 1].y,
                                  replica->output);
}

static cmi_view label_of(const cmi_replica *replica, cmi_label_kind kind)
{
    return kind == CMI_LABEL_CLASS ? replica->class_label : replica->vector_label;
}

static cmi_view value_array(const cmi_replica *replica, int array)
{
    cmi_view view = replica->values;

    view.offset += (size_t)array * replica->rows * replica->feed.items;
    return view;
}

static cmi_view sum_view(const cmi_replica *replica, cmi_sum_set set)
{
    cmi_view view = replica->sums;

    view.offset = (size_t)set * 2 * (1 + (size_t)replica->objective->metric_count);
    return view;
}

cm_status cmi_replica_loss(cmi_replica *replica, const cmi_run *run)
{
    const cmi_objective *objective = replica->objective;
    size_t items = run->rows * replica->feed.items,
           classes = replica->feed.label_count / replica->feed.items;
    cmi_view last = replica->nodes[replica->model->count - 1].y;
    cmi_loss_run loss = {.items = items,
                         .classes = classes,
                         .label = label_of(replica, objective->loss->labels),
                         .pred = last,
                         .value = value_array(replica, 0),
                         .scale = (float)run->scale};

    if (replica->weighted) loss.weight = replica->weight;
    if (run->training) loss.dpred = replica->gradient[0];
    CM_TRY_CTX(
        objective->loss->run(replica->stream, objective->loss_config, objective->logits, &loss),
        "loss \"%s\"", objective->loss->entry.name);
    for (int m = 0; m < objective->metric_count; m++) {
        const cmi_metric_use *use = &objective->metrics[m];
        const char *final = cmi_sequential_final_activation(replica->model),
                   *wanted = cmi_metric_use_logits_of(use);
        bool logits = objective->logits && wanted && final && !strcmp(final, wanted);
        cmi_metric_run metric = {.items = items,
                                 .classes = classes,
                                 .label = label_of(replica, cmi_metric_use_labels(use)),
                                 .pred = objective->logits && !logits ? replica->output : last,
                                 .logits = logits,
                                 .value = value_array(replica, 1 + m)};
        CM_TRY_CTX(cmi_metric_use_run(use, replica->stream, &metric), "metric \"%s\"", use->name);
    }
    return cmi_op_fold(replica->stream, items, 1 + (size_t)objective->metric_count,
                       replica->rows * replica->feed.items, (float)run->loss_factor,
                       (float)run->scale, replica->values, sum_view(replica, run->sums),
                       replica->control);
}

/* Index of the first layer below which nothing is trained: backward stops there. */
static int last_needed(const cmi_replica *replica)
{
    for (int n = 0; n < replica->model->count; n++)
        if (cmi_node_trainable(&replica->model->nodes[n]) && replica->model->nodes[n].spec.params)
            return n;
    return replica->model->count;
}

cm_status cmi_replica_backward(cmi_replica *replica, const cmi_run *run)
{
    int lowest = last_needed(replica), turn = 0;

    for (int n = replica->model->count - 1; n >= lowest; n--) {
        const cmi_node *node = &replica->model->nodes[n];
        if (node->spec.alias) continue;
        cmi_pass pass = pass_of(replica, run, n);
        pass.dy = replica->gradient[turn];
        pass.dx = replica->gradient[1 - turn];
        pass.want_dx = n > lowest;
        pass.want_grads = cmi_node_trainable(node);
        CM_TRY_CTX(node->layer->backward(&pass), "layer %d \"%s\" backward", n, node->name);
        turn = 1 - turn;
    }
    return CM_OK;
}

cm_status cmi_replica_no_rows(cmi_replica *replica)
{
    return cmi_buffer_fill(replica->stream, replica->grads, 0,
                           replica->plan->grad_count * sizeof(float), 0);
}

/* ---- the update ---- */

/* Sums of squares of all blocks, in partial_host: computed here for all, or for the own share and
 * exchanged. */
static cm_status gather_norms(cmi_replica *replica, const cmi_update_step *step)
{
    const cmi_share *share = &replica->share;
    cmi_view grads = {replica->grads, 0, replica->plan->grad_count}, table = replica->table;
    float *mine = replica->partial_host + share->first_block;

    table.offset = share->first_block;
    CM_TRY(cmi_op_square_sums(replica->stream, share->block_count, table, grads, replica->partial));
    CM_TRY(cmi_buffer_read(replica->stream, replica->partial.buffer, 0,
                           share->block_count * sizeof(float), mine));
    return step->exchange
               ? step->exchange(step->user, mine, share->block_count, replica->partial_host)
               : CM_OK;
}

/* Factor of each tensor's gradient under clipnorm or global_clipnorm, from sums of squares per
 * block, folded on the host in double, in tensor and block order: the same bits however the blocks
 * are spread over ranks. */
static cm_status make_factors(cmi_replica *replica, const cmi_update_step *step)
{
    const cmi_optim_common *common = step->config;
    const cmi_plan *plan = replica->plan;
    double global = 0;
    size_t b = 0;

    CM_TRY(gather_norms(replica, step));
    for (size_t i = 0; i < plan->block_count; i++)
        global += (double)replica->partial_host[i];
    global = sqrt(global);
    for (int t = 0; t < plan->trainable_count; t++) {
        double sum = 0, clip = common->clipnorm;
        for (; b < plan->block_count && plan->blocks[b].tensor == (uint32_t)t; b++)
            sum += (double)replica->partial_host[b];
        /* clipnorm: g c / max(|g|, c); global_clipnorm: g c min(1/G, 1/c), not a number when G is
         * not finite. */
        if (clip > 0)
            replica->factor_host[t] = (float)(clip / fmax(sqrt(sum), clip));
        else
            replica->factor_host[t] =
                isfinite(global)
                    ? (float)(common->global_clipnorm / fmax(global, common->global_clipnorm))
                    : (float)NAN;
    }
    return cmi_buffer_write(replica->stream, replica->factor.buffer, 0,
                            (size_t)plan->trainable_count * sizeof(float), replica->factor_host);
}

cm_status cmi_replica_update(cmi_replica *replica, const cmi_update_step *step)
{
    const cmi_optim_common *common = step->config;
    const cmi_plan *plan = replica->plan;
    const cmi_share *share = &replica->share;
    cmi_update update = {.body = step->optim->body(step->config),
                         .slots = replica->slots,
                         .table = replica->table,
                         .blocks = share->block_count,
                         .slot_begin = replica->sharded ? share->begin : 0,
                         .grads = {replica->grads, 0, plan->grad_count},
                         .params = {replica->params, 0, plan->param_count}};

    CM_ASSERT(!step->share == !replica->sharded);
    if (common->clipnorm > 0 || common->global_clipnorm > 0) {
        CM_TRY(make_factors(replica, step));
        update.factor = replica->factor;
    }
    if (!update.blocks) return CM_OK;
    update.out = replica->sharded ? update.grads : update.params;
    update.table.offset = share->first_block;
    if (common->clipvalue > 0) update.limit = (float)common->clipvalue;
    if (!isnan(common->weight_decay)) update.decay = (float)(common->weight_decay * step->rate);
    for (int s = 0; s < replica->slots; s++)
        update.slot[s] = (cmi_view){replica->slot[s], 0, plan->grad_count};
    step->optim->scalars(step->config, step->step, step->rate, update.h);
    CM_TRY_CTX(cmi_op_update(replica->stream, &update), "optimizer \"%s\"",
               step->optim->entry.name);
    return CM_OK;
}

/* ---- to and from the host ---- */

cm_status cmi_replica_clear_sums(cmi_replica *replica, cmi_sum_set set)
{
    size_t bytes = 2 * (1 + (size_t)replica->objective->metric_count) * sizeof(float);

    return cmi_buffer_fill(replica->stream, replica->sums.buffer, (size_t)set * bytes, bytes, 0);
}

cm_status cmi_replica_read_sums(cmi_replica *replica, cmi_sum_set set, double *sums)
{
    float pairs[2 * CMI_MAX_SUMS];
    size_t arrays = 1 + (size_t)replica->objective->metric_count,
           bytes = 2 * arrays * sizeof(float);

    CM_ASSERT(arrays <= CMI_MAX_SUMS);
    CM_TRY(
        cmi_buffer_read(replica->stream, replica->sums.buffer, (size_t)set * bytes, bytes, pairs));
    for (size_t a = 0; a < arrays; a++)
        sums[a] = (double)pairs[2 * a] + (double)pairs[2 * a + 1];
    return CM_OK;
}

cm_status cmi_replica_read_loss(cmi_replica *replica, float *loss)
{
    return cmi_buffer_read(replica->stream, replica->control.buffer,
                           CMI_CONTROL_LOSS * sizeof(float), sizeof *loss, loss);
}

cm_status cmi_replica_read_output(cmi_replica *replica, size_t rows, float *out)
{
    size_t count = cmi_element_count(cmi_sequential_output(replica->model));

    return cmi_buffer_read(replica->stream, replica->nodes[replica->model->count - 1].y.buffer, 0,
                           rows * count * sizeof(float), out);
}

cm_status cmi_replica_map_bucket(cmi_replica *replica, int bucket, cmi_map_mode mode, float **host)
{
    return cmi_buffer_map(replica->stream, replica->buckets[bucket], 0,
                          cmi_buffer_bytes(replica->buckets[bucket]), mode, (void **)host);
}

cm_status cmi_replica_unmap_bucket(cmi_replica *replica, int bucket, float *host)
{
    return cmi_buffer_unmap(replica->stream, replica->buckets[bucket], host);
}

cm_status cmi_replica_map_params(cmi_replica *replica, cmi_map_mode mode, float **host)
{
    return cmi_buffer_map(replica->stream, replica->params, 0,
                          replica->plan->param_count * sizeof(float), mode, (void **)host);
}

cm_status cmi_replica_unmap_params(cmi_replica *replica, float *host)
{
    return cmi_buffer_unmap(replica->stream, replica->params, host);
}

cm_status cmi_replica_write_params(cmi_replica *replica, size_t offset, size_t count,
                                   const float *values)
{
    return cmi_buffer_write(replica->stream, replica->params, offset * sizeof(float),
                            count * sizeof(float), values);
}

cm_status cmi_replica_read_params(cmi_replica *replica, size_t offset, size_t count, float *values)
{
    return cmi_buffer_read(replica->stream, replica->params, offset * sizeof(float),
                           count * sizeof(float), values);
}

size_t cmi_replica_all_count(const cmi_replica *replica)
{
    return replica->plan->param_count +
           (replica->sharded ? 0 : (size_t)replica->slots * replica->plan->grad_count);
}

cm_status cmi_replica_read_all(cmi_replica *replica, float *values)
{
    size_t params = replica->plan->param_count, slot = replica->plan->grad_count;

    CM_TRY(cmi_replica_read_params(replica, 0, params, values));
    for (int s = 0; s < replica->slots && !replica->sharded; s++)
        CM_TRY(cmi_buffer_read(replica->stream, replica->slot[s], 0, slot * sizeof(float),
                               values + params + (size_t)s * slot));
    return CM_OK;
}

cm_status cmi_replica_write_all(cmi_replica *replica, const float *values)
{
    size_t params = replica->plan->param_count, slot = replica->plan->grad_count;

    CM_TRY(cmi_replica_write_params(replica, 0, params, values));
    for (int s = 0; s < replica->slots && !replica->sharded; s++)
        CM_TRY(cmi_buffer_write(replica->stream, replica->slot[s], 0, slot * sizeof(float),
                                values + params + (size_t)s * slot));
    return CM_OK;
}

cmi_stream *cmi_replica_stream(const cmi_replica *replica)
{
    return replica->stream;
}
