/* replica.c - the copy of a model on one device: its buffers, and the room for a batch.
 *
 * Arenas (plan.c gives the layout): params, grads, one per optimiser slot.  Kernels and GEMM get
 * one sub-buffer per tensor, so that every matrix begins at offset 0; reduction and update use one
 * sub-buffer per bucket and the whole arena.  During a step nobody uses the parent of `grads` while
 * a sub-buffer of it is written: all run through one in-order queue.
 *
 * The feed is one buffer for all columns of a batch, mapped once per step; x, labels and weights
 * are parts of it. Activations of all layers are kept for backward; their gradients take turns in
 * two buffers, since the line of layers needs two at a time.
 *
 * Called by the worker thread that owns the stream. */
#include <string.h>
#include "base/mem.h"
#include "model/replica_internal.h"

/* ---- buffers ---- */

static cm_status remember(cmi_buffer_list *list, cmi_buffer *buffer)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 16;
        cm_status status = cmi_realloc(capacity, sizeof *list->items, (void **)&list->items);
        if (status) {
            cmi_buffer_destroy(buffer);
            return status;
        }
        list->capacity = capacity;
    }
    list->items[list->count++] = buffer;
    return CM_OK;
}

static void free_list(cmi_buffer_list *list)
{
    while (list->count)
        cmi_buffer_destroy(list->items[--list->count]);
    cmi_free(list->items);
    memset(list, 0, sizeof *list);
}

/* A new buffer, filled with zeros: drivers take memory late, and this touch makes a shortage show
 * now. */
static cm_status new_buffer(cmi_replica *replica, cmi_buffer_list *list, size_t bytes,
                            cmi_buffer **out)
{
    CM_TRY(cmi_buffer_create(cmi_stream_device(replica->stream), bytes, out));
    CM_TRY(remember(list, *out));
    return cmi_buffer_fill(replica->stream, *out, 0, bytes / 4 * 4, 0);
}

static cm_status new_view(cmi_replica *replica, cmi_buffer_list *list, size_t count, cmi_view *view)
{
    cmi_buffer *buffer = NULL;

    CM_TRY(new_buffer(replica, list, (count ? count : 1) * sizeof(float), &buffer));
    *view = (cmi_view){buffer, 0, count};
    return CM_OK;
}

static cm_status part(cmi_buffer_list *list, cmi_buffer *parent, size_t offset_bytes, size_t bytes,
                      size_t count, cmi_view *view)
{
    cmi_buffer *buffer = NULL;

    CM_TRY(cmi_buffer_slice(parent, offset_bytes, bytes, &buffer));
    CM_TRY(remember(list, buffer));
    *view = (cmi_view){buffer, 0, count};
    return CM_OK;
}

/* ---- build ---- */

static cm_status make_tensors(cmi_replica *replica)
{
    const cmi_plan *plan = replica->plan;

    for (int t = 0; t < plan->tensor_count; t++) {
        const cmi_tensor_place *tensor = &plan->tensors[t];
        cmi_node_views *node = &replica->nodes[tensor->node];
        size_t at = tensor->offset * sizeof(float), bytes = tensor->count * sizeof(float);

        CM_TRY(part(&replica->fixed, replica->params, at, bytes, tensor->count,
                    &node->params[tensor->param]));
        if (tensor->trainable)
            CM_TRY(part(&replica->fixed, replica->grads, at, bytes, tensor->count,
                        &node->grads[tensor->param]));
    }
    return CM_OK;
}

static cm_status make_buckets(cmi_replica *replica)
{
    const cmi_plan *plan = replica->plan;

    CM_TRY(CMI_NEW(plan->bucket_count, &replica->buckets));
    for (int b = 0; b < plan->bucket_count; b++) {
        const cmi_bucket *bucket = &plan->buckets[b];
        cmi_view view;
        CM_TRY(part(&replica->fixed, replica->grads, bucket->offset * sizeof(float),
                    bucket->count * sizeof(float), bucket->count, &view));
        replica->buckets[b] = view.buffer;
    }
    return part(&replica->fixed, replica->grads, 0, CMI_CONTROL_COUNT * sizeof(float),
                CMI_CONTROL_COUNT, &replica->control);
}

