/* functions.c - golden activations and initialisers.  Main thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "golden/golden.h"
#include "nn/activation.h"
#include "nn/init.h"

/* ---- activations
 * ------------------------------------------------------------------------------------- */

typedef struct arrays {
    golden_tensor x, y, dy, dx;
} arrays;

static cm_status run_activation(const cmi_activation *activation, pick *p, const arrays *a,
                                float *y, float *dx)
{
    size_t columns = a->x.shape.rank ? (size_t)a->x.shape.dim[a->x.shape.rank - 1] : 1,
           rows = a->x.count / columns;
    cmi_view x_view, y_view, dy_view, dx_view;

    pick_clear(p);
    CM_TRY(pick_put(p, a->x.values, a->x.count, &x_view));
    CM_TRY(pick_new(p, a->x.count, &y_view));
    CM_TRY(pick_put(p, a->dy.values, a->x.count, &dy_view));
    CM_TRY(pick_new(p, a->x.count, &dx_view));
    CM_TRY(cmi_activation_forward(activation, p->stream, rows, columns, x_view, y_view));
    CM_TRY(pick_get(p, y_view, y));
    CM_TRY(cmi_activation_backward(activation, p->stream, rows, columns, dy_view, x_view, y_view,
                                   dx_view));
    CM_TRY(pick_get(p, dx_view, dx));
    return pick_check(p);
}

/* Every element for itself: beside exp(88) the scaled rule would compare nothing. */
static void activation_case(const cJSON *item, golden_report *report)
{
    const cmi_activation *activation = NULL;
    arrays a = {.x = {.count = 0}};
    float *got = NULL;

    if (golden_refused(report, cmi_activation_find(report->spec, &activation))) return;
    if (golden_tensor_read(cJSON_GetObjectItem(item, "x"), "x", report, &a.x) &&
        golden_tensor_read(cJSON_GetObjectItem(item, "y"), "y", report, &a.y) &&
        golden_tensor_read(cJSON_GetObjectItem(item, "dy"), "dy", report, &a.dy) &&
        golden_tensor_read(cJSON_GetObjectItem(item, "dx"), "dx", report, &a.dx)) {
        got = calloc(2 * a.x.count + 1, sizeof *got);
        CM_ASSERT(got);
        if (!golden_refused(report,
                            run_activation(activation, report->pick, &a, got, got + a.x.count)) &&
            golden_compare(report, "y", got, &a.y, 1e-5, 1e-5) &&
            golden_compare(report, "dx", got + a.x.count, &a.dx, 1e-5, 1e-5))
            report->cases++;
    }
    free(got);
    golden_tensor_free(&a.x);
    golden_tensor_free(&a.y);
    golden_tensor_free(&a.dy);
    golden_tensor_free(&a.dx);
}

void golden_activations(const cJSON *file, golden_report *report)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(file, "cases"))
    {
        report->spec = cJSON_GetStringValue(cJSON_GetObjectItem(item, "spec"));
        activation_case(item, report);
    }
}

/* ---- initialisers
 * ------------------------------------------------------------------------------------ */

typedef struct statistics {
    double mean, deviation, min, max;
} statistics;

static statistics measure(const float *values, size_t count)
{
    statistics s = {.min = (double)INFINITY, .max = -(double)INFINITY};
    double squares = 0;

    for (size_t i = 0; i < count; i++) {
        double value = (double)values[i];
        s.mean += value / (double)count;
        squares += value * value / (double)count;
        if (value < s.min) s.min = value;
        if (value > s.max) s.max = value;
    }
    s.deviation = sqrt(squares - s.mean * s.mean);
    return s;
}

static double number(const cJSON *item, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(item, key));
}

/* The extremes of a bounded distribution are near its bounds in any big sample; those of a normal
 * one are not. */
static void initializer_case(const cJSON *item, golden_report *report)
{
    cmi_shape shape = {.rank = 0};
    const cJSON *size;
    int64_t count = 0;
    cmi_rng rng;

    cJSON_ArrayForEach(size, cJSON_GetObjectItem(item, "shape"))
    {
        if (shape.rank < CMI_MAX_RANK) shape.dim[shape.rank++] = (int64_t)size->valuedouble;
    }
    if (!cmi_shape_count(&shape, &count) || count < 2) {
        golden_fail(report, "the shape is missing");
        return;
    }
    float *values = calloc((size_t)count, sizeof *values);
    CM_ASSERT(values);
    cmi_rng_init(&rng, 1, CMI_RNG_WEIGHTS, 0);
    if (!golden_refused(report, cmi_init_fill(report->spec, &shape, &rng, values))) {
        statistics s = measure(values, (size_t)count);
        double deviation = number(item, "std"), min = number(item, "min"),
               max = number(item, "max");
        bool bounded = !strstr(report->spec, "random_normal");
        if (golden_compare_number(report, "std", s.deviation, deviation, 0.01 * deviation) &&
            golden_compare_number(report, "mean", s.mean, 0.0,
                                  5 * deviation / sqrt((double)count)) &&
            (!bounded || (golden_compare_number(report, "min", s.min, min, 0.01 * fabs(min)) &&
                          golden_compare_number(report, "max", s.max, max, 0.01 * fabs(max)))))
            report->cases++;
    }
    free(values);
}

void golden_initializers(const cJSON *file, golden_report *report)
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(file, "cases"))
    {
        report->spec = cJSON_GetStringValue(cJSON_GetObjectItem(item, "spec"));
        initializer_case(item, report);
    }
}
