/* layers.c - golden layers: one layer, forward and backward.  Main thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "golden/golden.h"
#include "support/layer_run.h"

typedef struct arrays {
    golden_tensor x, y, dy, dx, params[CMI_MAX_PARAMS], grads[CMI_MAX_PARAMS];
} arrays;

static bool read_list(const cJSON *file, const char *key, golden_report *report,
                      golden_tensor *list, int count)
{
    const cJSON *items = cJSON_GetObjectItem(file, key);

    if (cJSON_GetArraySize(items) != count) {
        golden_fail(report, "the file has %d %s, the layer %d", cJSON_GetArraySize(items), key,
                    count);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!golden_tensor_read(cJSON_GetArrayItem(items, i), key, report, &list[i])) return false;
    return true;
}

static bool same_shape(golden_report *report, const char *name, const cmi_shape *have,
                       const cmi_shape *want)
{
    char a[128], b[128];

    if (cmi_shape_equal(have, want)) return true;
    golden_fail(report, "%s has the shape %s, expected %s", name,
                cmi_shape_text(have, false, a, sizeof a), cmi_shape_text(want, false, b, sizeof b));
    return false;
}

static bool fits(golden_report *report, const layer_run *run, const arrays *a)
{
    cmi_shape out = golden_row_shape(&a->y);

    if (!same_shape(report, "y", &run->spec.out, &out)) return false;
    for (int i = 0; i < run->spec.params; i++)
        if (!same_shape(report, run->spec.param[i].name, &run->spec.param[i].shape,
                        &a->params[i].shape))
            return false;
    return true;
}

static bool compare(golden_report *report, const layer_run *run, const arrays *a)
{
    bool good = golden_compare_scaled(report, "y", run->y, &a->y) &&
                golden_compare_scaled(report, "dx", run->dx, &a->dx);

    for (int i = 0; i < run->spec.params && good; i++) {
        char name[64];
        snprintf(name, sizeof name, "gradient of %s", run->spec.param[i].name);
        good = golden_compare_scaled(report, name, run->grads[i], &a->grads[i]);
    }
    return good;
}

static bool run_layer(golden_report *report, layer_run *run, const arrays *a)
{
    run->x = a->x.values;
    run->dy = a->dy.values;
    run->y = calloc(a->y.count + 1, sizeof(float));
    run->dx = calloc(a->x.count + 1, sizeof(float));
    CM_ASSERT(run->y && run->dx);
    for (int i = 0; i < run->spec.params; i++) {
        run->params[i] = a->params[i].values;
        run->grads[i] = calloc(run->param_count[i] + 1, sizeof(float));
        CM_ASSERT(run->grads[i]);
    }
    bool good = !golden_refused(report, layer_run_go(run, report->pick)) && compare(report, run, a);
    free(run->y);
    free(run->dx);
    for (int i = 0; i < run->spec.params; i++)
        free(run->grads[i]);
    return good;
}

void golden_layer(const cJSON *file, golden_report *report)
{
    arrays a;
    layer_run run;

    memset(&a, 0, sizeof a);
    memset(&run, 0, sizeof run);
    report->spec = cJSON_GetStringValue(cJSON_GetObjectItem(file, "spec"));
    if (!golden_tensor_read(cJSON_GetObjectItem(file, "x"), "x", report, &a.x)) goto done;
    cmi_shape in = golden_row_shape(&a.x);
    if (golden_refused(report, layer_run_open(&run, report->spec, &in, (size_t)a.x.shape.dim[0])))
        goto done;
    run.training = cJSON_IsTrue(cJSON_GetObjectItem(file, "training"));
    if (golden_tensor_read(cJSON_GetObjectItem(file, "y"), "y", report, &a.y) &&
        golden_tensor_read(cJSON_GetObjectItem(file, "dy"), "dy", report, &a.dy) &&
        golden_tensor_read(cJSON_GetObjectItem(file, "dx"), "dx", report, &a.dx) &&
        read_list(file, "params", report, a.params, run.spec.params) &&
        read_list(file, "dparams", report, a.grads, run.spec.params) && fits(report, &run, &a) &&
        run_layer(report, &run, &a))
        report->cases++;
done:
    layer_run_close(&run);
    golden_tensor_free(&a.x);
    golden_tensor_free(&a.y);
    golden_tensor_free(&a.dy);
    golden_tensor_free(&a.dx);
    for (int i = 0; i < CMI_MAX_PARAMS; i++) {
        golden_tensor_free(&a.params[i]);
        golden_tensor_free(&a.grads[i]);
    }
}
