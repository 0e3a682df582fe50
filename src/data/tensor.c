/* tensor.c - what a cm_tensor measures, and whether a user's arrays can be used at all.
 *
 * A cm_tensor comes from the user and may hold anything.  `measure` is the one place that
 * multiplies its sizes, with overflow checked; the check functions and cm_data_slice rest on it,
 * and everything behind cmi_tensor_check may trust the sizes.  Row numbers travel as uint32, which
 * limits the rows.
 *
 * Called by fit, evaluate and predict on the caller's thread, and by the workers for sizes. */
#include <math.h>
#include <stdint.h>
#include "base/mem.h"
#include "data/data.h"

#define MAX_ROWS ((int64_t)UINT32_MAX)

size_t cmi_dtype_bytes(cm_dtype dtype)
{
    switch (dtype) {
    case CM_DTYPE_FLOAT32:
    case CM_DTYPE_INT32:
        return 4;
    case CM_DTYPE_UINT8:
        return 1;
    case CM_DTYPE_NONE:
        break;
    }
    return 0;
}

int64_t cmi_tensor_rows(const cm_tensor *tensor)
{
    return tensor->shape[0];
}

cmi_shape cmi_tensor_row_shape(const cm_tensor *tensor)
{
    cmi_shape shape = {.rank = tensor->rank - 1};
    for (int i = 1; i < tensor->rank; i++)
        shape.dim[i - 1] = tensor->shape[i];
    return shape;
}

int64_t cmi_tensor_row_count(const cm_tensor *tensor)
{
    int64_t count = 1;
    for (int i = 1; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

size_t cmi_tensor_row_bytes(const cm_tensor *tensor)
{
    return (size_t)cmi_tensor_row_count(tensor) * cmi_dtype_bytes(tensor->dtype);
}

static const char *shape_text(const cm_tensor *tensor, char *text, size_t bytes)
{
    cmi_shape shape = {.rank = tensor->rank};
    for (int i = 0; i < tensor->rank; i++)
        shape.dim[i] = tensor->shape[i];
    return cmi_shape_text(&shape, false, text, bytes);
}

/* Bytes of one row and of all; false when type or rank is wrong, a size is negative or a product
 * too large. Elements are limited as well as bytes, so that int64 counts of elements and byte
 * offsets are both safe. */
static bool measure(const cm_tensor *tensor, size_t *row_bytes, size_t *bytes)
{
    size_t row = cmi_dtype_bytes(tensor->dtype);
    if (row == 0 || tensor->rank < 1 || tensor->rank > CM_MAX_RANK || tensor->shape[0] < 0)
        return false;
    for (int i = 1; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0 || (uint64_t)tensor->shape[i] > SIZE_MAX) return false;
        if (!cmi_size_mul(row, (size_t)tensor->shape[i], &row)) return false;
    }
    *row_bytes = row;
    return row <= PTRDIFF_MAX && cmi_size_mul(row, (size_t)tensor->shape[0], bytes) &&
           *bytes <= PTRDIFF_MAX;
}

cm_status cmi_tensor_check(const cm_tensor *tensor, const char *what)
{
    char text[256];
    size_t row_bytes, bytes;
    if (cmi_dtype_bytes(tensor->dtype) == 0)
        return cmi_error(CM_E_INVALID, "%s: type %d; give CM_FLOAT32, CM_INT32 or CM_UINT8", what,
                         (int)tensor->dtype);
    if (tensor->rank < 1 || tensor->rank > CM_MAX_RANK)
        return cmi_error(CM_E_INVALID,
                         "%s: %d axes; 1 to %d are possible, the first counts the rows", what,
                         tensor->rank, CM_MAX_RANK);
    shape_text(tensor, text, sizeof text);
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] < (i > 0))
            return cmi_error(CM_E_SHAPE, "%s: shape %s: size %lld of axis %d; at least %d expected",
                             what, text, (long long)tensor->shape[i], i, i > 0);
    if (!measure(tensor, &row_bytes, &bytes))
        return cmi_error(CM_E_SHAPE, "%s: shape %s is too large for any memory", what, text);
    if (tensor->shape[0] > MAX_ROWS)
        return cmi_error(CM_E_SHAPE, "%s: %lld rows; at most %lld are possible", what,
                         (long long)tensor->shape[0], (long long)MAX_ROWS);
    if (!tensor->data && bytes > 0)
        return cmi_error(CM_E_INVALID, "%s: shape %s but no data (NULL)", what, text);
    if (!isfinite(tensor->scale))
        return cmi_error(CM_E_INVALID, "%s: scale %g is not a finite number", what, tensor->scale);
    return CM_OK;
}

