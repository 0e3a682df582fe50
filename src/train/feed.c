/* feed.c - from the arrays of a cm_data to the feed of a replica.
 *
 * Workers gather the rows of their own shard straight into the mapped feed.  uint8 pixels stay
 * bytes until they are on the device; labels are turned here into the form that loss and metrics
 * read: class numbers (int32) or vectors (float). Everything that can be wrong with data is found
 * before the first step, on the caller's thread: shapes, class numbers out of range, numbers that
 * are not finite (CLMIRROR_CHECK=nan).
 *
 * Checks: thread of the public call.  cmi_feed_fill: workers; reads shared arrays only. */
#include <math.h>
#include <string.h>
#include "base/knob.h"
#include "base/mem.h"
#include "train/train.h"

/* ---- labels ---- */

static double label_at(const cm_tensor *y, int64_t i)
{
    switch (y->dtype) {
    case CM_DTYPE_INT32:
        return ((const int32_t *)y->data)[i];
    case CM_DTYPE_UINT8:
        return ((const uint8_t *)y->data)[i];
    default:
        return (double)((const float *)y->data)[i];
    }
}

static int64_t shape_product(const cmi_shape *shape)
{
    int64_t count = 0;

    CM_ASSERT(cmi_shape_count(shape, &count));
    return count;
}

static int64_t output_classes(const cm_model *model)
{
    const cmi_shape *out = cmi_sequential_output(&model->layers);

    return out->rank ? out->dim[out->rank - 1] : 1;
}

static int64_t output_items(const cm_model *model)
{
    return shape_product(cmi_sequential_output(&model->layers)) / output_classes(model);
}

static cm_status check_label_shape(const cm_model *model, const cm_tensor *y, const char *what)
{
    const cmi_shape *out = cmi_sequential_output(&model->layers);
    int64_t per_row = cmi_tensor_row_count(y);
    bool classes = model->objective.loss->labels == CMI_LABEL_CLASS;
    int64_t wanted = classes ? output_items(model) : shape_product(out);
    char have[160], need[160], output[160];
    cmi_shape row = cmi_tensor_row_shape(y), want = *out;

    if (per_row == wanted) return CM_OK;
    if (classes && want.rank) want.rank--;
    return cmi_error(
        CM_E_SHAPE, "%s: rows of y have shape %s; the output %s with loss \"%s\" needs %s%s", what,
        cmi_shape_text(&row, true, have, sizeof have),
        cmi_shape_text(out, true, output, sizeof output), model->objective.loss->entry.name,
        cmi_shape_text(&want, true, need, sizeof need),
        classes                          ? " (one class number each)"
        : per_row == output_items(model) ? "; for class numbers use "
                                           "sparse_categorical_crossentropy"
                                         : "");
}

static cm_status check_classes(const cm_model *model, const cm_tensor *y, const char *what)
{
    int64_t classes = output_classes(model), per_row = cmi_tensor_row_count(y),
            n = cmi_tensor_rows(y) * per_row;

    for (int64_t i = 0; i < n; i++) {
        double label = label_at(y, i);
        if (label >= 0 && label < (double)classes && label == floor(label)) continue;
        return cmi_error(
            CM_E_INVALID,
            "%s: sample %lld has label %g, classes are whole numbers 0 ... %lld (the last layer "
            "has %lld outputs)",
            what, (long long)(i / per_row), label, (long long)classes - 1, (long long)classes);
    }
    return CM_OK;
}

static cm_status check_finite(const cm_tensor *x, const char *what)
{
    int64_t per_row = cmi_tensor_row_count(x), n = cmi_tensor_rows(x) * per_row;

    if (x->dtype != CM_DTYPE_FLOAT32) return CM_OK;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(((const float *)x->data)[i]))
            return cmi_error(CM_E_NUMERIC, "%s: x is not finite in row %lld, element %lld: %g",
                             what, (long long)(i / per_row), (long long)(i % per_row),
                             (double)((const float *)x->data)[i]);
    return CM_OK;
}

