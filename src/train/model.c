/* model.c - the life of a model: created in a scope, layers added, compiled, built on all replicas,
 * destroyed.
 *
 * A model belongs to one strategy for its whole life.  Outside any scope it gets a hidden strategy
 * of one device when it is built.  Building makes the plan and the initial weights once, on the
 * caller's thread, and a replica on every worker.
 *
 * Called by the threads of the user, one at a time (cmi_model_enter). */
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/mem.h"
#include "train/train.h"

/* ---- create, add ---- */

static uint64_t default_seed(void)
{
    const char *text = cmi_knob_text(CMI_KNOB_SEED);

    if (strcmp(text, "random")) return (uint64_t)cmi_knob_number(CMI_KNOB_SEED);
    cmi_rng rng;
    cmi_rng_init(&rng, (uint64_t)cmi_now_ns(), CMI_RNG_DATA, 0);
    uint64_t seed = cmi_rng_u32(&rng);
    cmi_log(CM_LOG_INFO, "train", "CLMIRROR_SEED=random drew %llu", (unsigned long long)seed);
    return seed;
}

cm_status cm_sequential_create(const char *name, cm_model **out)
{
    static _Atomic unsigned made;
    char automatic[48];
    cm_model *model = NULL;

    cmi_error_clear();
    if (!out) return cmi_error(CM_E_INVALID, "cm_sequential_create: no place for the model");
    *out = NULL;
    if (!name) {
        unsigned number = atomic_fetch_add(&made, 1);
        (void)cmi_format(automatic, sizeof automatic, number ? "sequential_%u" : "sequential",
                         number);
        name = automatic;
    }
    CM_TRY(CMI_NEW(1, &model));
    cm_status status = cmi_sequential_init(&model->layers, name);
    if (status) {
        cmi_free(model);
        return status;
    }
    model->seed = default_seed();
    model->slots_made = -1;
    model->strategy = cmi_scope_current();
    model->had_scope = model->strategy != NULL;
    if (model->strategy) {
        model->next = model->strategy->models;
        model->strategy->models = model;
    }
    *out = model;
    return CM_OK;
}

cm_status cmi_model_idle(const cm_model *model)
{
    if (!model->strategy || !atomic_load(&model->strategy->busy)) return CM_OK;
    return cmi_error(CM_E_STATE, "another call is running on the strategy of \"%s\"",
                     model->layers.name);
}

cm_status cm_model_set_seed(cm_model *model, uint64_t seed)
{
    cmi_error_clear();
    if (!model) return cmi_error(CM_E_INVALID, "cm_model_set_seed: model is NULL");
    CM_TRY_CTX(cmi_model_idle(model), "cm_model_set_seed");
    if (model->built)
        return cmi_error(
            CM_E_STATE,
            "cm_model_set_seed: the weights of \"%s\" exist already; set the seed before the "
            "model is built",
            model->layers.name);
    model->seed = seed;
    return CM_OK;
}

static cm_status add_all(cm_model *model, const char *text)
{
    const char *cursor = text;
    int added = 0;

    for (;;) {
        char *spec = NULL;
        CM_TRY(cmi_spec_next(&cursor, ";\n", &spec));
        if (!spec) break;
        cm_status status = cmi_sequential_add(&model->layers, spec);
        cmi_free(spec);
        if (status) return status;
        added++;
    }
    if (!added)
        return cmi_error(CM_E_INVALID, "no layer in \"%s\"; write for instance \"dense units=10\"",
                         text);
    return CM_OK;
}

