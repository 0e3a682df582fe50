/* train_models.c - models, data and weights for the tests of training; see train_models.h.  Main
 * thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/cm_test.h"
#include "support/train_models.h"

/* ---- strategies ------------------------------------------------------------------------------ */

enum { MAX_STRATEGIES = 40, MAX_TABLES = 6, TABLE_ROWS = 1100 };

static struct {
    char devices[64], options[96];
    cm_strategy *strategy;
} kept[MAX_STRATEGIES];
static int kept_count;

const char *rig_parts(int n)
{
    static char texts[16][16];

    ck_assert_int_lt(n, 16);
    snprintf(texts[n], sizeof texts[n], RIG_ONE "*%d", n);
    return texts[n];
}

cm_strategy *rig_strategy(const char *devices, const char *options)
{
    if (!devices) devices = RIG_ONE;
    for (int i = 0; i < kept_count; i++)
        if (!strcmp(kept[i].devices, devices) && !strcmp(kept[i].options, options ? options : ""))
            return kept[i].strategy;
    ck_assert_int_lt(kept_count, MAX_STRATEGIES);
    snprintf(kept[kept_count].devices, sizeof kept[0].devices, "%s", devices);
    snprintf(kept[kept_count].options, sizeof kept[0].options, "%s", options ? options : "");
    ck_assert_cm_ok(cm_mirrored_strategy_create(devices, options, &kept[kept_count].strategy));
    return kept[kept_count++].strategy;
}

void rig_forget(void)
{
    while (kept_count)
        cm_strategy_destroy(kept[--kept_count].strategy);
}

/* ---- models ---------------------------------------------------------------------------------- */

rig rig_open(const rig_spec *spec)
{
    rig r = {.strategy = rig_strategy(spec->devices, spec->options)};
    const int64_t shape = spec->features ? spec->features : RIG_FEATURES;

    r.replicas = cm_strategy_replicas(r.strategy);
    ck_assert_cm_ok(cm_strategy_scope_begin(r.strategy));
    ck_assert_cm_ok(cm_sequential_create("m1", &r.model));
    ck_assert_cm_ok(cm_model_set_seed(r.model, spec->seed));
    ck_assert_cm_ok(cm_model_add(r.model, "%s", spec->layers ? spec->layers : M1_LAYERS));
    ck_assert_cm_ok(cm_model_compile(
        r.model,
        &(cm_compile_options){.optimizer = spec->optimizer ? spec->optimizer : M1_SGD,
                              .loss = spec->loss ? spec->loss : "sparse_categorical_crossentropy",
                              .metrics = spec->metrics ? spec->metrics : "accuracy"}));
    ck_assert_cm_ok(cm_strategy_scope_end(r.strategy));
    ck_assert_cm_ok(cm_model_build(r.model, &shape, 1));
    if (!spec->own_weights) rig_start(r.model);
    return r;
}

void rig_close(rig *r)
{
    cm_model_destroy(r->model);
    r->model = NULL;
}

/* ---- data ------------------------------------------------------------------------------------ */

static struct {
    int64_t features, classes;
    float *x;
    int32_t *y;
} tables[MAX_TABLES];

cm_data rig_data(int64_t rows, int64_t features, int64_t classes)
{
    int t = 0;

    while (t < MAX_TABLES && tables[t].x &&
           (tables[t].features != features || tables[t].classes != classes))
        t++;
    ck_assert_int_lt(t, MAX_TABLES);
    ck_assert_int_le(rows, TABLE_ROWS);
    if (!tables[t].x) {
        tables[t].features = features;
        tables[t].classes = classes;
        tables[t].x = calloc((size_t)(TABLE_ROWS * features), sizeof(float));
        tables[t].y = calloc(TABLE_ROWS, sizeof(int32_t));
        ck_assert(tables[t].x && tables[t].y);
        for (int64_t i = 0; i < TABLE_ROWS; i++) {
            for (int64_t j = 0; j < features; j++)
                tables[t].x[i * features + j] =
                    (float)((31 * i + 17 * j + 7 * i * j) % 97 - 48) / 64.0f;
            tables[t].y[i] = (int32_t)((5 * i + i / 3) % classes);
        }
    }
    return (cm_data){.x = CM_FLOAT32(tables[t].x, rows, features),
                     .y = CM_INT32(tables[t].y, rows)};
}