cm_status cmi_feed_check(cm_model *model, const cm_data *data, const char *what, bool labels)
{
    if (cmi_knob_has(CMI_KNOB_CHECK, "nan")) CM_TRY(check_finite(&data->x, what));
    if (!labels) return CM_OK;
    CM_TRY(check_label_shape(model, &data->y, what));
    CM_TRY(cmi_metrics_resolve(model));
    if (model->objective.class_labels) CM_TRY(check_classes(model, &data->y, what));
    if (model->objective.class_labels && model->objective.vector_labels)
        return cmi_error(
            CM_E_SHAPE,
            "%s: loss and metrics want labels of different forms, class numbers and vectors", what);
    return CM_OK;
}

cmi_feed_spec cmi_feed_spec_of(const cm_model *model, const cm_data *data)
{
    return (cmi_feed_spec){.x_uint8 = data->x.dtype == CM_DTYPE_UINT8,
                           .x_scale = data->x.scale == 0.0 ? 1.0f : (float)data->x.scale,
                           .x_count = (size_t)cmi_tensor_row_count(&data->x),
                           .items = (size_t)output_items(model),
                           .label_count =
                               (size_t)shape_product(cmi_sequential_output(&model->layers))};
}

/* ---- weights ---- */

bool cmi_feed_weighted(const cmi_source *source)
{
    return source->data.sample_weight.data || source->class_weight;
}

/* Class of a row for class weights: vectors go through argmax, single numbers are rounded. */
static int64_t class_of(const cm_tensor *y, int64_t row)
{
    int64_t n = cmi_tensor_row_count(y), best = 0;

    if (n == 1) return (int64_t)nearbyint(label_at(y, row));
    for (int64_t c = 1; c < n; c++)
        if (label_at(y, row * n + c) > label_at(y, row * n + best)) best = c;
    return best;
}

static double weight_of(const cmi_source *source, int64_t row)
{
    double weight = source->data.sample_weight.data
                        ? (double)((const float *)source->data.sample_weight.data)[row]
                        : 1.0;

    if (source->class_weight) {
        int64_t class = class_of(&source->data.y, row);
        if (class >= 0 && class < source->class_weight_count) weight *= source->class_weight[class];
    }
    return weight;
}

double cmi_feed_weight(const cm_model *model, const cmi_source *source, int64_t begin, int64_t end)
{
    double sum = 0;

    if (!cmi_feed_weighted(source)) return (double)((end - begin) * output_items(model));
    for (int64_t i = begin; i < end; i++)
        sum += weight_of(source, source->order[i]);
    return sum * (double)output_items(model);
}

/* ---- gather ---- */

static void gather_x(const cm_tensor *x, const uint32_t *order, int64_t count, void *dst)
{
    if (x->dtype != CM_DTYPE_INT32) {
        cmi_gather(x, order, count, dst);
        return;
    }
    int64_t n = cmi_tensor_row_count(x);
    float *out = dst;
    for (int64_t r = 0; r < count; r++) {
        const int32_t *row = (const int32_t *)x->data + (int64_t)order[r] * n;
        for (int64_t i = 0; i < n; i++)
            *out++ = (float)row[i];
    }
}

static void gather_labels(const cm_tensor *y, const uint32_t *order, int64_t count, cmi_feed *feed)
{
    int64_t n = cmi_tensor_row_count(y);

    if (feed->vector_label && y->dtype == CM_DTYPE_FLOAT32) {
        cmi_gather(y, order, count, feed->vector_label);
        return;
    }
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < n; i++) {
            double label = label_at(y, (int64_t)order[r] * n + i);
            if (feed->class_label) feed->class_label[r * n + i] = (int32_t)label;
            if (feed->vector_label) feed->vector_label[r * n + i] = (float)label;
        }
}

cm_status cmi_feed_fill(const cm_model *model, cmi_replica *replica, const cmi_source *source,
                        int64_t begin, int64_t end)
{
    const uint32_t *order = source->order + begin;
    int64_t count = end - begin, items = output_items(model);
    bool weighted = source->labels && cmi_feed_weighted(source);
    cmi_feed feed;

    CM_TRY(cmi_replica_feed_begin(replica, &feed));
    gather_x(&source->data.x, order, count, feed.x);
    if (source->labels) gather_labels(&source->data.y, order, count, &feed);
    for (int64_t r = 0; r < count && weighted; r++) {
        float weight = (float)weight_of(source, order[r]);
        for (int64_t t = 0; t < items; t++)
            feed.weight[r * items + t] = weight;
    }
    return cmi_replica_feed_end(replica, (size_t)count, weighted);
}