static cm_status check_same_rows(const cm_data *data, const cm_tensor *other, const char *what)
{
    int64_t rows = cmi_tensor_rows(&data->x), found = cmi_tensor_rows(other);
    if (rows == found) return CM_OK;
    return cmi_error(CM_E_SHAPE, "x has %lld rows, %s has %lld; give one row of each per sample",
                     (long long)rows, what, (long long)found);
}

static cm_status check_weights(const cm_data *data)
{
    const cm_tensor *weights = &data->sample_weight;
    const float *value = weights->data;
    char text[256];
    CM_TRY(cmi_tensor_check(weights, "sample_weight"));
    if (weights->dtype != CM_DTYPE_FLOAT32)
        return cmi_error(CM_E_INVALID, "sample_weight must be float32 (CM_FLOAT32)");
    if (weights->rank != 1)
        return cmi_error(
            CM_E_SHAPE, "sample_weight has shape %s; one number per row, (%lld,), expected",
            shape_text(weights, text, sizeof text), (long long)cmi_tensor_rows(&data->x));
    CM_TRY(check_same_rows(data, weights, "sample_weight"));
    for (int64_t i = 0; i < weights->shape[0]; i++)
        if (!isfinite(value[i]))
            return cmi_error(CM_E_NUMERIC,
                             "sample_weight of row %lld is %g; finite numbers expected",
                             (long long)i, (double)value[i]);
    return CM_OK;
}

static cm_status check_arrays(const cm_data *data, bool needs_y)
{
    if (data->x.dtype == CM_DTYPE_NONE)
        return cmi_error(
            CM_E_INVALID,
            "no x; set cm_data.x, for example with CM_FLOAT32(pointer, rows, features)");
    CM_TRY(cmi_tensor_check(&data->x, "x"));
    if (data->y.dtype != CM_DTYPE_NONE) {
        CM_TRY(cmi_tensor_check(&data->y, "y"));
        CM_TRY(check_same_rows(data, &data->y, "y"));
    } else if (needs_y) {
        return cmi_error(CM_E_INVALID, "no y; the labels or targets are missing, set cm_data.y");
    }
    if (data->sample_weight.dtype != CM_DTYPE_NONE) CM_TRY(check_weights(data));
    if (cmi_tensor_rows(&data->x) == 0) return cmi_error(CM_E_INVALID, "no samples: x has 0 rows");
    return CM_OK;
}

cm_status cmi_data_check(const cm_data *data, const char *what, bool needs_y)
{
    if (!data) return cmi_error(CM_E_INVALID, "%s: no data (NULL)", what);
    CM_TRY_CTX(check_arrays(data, needs_y), "%s", what);
    return CM_OK;
}

/* A tensor that makes no sense is passed on as it is: the call that reads it says what is wrong. */
static void slice(cm_tensor *tensor, int64_t begin, int64_t end)
{
    size_t row_bytes, bytes;
    if (!tensor->data || !measure(tensor, &row_bytes, &bytes)) return;
    if (begin < 0) begin = 0;
    if (begin > tensor->shape[0]) begin = tensor->shape[0];
    if (end > tensor->shape[0]) end = tensor->shape[0];
    if (end < begin) end = begin;
    tensor->data = (const char *)tensor->data + (size_t)begin * row_bytes;
    tensor->shape[0] = end - begin;
}

cm_data cm_data_slice(const cm_data *data, int64_t begin, int64_t end)
{
    cm_data part = {0};
    if (!data) return part;
    part = *data;
    slice(&part.x, begin, end);
    slice(&part.y, begin, end);
    slice(&part.sample_weight, begin, end);
    return part;
}
