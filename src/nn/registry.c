/* registry.c - the six registries of this folder, made from registry.def, and the short names.
 *
 * The list is included once to declare the descriptors and once per kind to tabulate them; each
 * time the macros of the kind in hand are defined and all others are empty.  Aliases are the words
 * that Keras accepts beside a function's own name; class names need none (base/registry.c folds
 * them). */
#include "nn/activation.h"
#include "nn/init.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optim.h"

#define CM_LAYER(name)               extern const cmi_layer cmi_layer_##name;
#define CM_ACTIVATION_IN(file, name) extern const cmi_activation cmi_activation_##name;
#define CM_LOSS(name)                extern const cmi_loss cmi_loss_##name;
#define CM_METRIC_IN(file, name)     extern const cmi_metric cmi_metric_##name;
#define CM_OPTIMIZER(name)           extern const cmi_optim cmi_optim_##name;
#define CM_OPTIMIZER_IN(file, name)  CM_OPTIMIZER(name)
#define CM_INIT_IN(file, name)       extern const cmi_init cmi_init_##name;
#include "nn/registry.def"

#undef CM_LAYER
#undef CM_ACTIVATION_IN
#undef CM_LOSS
#undef CM_METRIC_IN
#undef CM_OPTIMIZER
#undef CM_INIT_IN
#define CM_LAYER(name)
#define CM_ACTIVATION_IN(file, name)
#define CM_LOSS(name)
#define CM_METRIC_IN(file, name)
#define CM_OPTIMIZER(name)
#define CM_INIT_IN(file, name)

#undef CM_LAYER
#define CM_LAYER(name) &cmi_layer_##name.entry,
static const cmi_entry *const layers[] = {
#include "nn/registry.def"
};
#undef CM_LAYER
#define CM_LAYER(name)

#undef CM_ACTIVATION_IN
#define CM_ACTIVATION_IN(file, name) &cmi_activation_##name.entry,
static const cmi_entry *const activations[] = {
#include "nn/registry.def"
};
#undef CM_ACTIVATION_IN
#define CM_ACTIVATION_IN(file, name)

#undef CM_LOSS
#define CM_LOSS(name) &cmi_loss_##name.entry,
static const cmi_entry *const losses[] = {
#include "nn/registry.def"
};
#undef CM_LOSS
#define CM_LOSS(name)

#undef CM_METRIC_IN
#define CM_METRIC_IN(file, name) &cmi_metric_##name.entry,
static const cmi_entry *const metrics[] = {
#include "nn/registry.def"
};
#undef CM_METRIC_IN
#define CM_METRIC_IN(file, name)

#undef CM_OPTIMIZER
#define CM_OPTIMIZER(name) &cmi_optim_##name.entry,
static const cmi_entry *const optims[] = {
#include "nn/registry.def"
};
#undef CM_OPTIMIZER
#define CM_OPTIMIZER(name)

#undef CM_INIT_IN
#define CM_INIT_IN(file, name) &cmi_init_##name.entry,
static const cmi_entry *const inits[] = {
#include "nn/registry.def"
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const cmi_alias layer_aliases[] = {{"input_layer", "input"}, {NULL, NULL}};

static const cmi_alias activation_aliases[] = {
    {"swish", "silu"}, {"hard_swish", "hard_silu"}, {NULL, NULL}};

static const cmi_alias loss_aliases[] = {{"mse", "mean_squared_error"},
                                         {"mae", "mean_absolute_error"},
                                         {"bce", "binary_crossentropy"},
                                         {NULL, NULL}};

static const cmi_alias init_aliases[] = {{"uniform", "random_uniform"},
                                         {"normal", "random_normal"},
                                         {"zero", "zeros"},
                                         {"one", "ones"},
                                         {NULL, NULL}};

const cmi_registry cmi_layer_registry = {"layer", layers, COUNT(layers), layer_aliases};
const cmi_registry cmi_activation_registry = {"activation", activations, COUNT(activations),
                                              activation_aliases};
const cmi_registry cmi_loss_registry = {"loss", losses, COUNT(losses), loss_aliases};
const cmi_registry cmi_metric_registry = {"metric", metrics, COUNT(metrics), NULL};
const cmi_registry cmi_optim_registry = {"optimizer", optims, COUNT(optims), NULL};
const cmi_registry cmi_init_registry = {"initializer", inits, COUNT(inits), init_aliases};
