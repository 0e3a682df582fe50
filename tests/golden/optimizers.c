/* optimizers.c - golden optimisers: two variables, several steps.
 *
 * The variables lie in one arena with a gap between them, as in a model, and the update runs over a
 * table of blocks.  Norms for clipping come from the device's sums of squares, folded here in
 * double.  Main thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "golden/golden.h"
#include "nn/optim.h"

enum { VARIABLES = 2, GAP = 3, MAX_ARENA = 256 };

typedef struct arena {
    size_t at[VARIABLES], count[VARIABLES], size;
} arena;

typedef struct state {
    arena place;
    cmi_view params, grads, slots[3], table, factor, partial;
} state;

/* Copies the variables of a list into an arena; false when they do not fit it. */
static bool gather(const cJSON *list, golden_report *report, const arena *place,
                   float values[MAX_ARENA])
{
    for (int i = 0; i < VARIABLES; i++) {
        golden_tensor tensor;
        bool good = golden_tensor_read(cJSON_GetArrayItem(list, i), "a variable", report, &tensor);
        if (good && tensor.count != place->count[i]) {
            golden_fail(report, "variable %d has %zu elements, expected %zu", i, tensor.count,
                        place->count[i]);
            good = false;
        }
        if (good) memcpy(values + place->at[i], tensor.values, tensor.count * sizeof(float));
        golden_tensor_free(&tensor);
        if (!good) return false;
    }
    return true;
}

static bool lay_out(const cJSON *first, golden_report *report, arena *place)
{
    memset(place, 0, sizeof *place);
    for (int i = 0; i < VARIABLES; i++) {
        golden_tensor tensor;
        if (!golden_tensor_read(cJSON_GetArrayItem(first, i), "w0", report, &tensor)) return false;
        place->at[i] = place->size;
        place->count[i] = tensor.count;
        place->size += tensor.count + GAP;
        golden_tensor_free(&tensor);
    }
    if (place->size <= MAX_ARENA) return true;
    golden_fail(report, "the variables have more than %d elements", MAX_ARENA);
    return false;
}

static cm_status begin(pick *p, const float *first, int slots, state *s)
{
    static const float zeros[MAX_ARENA];
    int32_t table[4 * VARIABLES];

    pick_clear(p);
    for (int i = 0; i < VARIABLES; i++) {
        table[4 * i] = (int32_t)s->place.at[i];
        table[4 * i + 1] = (int32_t)s->place.count[i];
        table[4 * i + 2] = i;
        table[4 * i + 3] = 0;
    }
    CM_TRY(pick_put_ints(p, table, 4 * VARIABLES, &s->table));
    s->table.offset /= 4; /* counts in uint4 */
    CM_TRY(pick_put(p, first, s->place.size, &s->params));
    CM_TRY(pick_new(p, s->place.size, &s->grads));
    CM_TRY(pick_new(p, VARIABLES, &s->factor));
    CM_TRY(pick_new(p, VARIABLES, &s->partial));
    for (int i = 0; i < slots; i++)
        CM_TRY(pick_put(p, zeros, s->place.size, &s->slots[i]));
    return CM_OK;
}

static cm_status write(pick *p, cmi_view view, const float *values)
{
    return cmi_buffer_write(p->stream, view.buffer, view.offset * sizeof(float),
                            view.count * sizeof(float), values);
}

/* Factors by which each variable's gradient is multiplied; *wanted is false without clipping by
 * norm. */
static cm_status clip(pick *p, const cmi_optim_common *c, state *s, bool *wanted)
{
    float squares[VARIABLES], factor[VARIABLES];
    double all = 0;

    *wanted = !isnan(c->clipnorm) || !isnan(c->global_clipnorm);
    if (!*wanted) return CM_OK;
    CM_TRY(cmi_op_square_sums(p->stream, VARIABLES, s->table, s->grads, s->partial));
    CM_TRY(pick_get(p, s->partial, squares));
    for (int i = 0; i < VARIABLES; i++)
        all += (double)squares[i];
    for (int i = 0; i < VARIABLES; i++) {
        double norm = sqrt(isnan(c->clipnorm) ? all : (double)squares[i]);
        double limit = isnan(c->clipnorm) ? c->global_clipnorm : c->clipnorm;
        factor[i] = (float)(limit / fmax(norm, limit));
    }
    return write(p, s->factor, factor);
}

