/* train_models.h - the models, data and starting weights that the tests of training share.
 *
 * M1 and D are those of the re-enacted reports (cases A01 ...), exact in float:
 *
 *     D(n, d, c)  x[i][j] = (((31 i + 17 j + 7 i j) mod 97) - 48) / 64, y[i] = (5 i + i / 3) mod c
 *     M1(d, c)    dense 16 relu, dense c softmax; sparse categorical cross-entropy, accuracy;
 *                 sgd 0.1, momentum 0.9
 *     weights     kernel t (0, 1, ...), element k by rows: (((13 k + 29 t) mod 41) - 20) / 128;
 *                 everything else 0
 *
 * Strategies are kept and used again, since making one compiles kernels: rig_open takes the one
 * of its device text. Everything asserts with Check, so it belongs to the main thread. */
#ifndef TRAIN_MODELS_H
#define TRAIN_MODELS_H

#include <clmirror/clmirror.h>

#define M1_LAYERS "dense units=16 activation=relu; dense units=4 activation=softmax"
#define M1_DROPOUT                                                                                 \
    "dense units=16 activation=relu; dropout rate=0.3; dense units=4 activation=softmax"
#define M1_SGD "sgd learning_rate=0.1 momentum=0.9"

enum { RIG_FEATURES = 8, RIG_CLASSES = 4, RIG_WEIGHTS = 32768 };

/* What to build; zero means M1(8, 4). */
typedef struct rig_spec {
    const char *devices; /* NULL: one device */
    const char *options; /* of the strategy */
    const char *layers, *optimizer, *loss, *metrics;
    int64_t features;
    uint64_t seed;
    bool own_weights; /* keep the initialisers' weights */
} rig_spec;

typedef struct rig {
    cm_strategy *strategy; /* borrowed */
    cm_model *model;
    int replicas;
} rig;

/* Device texts: one device, all devices (two under CTest), and n replicas on the first device. */
#define RIG_ONE "0.0"
#define RIG_ALL "all"
const char *rig_parts(int n);

/* The strategy of these texts, made at the first use; rig_forget destroys all. */
cm_strategy *rig_strategy(const char *devices, const char *options);
void rig_forget(void);

/* M1, created and compiled in the scope of the strategy, or (NULL) outside any; not built.  Asserts
 * nothing. */
cm_status rig_make_m1(cm_strategy *strategy, cm_model **model);
/* A compiled, built model with the starting weights. */
rig rig_open(const rig_spec *spec);
void rig_close(rig *r);

/* D(rows, features, classes); shared static memory, the same for equal features and classes. */
cm_data rig_data(int64_t rows, int64_t features, int64_t classes);
#define RIG_DATA(rows) rig_data((rows), RIG_FEATURES, RIG_CLASSES)

/* Sets the starting weights. */
void rig_start(cm_model *model);
/* All tensors of a replica, one after another; returns how many numbers. */
size_t rig_weights(cm_model *model, int replica, float *out);
/* Sum of |w| of a tensor of the first replica. */
double rig_abs_sum(cm_model *model, int index);
/* Every replica's weights have the bits of replica 0's. */
void rig_assert_replicas_agree(const rig *r);
/* The model's weights against `want`, as rig_weights gave them: the rule "=1" of the cases (1e-7
 * plus 2e-5 times the tensor's largest value), or the same bits.  `what` is for the message. */
void rig_assert_close(cm_model *model, const float *want, const char *what);
void rig_assert_bits(cm_model *model, const float *want, const char *what);

#endif
