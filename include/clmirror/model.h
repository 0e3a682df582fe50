/* model.h - a Keras-like Sequential model: create, add, compile, fit, evaluate, predict.
 *
 * Options are structs in which zero means "the default".  Layers, losses, metrics and optimisers
 * are texts with Keras' argument names (layers.h lists them).  One call at a time per strategy: a
 * second one, from another thread or from a callback, gets CM_E_STATE. */
#ifndef CLMIRROR_MODEL_H
#define CLMIRROR_MODEL_H

#include <clmirror/dataset.h>
#include <clmirror/strategy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_model cm_model;
typedef struct cm_history cm_history;

/* ---- making a model
 * ----------------------------------------------------------------------------------- */

/* An empty model of the strategy whose scope is open on this thread; outside any scope a model on
 * one device (the first of the default selection).  `name`: NULL for "sequential", "sequential_1",
 * ... */
CM_API CM_CHECK cm_status cm_sequential_create(const char *name, cm_model **model);

/* Appends layers: a printf format whose result is one or more specs separated by `;` or new lines:
 * cm_model_add(model, "dense units=%d activation=relu; dropout rate=0.5", 64). CM_E_NOT_FOUND
 * unknown layer; CM_E_INVALID unknown key or bad value; CM_E_SHAPE does not fit the layer before;
 * CM_E_STATE the model is built already. */
CM_API CM_CHECK cm_status cm_model_add(cm_model *model, const char *format, ...) CM_PRINTF(2, 3);

typedef struct cm_compile_options {
    const char *optimizer; /* NULL: "rmsprop", as in Keras */
    const char *loss;      /* required for fit and evaluate */
    const char *metrics;   /* list separated by `;` or `,`: "accuracy, mse"; NULL: none */
} cm_compile_options;

/* Chooses optimiser, loss and metrics; optimiser state starts anew. CM_E_SCOPE the open scope is
 * not the one the model was created in; CM_E_NOT_FOUND, CM_E_INVALID as for add. */
CM_API CM_CHECK cm_status cm_model_compile(cm_model *model, const cm_compile_options *options);

/* Fixes the input shape (without the batch axis) of a model whose first layer has no input_shape,
 * and makes the weights. fit, evaluate and predict do it by themselves from the data. */
CM_API CM_CHECK cm_status cm_model_build(cm_model *model, const int64_t *shape, int rank);

/* Seed of initial weights, shuffling and dropout; before the weights exist.  Default:
 * CLMIRROR_SEED, else 0. */
CM_API CM_CHECK cm_status cm_model_set_seed(cm_model *model, uint64_t seed);

CM_API void cm_model_destroy(cm_model *model); /* accepts NULL; does not touch the last error */

/* ---- what a run reports
 * ------------------------------------------------------------------------------- */

#define CM_MAX_LOGS 64

/* Values by name, sorted by name; the names belong to the model. */
typedef struct cm_logs {
    int count;
    const char *name[CM_MAX_LOGS];
    double value[CM_MAX_LOGS];
} cm_logs;

/* Value of a name; NAN when it is not there. */
CM_API double cm_logs_get(const cm_logs *logs, const char *name);

/* Called on the thread of fit, between steps; may call cm_model_stop and get weights, not fit.  Any
 * member may be NULL. Epochs and batches count from 0.  With a batch function registered, every
 * step ends in a wait for all devices. */
typedef struct cm_callbacks {
    void *user;
    void (*train_begin)(void *user);
    void (*train_end)(void *user, const cm_logs *logs);
    void (*epoch_begin)(void *user, int epoch);
    void (*epoch_end)(void *user, int epoch, const cm_logs *logs);
    void (*batch_begin)(void *user, int64_t batch);
    void (*batch_end)(void *user, int64_t batch, const cm_logs *logs);
} cm_callbacks;

/* Receives what `verbose` prints; default: standard output. */
typedef void (*cm_output)(void *user, const char *text);

/* ---- fit, evaluate, predict
 * --------------------------------------------------------------------------- */

#define CM_EPOCHS_NONE (-1) /* as `epochs`: check everything, build, train nothing */

typedef struct cm_fit_options {
    int epochs; /* index of the last epoch, as in Keras; 0: 1; CM_EPOCHS_NONE */
    int initial_epoch;
    int64_t batch_size; /* of all devices together; 0: 32 */
    bool no_shuffle;
    uint64_t seed;                  /* of shuffling and dropout; 0: the model's */
    double validation_split;        /* the last part of the rows, 0 <= split < 1 */
    const cm_data *validation_data; /* wins over validation_split */
    int64_t validation_batch_size;  /* 0: batch_size */
    int validation_freq;            /* 0: 1, every epoch */
    const double *class_weight; /* weight of class c; classes from class_weight_count on weigh 1 */
    int class_weight_count;
    int verbose;                   /* 0 nothing, 1 progress bar, 2 one line per epoch */
    bool stop_on_nan;              /* a loss that is not finite ends fit with CM_E_NUMERIC */
    const cm_callbacks *callbacks; /* callbacks_count of them, called in order */
    int callbacks_count;
    cm_output output; /* NULL: standard output */
    void *output_user;
} cm_fit_options;