static cm_status step(const cmi_optim *optim, const void *config, pick *p, state *s,
                      uint64_t number)
{
    const cmi_optim_common *c = config;
    bool factors = false;
    cmi_update update = {
        .body = optim->body(config),
        .slots = optim->slots(config),
        .decay = isnan(c->weight_decay) ? 0.0f : (float)(c->weight_decay * c->learning_rate),
        .limit = isnan(c->clipvalue) ? 0.0f : (float)c->clipvalue,
        .table = s->table,
        .blocks = VARIABLES,
        .grads = s->grads,
        .params = s->params,
        .slot = {s->slots[0], s->slots[1], s->slots[2]}};

    cmi_stream_rewind(p->stream, CMI_TRACK_OTHER);
    CM_TRY(clip(p, c, s, &factors));
    if (factors) update.factor = s->factor;
    optim->scalars(config, number, c->learning_rate, update.h);
    return cmi_op_update(p->stream, &update);
}

static bool compare_step(const cJSON *want, golden_report *report, const arena *place,
                         const float *got, int number)
{
    bool good = true;

    for (int i = 0; i < VARIABLES && good; i++) {
        char name[64];
        golden_tensor tensor;
        good = golden_tensor_read(cJSON_GetArrayItem(want, i), "w", report, &tensor);
        snprintf(name, sizeof name, "w after step %d, variable %d", number, i);
        if (good) {
            double scale = golden_largest(&tensor, 0);
            good = golden_compare(report, name, got + place->at[i], &tensor, 2e-6 * scale, 0);
        }
        golden_tensor_free(&tensor);
    }
    return good;
}

static bool run_steps(const cJSON *item, golden_report *report, const cmi_optim *optim,
                      const void *config, state *s)
{
    const cJSON *grads;
    float values[MAX_ARENA] = {0};
    pick *p = report->pick;
    int number = 0;

    if (!gather(cJSON_GetObjectItem(item, "w0"), report, &s->place, values)) return false;
    if (golden_refused(report, begin(p, values, optim->slots(config), s))) return false;
    cJSON_ArrayForEach(grads, cJSON_GetObjectItem(item, "grads"))
    {
        const cJSON *want = cJSON_GetArrayItem(cJSON_GetObjectItem(item, "w"), number++);
        /* Gaps hold not-a-number in the gradients: whoever read one would see it. */
        for (size_t i = 0; i < s->place.size; i++)
            values[i] = NAN;
        if (!gather(grads, report, &s->place, values)) return false;
        if (golden_refused(report, write(p, s->grads, values)) ||
            golden_refused(report, step(optim, config, p, s, (uint64_t)number)) ||
            golden_refused(report, pick_get(p, s->params, values)) ||
            !compare_step(want, report, &s->place, values, number))
            return false;
    }
    for (size_t i = s->place.at[1] - GAP; i < s->place.at[1]; i++)
        if (values[i] != 0.0f) golden_fail(report, "the gap between the variables was written to");
    return number > 0 && !golden_refused(report, pick_check(p));
}

static void optimizer_case(const cJSON *item, golden_report *report)
{
    const cmi_entry *entry = NULL;
    void *config = NULL;
    state s;

    memset(&s, 0, sizeof s);
    if (golden_refused(report,
                       cmi_registry_parse(&cmi_optim_registry, report->spec, &entry, &config)))
        return;
    const cmi_optim *optim = (const cmi_optim *)(const void *)entry;
    if (!golden_refused(report, cmi_optim_check(optim, config)) &&
        lay_out(cJSON_GetObjectItem(item, "w0"), report, &s.place) &&
        run_steps(item, report, optim, config, &s))
        report->cases++;
    cmi_config_free(entry, config);
}

void golden_optimizers(const cJSON *file, golden_report *report)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(file, "cases"))
    {
        report->spec = cJSON_GetStringValue(cJSON_GetObjectItem(item, "spec"));
        optimizer_case(item, report);
    }
}