static cm_status make_table(cmi_replica *replica)
{
    const cmi_plan *plan = replica->plan;
    size_t blocks = plan->block_count, tensors = (size_t)plan->trainable_count;

    CM_TRY(new_view(replica, &replica->fixed, blocks * 4, &replica->table));
    CM_TRY(new_view(replica, &replica->fixed, blocks, &replica->partial));
    CM_TRY(new_view(replica, &replica->fixed, tensors, &replica->factor));
    CM_TRY(CMI_NEW(blocks, &replica->partial_host));
    CM_TRY(CMI_NEW(tensors, &replica->factor_host));
    return cmi_buffer_write(replica->stream, replica->table.buffer, 0, blocks * sizeof(cmi_block),
                            plan->blocks);
}

static cm_status build(cmi_replica *replica)
{
    const cmi_plan *plan = replica->plan;

    CM_TRY(CMI_NEW(replica->model->count, &replica->nodes));
    CM_TRY_CTX(
        new_buffer(replica, &replica->fixed, plan->param_count * sizeof(float), &replica->params),
        "parameters");
    CM_TRY_CTX(
        new_buffer(replica, &replica->fixed, plan->grad_count * sizeof(float), &replica->grads),
        "gradients");
    CM_TRY(make_tensors(replica));
    CM_TRY(make_buckets(replica));
    CM_TRY(make_table(replica));
    return cmi_stream_finish(replica->stream);
}

cm_status cmi_replica_create(cmi_stream *stream, const cmi_sequential *model, const cmi_plan *plan,
                             cmi_replica **out)
{
    cmi_replica *replica = NULL;

    *out = NULL;
    CM_TRY(CMI_NEW(1, &replica));
    replica->stream = stream;
    replica->model = model;
    replica->plan = plan;
    cm_status status = build(replica);
    if (status) {
        cmi_replica_destroy(replica);
        return status;
    }
    *out = replica;
    return CM_OK;
}

void cmi_replica_leave(cmi_replica *replica, cmi_replica **list)
{
    replica->next = *list;
    *list = replica;
}

void cmi_replica_destroy(cmi_replica *replica)
{
    if (!replica) return;
    free_list(&replica->slot_list);
    free_list(&replica->batch);
    free_list(&replica->fixed);
    cmi_free(replica->buckets);
    cmi_free(replica->nodes);
    cmi_free(replica->factor_host);
    cmi_free(replica->partial_host);
    cmi_free(replica);
}

cm_status cmi_replica_set_slots(cmi_replica *replica, int slots, const cmi_share *share)
{
    size_t count = share ? share->end - share->begin : replica->plan->grad_count;

    free_list(&replica->slot_list);
    replica->slots = 0;
    replica->sharded = share != NULL;
    replica->share = share ? *share : (cmi_share){.block_count = replica->plan->block_count};
    for (int s = 0; s < slots; s++)
        CM_TRY_CTX(new_buffer(replica, &replica->slot_list, (count ? count : 1) * sizeof(float),
                              &replica->slot[s]),
                   "optimizer state");
    replica->slots = slots;
    return CM_OK;
}

/* ---- room for a batch ---- */

size_t cmi_element_count(const cmi_shape *shape)
{
    int64_t count = 0;

    CM_ASSERT(cmi_shape_count(shape, &count));
    return (size_t)count;
}

static cm_status reserve_feed(cmi_replica *replica, size_t rows)
{
    const cmi_feed_spec *feed = &replica->feed;
    const cmi_objective *objective = replica->objective;
    size_t align =
        (size_t)cmi_device_get_facts(cmi_stream_device(replica->stream))->info.align_bytes;
    size_t x = rows * feed->x_count * (feed->x_uint8 ? 1 : sizeof(float));
    size_t class = objective->class_labels ? rows * feed->items * sizeof(int32_t) : 0;
    size_t vector = objective->vector_labels ? rows * feed->label_count * sizeof(float) : 0;
    size_t weight = rows * feed->items * sizeof(float), at = 0;
#define ROUND(n) (((n) + align - 1) / align * align)
    replica->feed_class_at = at = ROUND(x);
    replica->feed_vector_at = at += ROUND(class);
    replica->feed_weight_at = at += ROUND(vector);
    CM_TRY(new_buffer(replica, &replica->batch, at + ROUND(weight), &replica->feed_buffer));
#undef ROUND
    CM_TRY(
        part(&replica->batch, replica->feed_buffer, 0, x, rows * feed->x_count, &replica->x_raw));
    replica->x = replica->x_raw;
    if (feed->x_uint8 || feed->x_scale != 1.0f)
        CM_TRY(new_view(replica, &replica->batch, rows * feed->x_count, &replica->x));
    replica->class_label = replica->vector_label = (cmi_view){0};
    if (class)
        CM_TRY(part(&replica->batch, replica->feed_buffer, replica->feed_class_at, class,
                    rows * feed->items, &replica->class_label));
    if (vector)
        CM_TRY(part(&replica->batch, replica->feed_buffer, replica->feed_vector_at, vector,
                    rows * feed->label_count, &replica->vector_label));
    return part(&replica->batch, replica->feed_buffer, replica->feed_weight_at, weight,
                rows * feed->items, &replica->weight);
}

