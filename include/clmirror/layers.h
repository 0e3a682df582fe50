/* layers.h - the stock layers, losses, metrics, optimisers, activations and initialisers, and their
 * keys.
 *
 * Grammar: `name key=value key=value ...`; keys are Keras' argument names; lists have commas and no
 * blanks; a spec inside a spec is written in brackets:
 * kernel_initializer=random_normal(stddev=0.1).  A model text separates layers by `;` or new lines,
 * `#` starts a comment.  `clmirror-info --layers` prints this list with defaults and ranges from
 * the library itself.
 *
 * Layers (shapes without the batch axis)
 *   input shape=                        states the shape of one sample
 *   dense units= activation=None use_bias=true kernel_initializer=glorot_uniform bias_initializer=zeros
 *   activation activation=
 *   relu max_value=None negative_slope=0 threshold=0        softmax axis=-1
 *   flatten      reshape target_shape=                      rescaling scale= offset=0
 *   dropout rate= seed=None
 *   every layer: name= input_shape= trainable=true
 *
 * Activations: linear relu relu6 leaky_relu elu selu celu gelu silu mish softplus softsign tanh hard_tanh sigmoid
 *   hard_sigmoid hard_silu exponential log_sigmoid softmax log_softmax
 *
 * Losses (reduction=sum_over_batch_size|mean|sum|mean_with_sample_weight)
 *   sparse_categorical_crossentropy from_logits=false       class numbers
 *   categorical_crossentropy from_logits=false label_smoothing=0
 *   binary_crossentropy from_logits=false label_smoothing=0
 *   mean_squared_error (mse)  mean_absolute_error (mae)  huber delta=1
 *
 * Metrics: accuracy (acc) crossentropy (ce) sparse_categorical_accuracy categorical_accuracy
 *   binary_accuracy threshold=0.5, and every loss
 *
 * Optimisers (learning_rate= weight_decay= clipnorm= global_clipnorm= clipvalue=)
 *   sgd momentum=0 nesterov=false       rmsprop rho=0.9 momentum=0 epsilon=1e-7 centered=false
 *   adam, adamw beta_1=0.9 beta_2=0.999 epsilon=1e-7 amsgrad=false
 *
 * Initialisers: glorot_uniform glorot_normal he_uniform he_normal lecun_uniform lecun_normal variance_scaling
 *   random_normal truncated_normal random_uniform zeros ones constant */
#ifndef CLMIRROR_LAYERS_H
#define CLMIRROR_LAYERS_H

#include <clmirror/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Families of named things, for listings: "layer", "activation", "loss", "metric", "optimizer",
 * "initializer". */
CM_API int cm_kind_count(void);
CM_API const char *cm_kind_name(int kind);
/* Number of names of a kind, and the i-th: its name and one line about it; static texts, NULL out
 * of range. */
CM_API int cm_name_count(int kind);
CM_API const char *cm_name(int kind, int index);
CM_API const char *cm_name_doc(int kind, int index);
/* The j-th key of the i-th name; NULL behind the last.  `fallback` NULL: the key must be given. */
typedef struct cm_key_info {
    const char *key, *fallback, *help;
} cm_key_info;
CM_API int cm_key_count(int kind, int index);
CM_API cm_key_info cm_key(int kind, int index, int j);

#ifdef __cplusplus
}
#endif

#endif
