/* dataset.h - arrays in host memory, and data sets read from files.
 *
 * A cm_tensor describes an array that belongs to the caller: row-major, the first axis counts the
 * rows.  A cm_data puts together what fit, evaluate and predict need.  Nothing is copied; the
 * arrays must stay unchanged until the call that got them returns. */
#ifndef CLMIRROR_DATASET_H
#define CLMIRROR_DATASET_H

#include <stddef.h>
#include <stdint.h>
#include <clmirror/export.h>
#include <clmirror/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CM_MAX_RANK 8

typedef enum cm_dtype {
    CM_DTYPE_NONE, /* no array */
    CM_DTYPE_FLOAT32,
    CM_DTYPE_INT32,
    CM_DTYPE_UINT8
} cm_dtype;

typedef struct cm_tensor {
    const void *data;
    cm_dtype dtype;
    int rank;                   /* axes, rows included; 1 ... CM_MAX_RANK */
    int64_t shape[CM_MAX_RANK]; /* shape[0] = rows */
    double scale;               /* values are multiplied by it on the device; 0 means 1 */
} cm_tensor;

/* CM_FLOAT32(x, 1000, 20) describes 1000 rows of 20 floats. */
#define CM_FLOAT32(pointer, ...) CM_TENSOR(CM_DTYPE_FLOAT32, pointer, __VA_ARGS__)
#define CM_INT32(pointer, ...)   CM_TENSOR(CM_DTYPE_INT32, pointer, __VA_ARGS__)
#define CM_UINT8(pointer, ...)   CM_TENSOR(CM_DTYPE_UINT8, pointer, __VA_ARGS__)
#define CM_TENSOR(type, pointer, ...)                                                              \
    cm_tensor_make((type), (pointer), (const int64_t[]){__VA_ARGS__},                              \
                   (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

static inline cm_tensor cm_tensor_make(cm_dtype dtype, const void *data, const int64_t *shape,
                                       int rank)
{
    cm_tensor tensor; /* field by field: no initializer is free of warnings in both C and C++ */
    tensor.data = data;
    tensor.dtype = dtype;
    tensor.rank = rank;
    for (int i = 0; i < CM_MAX_RANK; i++)
        tensor.shape[i] = i < rank ? shape[i] : 0;
    tensor.scale = 0;
    return tensor;
}

/* What fit, evaluate and predict read.  predict needs only x. */
typedef struct cm_data {
    cm_tensor x;             /* [rows, ...] float32, uint8 or int32 (turned into float32) */
    cm_tensor y;             /* labels: int32 or uint8 classes, or float32 targets */
    cm_tensor sample_weight; /* float32 [rows], optional */
} cm_data;

typedef struct cm_dataset cm_dataset;

/* Opens a data set by its source text and reads it into memory:
 *
 *   "fashion-mnist"            the training set of the Debian package dataset-fashion-mnist: 60,000 images
 *                              28 x 28 x 1, uint8, scale 1/255, and labels 0 ... 9
 *   "fashion-mnist:test"       its test set, 10,000 images
 *   "fashion-mnist=DIR"        (and "fashion-mnist=DIR:test") the same four files in another folder
 *   "idx:IMAGES,LABELS"        two IDX files, plain or gzip; "idx:IMAGES" alone has no labels
 *   "random:ROWSxF,CLASSES"    uniform numbers in [0,1) of shape (ROWS, F) (also ROWSx28x28x1), labels drawn
 *                              from 0 ... CLASSES-1; option seed=N
 *
 * A source may be followed by options: "scale=1/255" multiplies x on the device.
 *
 * CM_E_IO       a file cannot be read; the message gives the system's reason
 * CM_E_FORMAT   a file is not what it should be; the message names file, place, what was found and expected
 * CM_E_INVALID  the source text is wrong
 * CM_E_SHAPE    rows of images and labels differ
 * CM_E_MEMORY */
CM_API CM_CHECK cm_status cm_dataset_open(const char *source, cm_dataset **dataset);
CM_API void cm_dataset_destroy(cm_dataset *dataset); /* accepts NULL */

/* The arrays, owned by the data set; y has CM_DTYPE_NONE when there are no labels. */
CM_API cm_data cm_dataset_data(const cm_dataset *dataset);
/* A part: rows begin ... end-1 of every array, borrowed from `data`.  For own splits into training
 * and validation; begin and end are cut to the rows that exist. */
CM_API cm_data cm_data_slice(const cm_data *data, int64_t begin, int64_t end);
/* Source text of the set that belongs to `source` for validation ("fashion-mnist" -> its test set),
 * in `text` (zero-terminated, cut at `bytes`); an empty text when there is none. */
CM_API void cm_dataset_validation_source(const char *source, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