/* Trains for epochs initial_epoch ... epochs-1 over `data`.
 *
 * `data` is borrowed and must not change until the call returns.  Blocks the calling thread;
 * callbacks run on it. `history` (may be NULL) gets a new object, also after a failure or stop,
 * with the epochs that were completed; NULL when fit was refused before it began (an option, a
 * running call). On failure the parameters are those of the last completed step on every replica.
 *
 * CM_E_STATE    not compiled, no layers, no loss, a call is running, or the strategy was destroyed
 * CM_E_SHAPE    data do not match the model; the message names both
 * CM_E_INVALID  bad option, label out of range, no samples
 * CM_E_SCOPE    called inside the scope of another strategy
 * CM_E_NUMERIC  stop_on_nan
 * CM_E_OPENCL, CM_E_MEMORY, CM_E_BUILD, CM_E_TIMEOUT  a device failed; the message names device, layer and call
 */
CM_API CM_CHECK cm_status cm_model_fit(cm_model *model, const cm_data *data,
                                       const cm_fit_options *options, cm_history **history);

typedef struct cm_evaluate_options {
    int64_t batch_size; /* 0: 32 */
    int verbose;
    cm_output output;
    void *output_user;
} cm_evaluate_options;

/* Loss and metrics over `data`, in `logs` ("loss" and the metrics, sorted).  `options` may be NULL.
 */
CM_API CM_CHECK cm_status cm_model_evaluate(cm_model *model, const cm_data *data,
                                            const cm_evaluate_options *options, cm_logs *logs);

/* Output of the model for every row of data->x, in order, into out [rows, output shape]; `count` is
 * the number of floats in out and must be exactly that.  `options` may be NULL. */
CM_API CM_CHECK cm_status cm_model_predict(cm_model *model, const cm_data *data,
                                           const cm_evaluate_options *options, float *out,
                                           size_t count);

/* One step, or one evaluation, on the whole of `data` as one batch; logs report this batch alone.
 */
CM_API CM_CHECK cm_status cm_model_train_on_batch(cm_model *model, const cm_data *data,
                                                  cm_logs *logs);
CM_API CM_CHECK cm_status cm_model_test_on_batch(cm_model *model, const cm_data *data,
                                                 cm_logs *logs);

/* Ends a running fit, evaluate or predict after the present step, on all devices.
 * Async-signal-safe, any thread. fit then returns CM_OK with the history so far; evaluate and
 * predict return CM_E_ABORTED. */
CM_API void cm_model_stop(cm_model *model);

/* ---- history
 * ------------------------------------------------------------------------------------------ */

/* Completed epochs, and the number (0-based) of the i-th of them. */
CM_API int cm_history_epochs(const cm_history *history);
CM_API int cm_history_epoch(const cm_history *history, int i);
/* Names in order of the columns, and the values of one: one per epoch (val_* fewer when
 * validation_freq > 1). */
CM_API int cm_history_names(const cm_history *history);
CM_API const char *cm_history_name(const cm_history *history, int i);
CM_API const double *cm_history_values(const cm_history *history, const char *name, int *count);
/* Last value of a name; NAN when there is none. */
CM_API double cm_history_last(const cm_history *history, const char *name);
CM_API void cm_history_destroy(cm_history *history); /* accepts NULL */

/* ---- weights and shapes
 * ------------------------------------------------------------------------------- */

typedef struct cm_weight_info {
    const char *layer, *name; /* "dense_1", "kernel"; owned by the model */
    int rank;
    int64_t shape[CM_MAX_RANK];
    size_t count;
    bool trainable;
} cm_weight_info;

/* Tensors in the order of the layers, then of Keras; 0 before the model is built. */
CM_API int cm_model_weight_count(const cm_model *model);
CM_API CM_CHECK cm_status cm_model_weight_info(const cm_model *model, int index,
                                               cm_weight_info *info);
/* Copies a tensor out of the first healthy replica, or into all replicas; `count` must be the
 * tensor's. */
CM_API CM_CHECK cm_status cm_model_get_weight(cm_model *model, int index, float *values,
                                              size_t count);
CM_API CM_CHECK cm_status cm_model_set_weight(cm_model *model, int index, const float *values,
                                              size_t count);
/* Copies a tensor out of one chosen replica: to look whether replicas agree. */
CM_API CM_CHECK cm_status cm_model_get_replica_weight(cm_model *model, int replica, int index,
                                                      float *values, size_t count);

/* Shape of one output row, without the batch axis.  CM_E_STATE before the model is built. */
CM_API CM_CHECK cm_status cm_model_output_shape(const cm_model *model, int64_t shape[CM_MAX_RANK],
                                                int *rank);
/* Rows that a replica has processed since the model was built: training, evaluation and prediction.
 */
CM_API int64_t cm_model_replica_rows(const cm_model *model, int replica);
/* Prints Keras' summary() through `output` (NULL: standard output). */
CM_API cm_status cm_model_summary(cm_model *model, cm_output output, void *user);

#ifdef __cplusplus
}
#endif

#endif