cm_status cm_model_add(cm_model *model, const char *format, ...)
{
    va_list arguments, again;
    char *text = NULL;
    cm_status status = CM_OK;

    cmi_error_clear();
    if (!model || !format)
        return cmi_error(CM_E_INVALID, "cm_model_add: %s is NULL", model ? "format" : "model");
    if (model->built)
        return cmi_error(
            CM_E_STATE,
            "cm_model_add: \"%s\" is built already; add all layers before the first fit or "
            "predict",
            model->layers.name);
    CM_TRY_CTX(cmi_model_idle(model), "cm_model_add");
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = cmi_vformat(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        status =
            cmi_error(CM_E_INVALID, "cm_model_add: the format \"%s\" cannot be printed", format);
    } else {
        status = cmi_alloc((size_t)length + 1, 1, (void **)&text);
        if (!status) (void)cmi_vformat(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (!status) status = add_all(model, text);
    cmi_free(text);
    if (status) cmi_error_prefix("cm_model_add");
    return status;
}

/* ---- build ---- */

static cm_status enter(cm_model *model, const char *call, bool reading)
{
    if (!model) return cmi_error(CM_E_INVALID, "%s: model is NULL", call);
    if (!model->strategy) {
        if (model->had_scope)
            return cmi_error(CM_E_STATE, "%s: the strategy of \"%s\" was destroyed", call,
                             model->layers.name);
        CM_TRY_CTX(cmi_strategy_create_hidden(&model->strategy), "%s", call);
        model->own_strategy = true;
        model->next = NULL;
        model->strategy->models = model;
    }
    return cmi_strategy_enter(model->strategy, call, reading);
}

cm_status cmi_model_enter(cm_model *model, const char *call)
{
    return enter(model, call, false);
}

cm_status cmi_model_enter_reading(cm_model *model, const char *call, bool *leave)
{
    /* The mark belongs to the thread that runs the callback; another thread's call is refused by
     * `busy` as ever. */
    *leave = !(model && model->strategy && cmi_in_callback(model->strategy));
    return *leave ? enter(model, call, true) : CM_OK;
}

typedef struct replica_work {
    cm_model *model;
    cmi_replica_job job;
    void *argument;
} replica_work;

static cm_status run_replica_job(void *argument, int rank)
{
    replica_work *work = argument;

    cmi_stream_rewind(work->model->strategy->streams[rank], CMI_TRACK_OTHER);
    return work->job(work->argument, work->model, rank);
}

cm_status cmi_model_run(cm_model *model, cmi_replica_job job, void *argument)
{
    replica_work work = {model, job, argument};

    return cmi_strategy_run(model->strategy, run_replica_job, &work, NULL, NULL);
}

static cm_status compare_numbers(const char *operation, const float *got, const float *want,
                                 size_t count)
{
    if (!memcmp(got, want, count * sizeof *want)) return CM_OK;
    size_t i = 0;
    while (!memcmp(&got[i], &want[i], sizeof *want))
        i++;
    return cmi_error(CM_E_NUMERIC,
                     "the device returns wrong numbers: %s of the initial weights gives %.9g at "
                     "element %zu, %.9g was written; the device or its driver is broken",
                     operation, (double)got[i], i, (double)want[i]);
}

/* The initial weights must come back as they were written, by a read and by a map: the two ways on
 * which everything else relies. */
static cm_status verify_replica(cmi_replica *replica, const float *initial, size_t count)
{
    float head[256], *mapped = NULL;
    size_t n = count < 256 ? count : 256;

    CM_TRY(cmi_replica_read_params(replica, 0, n, head));
    CM_TRY(compare_numbers("reading", head, initial, n));
    CM_TRY(cmi_replica_map_params(replica, CMI_MAP_READ, &mapped));
    cm_status status = compare_numbers("mapping", mapped, initial, count);
    cm_status unmapped = cmi_replica_unmap_params(replica, mapped);
    return status ? status : unmapped;
}

static cm_status create_replica(void *argument, cm_model *model, int rank)
{
    const float *initial = argument;

    CM_TRY(cmi_replica_create(model->strategy->streams[rank], &model->layers, &model->plan,
                              &model->replicas[rank]));
    CM_TRY(cmi_replica_write_params(model->replicas[rank], 0, model->plan.param_count, initial));
    return verify_replica(model->replicas[rank], initial, model->plan.param_count);
}

static cm_status destroy_replica(void *argument, cm_model *model, int rank)
{
    (void)argument;
    if (!model->replicas[rank]) return CM_OK;
    cm_status status = cmi_stream_finish(model->strategy->streams[rank]);
    cmi_replica_destroy(model->replicas[rank]);
    model->replicas[rank] = NULL;
    return status;
}

static void release_replicas(cm_model *model)
{
    cm_strategy *strategy = model->strategy;
    bool forked = strategy->process != getpid();
    cm_error kept;

    for (int r = 0; r < strategy->ranks; r++)
        if (model->replicas[r] && (forked || strategy->workers[r].gone))
            cmi_replica_leave(model->replicas[r], &strategy->workers[r].left_behind);
    if (forked) return;
    /* Called on failure and by destroy, which must not change the last error. */
    cmi_error_save(&kept);
    (void)!cmi_model_run(model, destroy_replica, NULL);
    (void)cmi_error_restore(&kept);
}

static void unbuild(cm_model *model)
{
    if (model->replicas && model->strategy) release_replicas(model);
    cmi_free(model->replicas);
    cmi_free((void *)model->rows_done);
    cmi_free((void *)model->applied);
    for (int r = 0; model->lent && r < model->strategy->ranks; r++)
        cmi_free(model->lent[r].bucket);
    cmi_free(model->lent);
    cmi_free(model->profile);
    model->profile = NULL;
    cmi_free(model->shares);
    model->lent = NULL;
    model->shares = NULL;
    cmi_plan_free(&model->plan);
    model->replicas = NULL;
    model->rows_done = NULL;
    model->applied = NULL;
    model->built = false;
    model->slots_made = -1;
}

static cm_status make_shares(cm_model *model)
{
    int ranks = model->strategy->ranks;

    CM_TRY(CMI_NEW(ranks, &model->shares));
    CM_TRY(CMI_NEW(ranks, &model->lent));
    for (int r = 0; r < ranks; r++) {
        model->shares[r] = cmi_plan_share(&model->plan, ranks, r);
        CM_TRY(CMI_NEW(model->plan.bucket_count, &model->lent[r].bucket));
    }
    return CM_OK;
}

static cm_status build(cm_model *model)
{
    float *initial = NULL;
    cm_status status = CM_OK;
    int ranks = model->strategy->ranks;

    CM_TRY_GOTO(done, cmi_plan_make(&model->layers, model->strategy->align_bytes,
                                    model->strategy->bucket_bytes, &model->plan));
    CM_TRY_GOTO(done, cmi_model_check_size(model));
    CM_TRY_GOTO(done, CMI_NEW(model->plan.param_count, &initial));
    CM_TRY_GOTO(done, cmi_weights_init(&model->layers, &model->plan, model->seed, initial));
    CM_TRY_GOTO(done, CMI_NEW(ranks, &model->replicas));
    CM_TRY_GOTO(done, CMI_NEW(ranks, &model->rows_done));
    CM_TRY_GOTO(done, CMI_NEW(ranks, &model->applied));
    CM_TRY_GOTO(done, make_shares(model));
    CM_TRY_GOTO(done, cmi_model_run(model, create_replica, initial));
    model->built = true;
done:
    if (status) unbuild(model);
    cmi_free(initial);
    return status;
}

/* Refuses, before anything large is allocated, what no device of the strategy can hold. */
cm_status cmi_model_check_size(const cm_model *model)
{
    size_t largest = 0, bytes = model->plan.param_count * sizeof(float);
    int widest = -1;

    for (int t = 0; t < model->plan.tensor_count; t++)
        if (widest < 0 || model->plan.tensors[t].count > largest) {
            widest = t;
            largest = model->plan.tensors[t].count;
        }
    for (int r = 0; r < model->strategy->ranks; r++) {
        uint64_t limit = cmi_device_get_facts(model->strategy->devices[r])->info.max_alloc_bytes;
        if (bytes <= limit) continue;
        return cmi_error(CM_E_MEMORY,
                         "the parameters take %zu bytes in one allocation, %s allows %llu; the "
                         "largest tensor is \"%s\" of "
                         "layer \"%s\" with %zu bytes",
                         bytes, model->strategy->names[r], (unsigned long long)limit,
                         model->layers.nodes[model->plan.tensors[widest].node]
                             .spec.param[model->plan.tensors[widest].param]
                             .name,
                         model->layers.nodes[model->plan.tensors[widest].node].name,
                         largest * sizeof(float));
    }
    return CM_OK;
}

/* (28, 28) and (28, 28, 1) hold the same numbers in the same order. */
static bool same_but_for_ones(const cmi_shape *a, const cmi_shape *b)
{
    int i = 0, j = 0;

    for (;;) {
        while (i < a->rank && a->dim[i] == 1)
            i++;
        while (j < b->rank && b->dim[j] == 1)
            j++;
        if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
        if (a->dim[i++] != b->dim[j++]) return false;
    }
}

cm_status cmi_model_ensure_built(cm_model *model, const cmi_shape *row, int64_t rows)
{
    char data[160], wanted[160];

    if (!model->layers.count)
        return cmi_error(CM_E_STATE, "\"%s\" has no layers; add some with cm_model_add",
                         model->layers.name);
    if (!model->layers.has_input) {
        CM_TRY(cmi_sequential_infer(&model->layers, row));
        model->fixed_batch = rows;
    } else if (!cmi_shape_equal(row, &model->layers.input) &&
               !same_but_for_ones(row, &model->layers.input)) {
        return cmi_error(CM_E_SHAPE, "rows of x have shape %s, the model \"%s\" takes %s",
                         cmi_shape_text(row, true, data, sizeof data), model->layers.name,
                         cmi_shape_text(&model->layers.input, true, wanted, sizeof wanted));
    }
    return model->built ? CM_OK : build(model);
}

cm_status cm_model_build(cm_model *model, const int64_t *shape, int rank)
{
    cmi_shape row = {.rank = rank};

    cmi_error_clear();
    if (!model) return cmi_error(CM_E_INVALID, "cm_model_build: model is NULL");
    if (rank < 0 || rank > CMI_MAX_RANK || (rank && !shape))
        return cmi_error(CM_E_INVALID, "cm_model_build: rank %d; a shape has 1 to %d sizes", rank,
                         CMI_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 1)
            return cmi_error(CM_E_SHAPE,
                             "cm_model_build: size %lld of axis %d; sizes are at least 1",
                             (long long)shape[i], i);
        row.dim[i] = shape[i];
    }
    CM_TRY(cmi_model_enter(model, "cm_model_build"));
    cm_status status = cmi_model_ensure_built(model, rank ? &row : &model->layers.input, 0);
    cmi_strategy_leave(model->strategy);
    if (status) cmi_error_prefix("cm_model_build");
    return status;
}

static cm_status set_slots(void *argument, cm_model *model, int rank)
{
    CM_TRY(cmi_replica_set_slots(model->replicas[rank], *(int *)argument,
                                 model->sharded ? &model->shares[rank] : NULL));
    return cmi_stream_finish(cmi_replica_stream(model->replicas[rank]));
}

/* Sharding moves less memory but meets more often: it pays from some size on.  Unlike devices round
 * differently, so there one of them computes each value, for all.  A collective that was asked for
 * by name is used, since a sharded update has an exchange of its own. */
static bool choose_sharded(const cm_model *model)
{
    enum { FROM_PARAMETERS = 65536 };
    const cm_strategy *strategy = model->strategy;

    if (strategy->ranks == 1) return false;
    if (strategy->unlike || strategy->update == CMI_UPDATE_SHARDED) return true;
    return strategy->update == CMI_UPDATE_AUTO && !strategy->collective_named &&
           model->plan.grad_count >= FROM_PARAMETERS;
}

cm_status cmi_model_ensure_slots(cm_model *model)
{
    int slots = model->optim->slots(model->optim_config);

    if (model->slots_made == slots) return CM_OK;
    model->sharded = choose_sharded(model);
    CM_TRY(cmi_model_run(model, set_slots, &slots));
    model->slots_made = slots;
    return CM_OK;
}

/* ---- the end ---- */

void cmi_model_orphan(cm_model *model)
{
    cm_strategy *strategy = model->strategy;

    if (!strategy) return;
    unbuild(model);
    for (cm_model **at = &strategy->models; *at; at = &(*at)->next)
        if (*at == model) {
            *at = model->next;
            break;
        }
    model->strategy = NULL;
}

void cm_model_destroy(cm_model *model)
{
    if (!model) return;
    cm_strategy *own = model->own_strategy ? model->strategy : NULL;
    cmi_model_orphan(model);
    cm_strategy_destroy(own);
    cmi_compile_free(model);
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < CMI_MAX_SUMS; i++)
            cmi_free(model->log_names[v][i]);
    cmi_sequential_free(&model->layers);
    cmi_free(model);
}

void cm_model_stop(cm_model *model)
{
    if (model) atomic_store(&model->stop, true);
}