static cm_status reserve_layers(cmi_replica *replica, size_t rows)
{
    size_t gradient = 1, scratch = 0;
    cmi_view y = replica->x;

    for (int n = 0; n < replica->model->count; n++) {
        const cmi_node *node = &replica->model->nodes[n];
        const cmi_layer_spec *spec = &node->spec;
        cmi_node_views *views = &replica->nodes[n];
        size_t count = cmi_element_count(&node->out);

        if (!spec->alias)
            CM_TRY_CTX(new_view(replica, &replica->batch, rows * count, &y), "layer \"%s\"",
                       node->name);
        views->y = y;
        for (int s = 0; s < spec->saved; s++)
            CM_TRY_CTX(new_view(replica, &replica->batch, rows * (size_t)spec->saved_count[s],
                                &views->saved[s]),
                       "layer \"%s\"", node->name);
        if (count > gradient) gradient = count;
        if ((size_t)spec->scratch_count > scratch) scratch = (size_t)spec->scratch_count;
    }
    size_t input = cmi_element_count(&replica->model->input);
    if (input > gradient) gradient = input;
    for (int i = 0; i < 2 && replica->objective->loss; i++)
        CM_TRY_CTX(new_view(replica, &replica->batch, rows * gradient, &replica->gradient[i]),
                   "gradients of layers");
    if (scratch) CM_TRY(new_view(replica, &replica->batch, rows * scratch, &replica->scratch));
    replica->output = y;
    if (replica->objective->output_wanted)
        CM_TRY(new_view(replica, &replica->batch,
                        rows * cmi_element_count(cmi_sequential_output(replica->model)),
                        &replica->output));
    return CM_OK;
}

static bool same_feed(const cmi_feed_spec *a, const cmi_feed_spec *b)
{
    return a->x_uint8 == b->x_uint8 && a->x_scale == b->x_scale && a->x_count == b->x_count &&
           a->items == b->items && a->label_count == b->label_count;
}

/* Kernels count with 32 bits: no tensor of a batch may come near their end. */
static cm_status check_rows(const cmi_replica *replica, size_t rows)
{
    size_t limit = INT32_MAX / rows;

    if (cmi_element_count(&replica->model->input) > limit)
        return cmi_error(
            CM_E_MEMORY,
            "%zu rows of the input have more than 2^31 elements on one device; try a smaller batch",
            rows);
    for (int n = 0; n < replica->model->count; n++)
        if (cmi_element_count(&replica->model->nodes[n].out) > limit)
            return cmi_error(CM_E_MEMORY,
                             "%zu rows of layer \"%s\" have more than 2^31 elements on one device; "
                             "try a smaller batch",
                             rows, replica->model->nodes[n].name);
    return CM_OK;
}

cm_status cmi_replica_reserve(cmi_replica *replica, size_t rows, const cmi_feed_spec *feed,
                              const cmi_objective *objective)
{
    if (rows <= replica->rows && replica->objective_version == objective->version &&
        same_feed(feed, &replica->feed))
        return CM_OK;
    CM_TRY(check_rows(replica, rows));
    CM_TRY(cmi_stream_finish(replica->stream));
    free_list(&replica->batch);
    replica->rows = 0;
    replica->feed = *feed;
    replica->objective = objective;
    replica->objective_version = objective->version;
    CM_TRY(reserve_feed(replica, rows));
    CM_TRY(reserve_layers(replica, rows));
    size_t arrays = 1 + (size_t)objective->metric_count;
    CM_TRY(new_view(replica, &replica->batch, arrays * rows * feed->items, &replica->values));
    CM_TRY(new_view(replica, &replica->batch, CMI_SUM_SETS * arrays * 2, &replica->sums));
    CM_TRY(cmi_stream_finish(replica->stream));
    replica->rows = rows;
    return CM_OK;
}
