/* activation_pointwise.c - the activations that are a formula over single elements.
 *
 * Each stands here once, as OpenCL text: y over x, and dx over dy and x or y (cl/pointwise.cl).
 * Where the derivative can be told from y alone it is, because then a layer need not keep x and the
 * formula is fused into its matrix product.  Values at kinks are those of Keras on TensorFlow.
 *
 * Comparisons are turned so that not-a-number falls through to the arm that keeps it: a model that
 * diverges must not look healthy behind a relu.  Sigmoids and logarithms are written so that no
 * exponential overflows into infinity minus infinity, or zero times infinity.
 *
 * Constant tables, no thread. */
#include "nn/activation.h"

#define ZERO             "(real)(0.0f)"
#define SIGMOID          "(1.0f / (1.0f + exp(-(x))))"
#define SOFTPLUS         "(fmax(x, " ZERO ") + log1p(exp(-fabs(x))))"
#define ONE              "(real)(1.0f)"
#define HARD_SIGMOID     "((x <= -3.0f) ? " ZERO " : (x >= 3.0f) ? " ONE " : (x + 3.0f) / 6.0f)"
#define SELU_SCALE       "1.0507009873554805f"
#define SELU_SCALE_ALPHA "1.7580993408473766f"

/* READS is needs_x or needs_y, the one that the derivative reads. */
#define ACTIVATION(symbol, text, reads, map_text, gradient_text)                                   \
    extern const cmi_activation cmi_activation_##symbol;                                           \
    const cmi_activation cmi_activation_##symbol = {                                               \
        .entry = {#symbol, text, 0, NULL}, .formula = {map_text, gradient_text}, .reads = true}

extern const cmi_activation cmi_activation_linear;
const cmi_activation cmi_activation_linear = {.entry = {"linear", "x", 0, NULL},
                                              .formula = {"x", "dy"}};

ACTIVATION(relu, "max(x, 0)", needs_y, "(x <= 0.0f) ? " ZERO " : x", "(y <= 0.0f) ? " ZERO " : dy");

ACTIVATION(relu6, "min(max(x, 0), 6)", needs_y,
           "(x <= 0.0f) ? " ZERO " : (x >= 6.0f) ? (real)(6.0f) : x",
           "(y <= 0.0f) ? " ZERO " : (y >= 6.0f) ? " ZERO " : dy");

ACTIVATION(leaky_relu, "x > 0 ? x : 0.2 x", needs_y, "(x > 0.0f) ? x : 0.2f * x",
           "(y > 0.0f) ? dy : 0.2f * dy");

/* exp(x) is y + 1 left of 0. */
ACTIVATION(elu, "x > 0 ? x : exp(x) - 1", needs_y, "(x > 0.0f) ? x : expm1(x)",
           "(y < 0.0f) ? dy * (y + 1.0f) : dy");

ACTIVATION(selu, "1.05070098 (x > 0 ? x : 1.67326324 (exp(x) - 1))", needs_y,
           "(x > 0.0f) ? " SELU_SCALE " * x : " SELU_SCALE_ALPHA " * expm1(x)",
           "(y < 0.0f) ? dy * (y + " SELU_SCALE_ALPHA ") : dy * " SELU_SCALE);

/* Keras adds both halves, so that at 0 both derivatives count. */
ACTIVATION(celu, "max(x, 0) + exp(min(x, 0)) - 1", needs_y, "(x > 0.0f) ? x : expm1(x)",
           "(y > 0.0f) ? dy : (y < 0.0f) ? dy * (y + 1.0f) : 2.0f * dy");

/* 0.70710678 = 1/sqrt(2), 0.39894228 = 1/sqrt(2 pi): the density of the normal distribution. */
ACTIVATION(gelu, "x Phi(x), exact", needs_x, "0.5f * x * (1.0f + erf(x * 0.70710678118654752f))",
           "dy * (0.5f * (1.0f + erf(x * 0.70710678118654752f)) + "
           "x * 0.39894228040143268f * exp(-0.5f * x * x))");

ACTIVATION(silu, "x sigmoid(x)", needs_x, "x * " SIGMOID,
           "dy * " SIGMOID " * (1.0f + x * (1.0f - " SIGMOID "))");

/* With t = tanh(softplus(x)): t + x (1 - t^2) sigmoid(x). */
ACTIVATION(mish, "x tanh(softplus(x))", needs_x, "x * tanh(" SOFTPLUS ")",
           "dy * (tanh(" SOFTPLUS ") + x * " SIGMOID " * (1.0f - tanh(" SOFTPLUS
           ") * tanh(" SOFTPLUS ")))");

/* The derivative is sigmoid(x), and exp(-y) = 1 - sigmoid(x). */
ACTIVATION(softplus, "log(1 + exp(x))", needs_y, SOFTPLUS, "dy * -expm1(-(y))");

/* 1/(1 + |x|) = 1 - |y|. */
ACTIVATION(softsign, "x / (1 + |x|)", needs_y, "x / (1.0f + fabs(x))",
           "dy * (1.0f - fabs(y)) * (1.0f - fabs(y))");

ACTIVATION(tanh, "tanh(x)", needs_y, "tanh(x)", "dy * (1.0f - y * y)");

/* 1 at both ends, which y cannot tell from what lies behind them. */
ACTIVATION(hard_tanh, "min(max(x, -1), 1)", needs_x,
           "(x < -1.0f) ? (real)(-1.0f) : (x > 1.0f) ? " ONE " : x",
           "(fabs(x) > 1.0f) ? " ZERO " : dy");

ACTIVATION(sigmoid, "1 / (1 + exp(-x))", needs_y, SIGMOID, "dy * y * (1.0f - y)");

ACTIVATION(hard_sigmoid, "min(max(x + 3, 0), 6) / 6", needs_y, HARD_SIGMOID,
           "(y <= 0.0f) ? " ZERO " : (y >= 1.0f) ? " ZERO " : dy / 6.0f");

ACTIVATION(hard_silu, "x hard_sigmoid(x)", needs_x, "x * " HARD_SIGMOID,
           "(x <= -3.0f) ? " ZERO " : (x >= 3.0f) ? dy : dy * (x + 1.5f) / 3.0f");

ACTIVATION(exponential, "exp(x)", needs_y, "exp(x)", "dy * y");

/* The derivative is sigmoid(-x) = 1 - exp(y). */
ACTIVATION(log_sigmoid, "-softplus(-x)", needs_y, "fmin(x, " ZERO ") - log1p(exp(-fabs(x)))",
           "dy * -expm1(y)");
