/* optim.h - what an optimiser is: some slots per parameter, scalars per step, and one formula per
 * element.
 *
 * The order of a step is clip, decay, update (cl/optim.cl does the first two for all optimisers).
 */
#ifndef CMI_NN_OPTIM_H
#define CMI_NN_OPTIM_H

#include "base/registry.h"
#include "ops/ops.h"

/* The first member of every optimiser's config. */
typedef struct cmi_optim_common {
    double learning_rate;
    double weight_decay;                         /* NAN: none */
    double clipnorm, global_clipnorm, clipvalue; /* NAN or 0: none, as in Keras */
    char *name;
} cmi_optim_common;

#define CMI_OPTIM_FIELDS(config, rate, decay)                                                      \
    {"learning_rate",                                                                              \
     CMI_FIELD_FLOAT,                                                                              \
     offsetof(config, common.learning_rate),                                                       \
     rate,                                                                                         \
     0,                                                                                            \
     1e30,                                                                                         \
     "step size",                                                                                  \
     NULL},                                                                                        \
        {"weight_decay",                                                                           \
         CMI_FIELD_FLOAT,                                                                          \
         offsetof(config, common.weight_decay),                                                    \
         decay,                                                                                    \
         0,                                                                                        \
         1e30,                                                                                     \
         "part of each weight taken away per step, times the learning rate",                       \
         NULL},                                                                                    \
        {"clipnorm",                                                                               \
         CMI_FIELD_FLOAT,                                                                          \
         offsetof(config, common.clipnorm),                                                        \
         "None",                                                                                   \
         0,                                                                                        \
         1e30,                                                                                     \
         "largest norm of each tensor's gradient",                                                 \
         NULL},                                                                                    \
        {"global_clipnorm",                                                                        \
         CMI_FIELD_FLOAT,                                                                          \
         offsetof(config, common.global_clipnorm),                                                 \
         "None",                                                                                   \
         0,                                                                                        \
         1e30,                                                                                     \
         "largest norm of the whole gradient",                                                     \
         NULL},                                                                                    \
        {"clipvalue",                                                                              \
         CMI_FIELD_FLOAT,                                                                          \
         offsetof(config, common.clipvalue),                                                       \
         "None",                                                                                   \
         0,                                                                                        \
         1e30,                                                                                     \
         "largest absolute value of a gradient element",                                           \
         NULL},                                                                                    \
    {                                                                                              \
        "name", CMI_FIELD_TEXT, offsetof(config, common.name), "None", 0, 0,                       \
            "name of the optimizer", NULL                                                          \
    }

typedef struct cmi_optim {
    cmi_entry entry;
    int (*slots)(const void *config);
    /* Statements over p, g, s0 ... and h0 ... h7, chosen by the config; static text. */
    const char *(*body)(const void *config);
    /* The scalars h of update number `step`, counted from 1, with learning rate `rate`. */
    void (*scalars)(const void *config, uint64_t step, double rate, float h[8]);
    /* Tensors that Keras counts as optimiser variables per parameter: for summary (slots unless
     * NULL). */
    int (*variables)(const void *config);
} cmi_optim;

extern const cmi_registry cmi_optim_registry;

/* CM_E_INVALID when more than one kind of clipping is asked for. */
cm_status cmi_optim_check(const cmi_optim *optim, const void *config);

#endif