/* ---- weights --------------------------------------------------------------------------------- */

void rig_start(cm_model *model)
{
    int kernel = 0;

    for (int i = 0; i < cm_model_weight_count(model); i++) {
        cm_weight_info info;
        ck_assert_cm_ok(cm_model_weight_info(model, i, &info));
        float *values = calloc(info.count, sizeof *values);
        ck_assert_ptr_nonnull(values);
        for (size_t k = 0; k < info.count && info.rank == 2; k++)
            values[k] = (float)((13 * k + 29 * (size_t)kernel) % 41) / 128.0f - 20.0f / 128.0f;
        kernel += info.rank == 2;
        ck_assert_cm_ok(cm_model_set_weight(model, i, values, info.count));
        free(values);
    }
}

size_t rig_weights(cm_model *model, int replica, float *out)
{
    size_t at = 0;

    for (int i = 0; i < cm_model_weight_count(model); i++) {
        cm_weight_info info;
        ck_assert_cm_ok(cm_model_weight_info(model, i, &info));
        ck_assert_uint_le(at + info.count, RIG_WEIGHTS);
        ck_assert_cm_ok(cm_model_get_replica_weight(model, replica, i, out + at, info.count));
        at += info.count;
    }
    return at;
}

double rig_abs_sum(cm_model *model, int index)
{
    static float values[RIG_WEIGHTS];
    cm_weight_info info;
    double sum = 0;

    ck_assert_cm_ok(cm_model_weight_info(model, index, &info));
    ck_assert_uint_le(info.count, RIG_WEIGHTS);
    ck_assert_cm_ok(cm_model_get_weight(model, index, values, info.count));
    for (size_t k = 0; k < info.count; k++)
        sum += fabs((double)values[k]);
    return sum;
}

static float got[RIG_WEIGHTS];

/* Compares replica 0 (or `replica`) tensor by tensor. */
static void compare(cm_model *model, int replica, const float *want, bool bits, const char *what)
{
    size_t at = 0;
    char text[512];

    (void)rig_weights(model, replica, got);
    for (int i = 0; i < cm_model_weight_count(model); i++) {
        cm_weight_info info;
        double largest = 0;
        ck_assert_cm_ok(cm_model_weight_info(model, i, &info));
        for (size_t k = 0; k < info.count; k++)
            largest = fmax(largest, fabs((double)want[at + k]));
        const double bounds[2] = {1e-7 + 2e-5 * largest, 0};
        if (!cm_test_compare(got + at, want + at, info.count, bits ? CM_TEST_BITS : CM_TEST_CLOSE,
                             bounds, text))
            ck_abort_msg("%s: replica %d, \"%s\" of \"%s\": %s", what, replica, info.name,
                         info.layer, text);
        at += info.count;
    }
}

void rig_assert_replicas_agree(const rig *r)
{
    static float first[RIG_WEIGHTS];

    (void)rig_weights(r->model, 0, first);
    for (int q = 1; q < r->replicas; q++)
        compare(r->model, q, first, true, "replicas differ");
}

void rig_assert_close(cm_model *model, const float *want, const char *what)
{
    compare(model, 0, want, false, what);
}

void rig_assert_bits(cm_model *model, const float *want, const char *what)
{
    compare(model, 0, want, true, what);
}

cm_status rig_make_m1(cm_strategy *strategy, cm_model **model)
{
    static const cm_compile_options compile = {
        .optimizer = M1_SGD, .loss = "sparse_categorical_crossentropy", .metrics = "accuracy"};
    cm_status status = strategy ? cm_strategy_scope_begin(strategy) : CM_OK;

    if (!status) status = cm_sequential_create(NULL, model);
    if (!status) status = cm_model_add(*model, M1_LAYERS);
    if (!status) status = cm_model_compile(*model, &compile);
    if (!status && strategy) status = cm_strategy_scope_end(strategy);
    return status;
}
