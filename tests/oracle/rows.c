/* rows.c - what works on rows: softmax, dropout, cross-entropy.  See oracle.h. */
#include <math.h>
#include "base/rng.h"
#include "oracle/oracle.h"

/* log of the sum of exp over z [n]. */
static double log_sum_exp(const float *z, size_t n)
{
    double top = -(double)INFINITY, sum = 0;

    for (size_t c = 0; c < n; c++)
        if ((double)z[c] > top) top = (double)z[c];
    for (size_t c = 0; c < n; c++)
        sum += exp((double)z[c] - top);
    return top + log(sum);
}

void oracle_softmax(bool logarithm, size_t rows, size_t columns, const float *x, float *y)
{
    for (size_t r = 0; r < rows; r++) {
        double lse = log_sum_exp(x + r * columns, columns);
        for (size_t c = 0; c < columns; c++) {
            double value = (double)x[r * columns + c] - lse;
            y[r * columns + c] = (float)(logarithm ? value : exp(value));
        }
    }
}

void oracle_softmax_gradient(bool logarithm, size_t rows, size_t columns, const float *y,
                             const float *dy, float *dx)
{
    for (size_t r = 0; r < rows; r++) {
        const float *out = y + r * columns, *up = dy + r * columns;
        double sum = 0;
        for (size_t c = 0; c < columns; c++)
            sum += logarithm ? (double)up[c] : (double)up[c] * (double)out[c];
        for (size_t c = 0; c < columns; c++)
            dx[r * columns + c] = (float)(logarithm ? (double)up[c] - exp((double)out[c]) * sum
                                                    : (double)out[c] * ((double)up[c] - sum));
    }
}

void oracle_dropout_run(const oracle_dropout *d, const float *x, float *y)
{
    const uint32_t key[2] = {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)};

    for (size_t r = 0; r < d->rows; r++) {
        for (size_t c = 0; c < d->columns; c++) {
            uint32_t counter[4] = {(uint32_t)(c / 4), d->first_row + (uint32_t)r, d->step,
                                   d->layer},
                     word[4];
            cmi_philox(counter, key, word);
            float u = (float)(word[c % 4] >> 8) * 0x1p-24f;
            double scale = d->rate < 1 ? 1 / (1 - (double)d->rate) : 0;
            y[r * d->columns + c] =
                u >= d->rate ? (float)((double)x[r * d->columns + c] * scale) : 0.0f;
        }
    }
}

/* Target of class c of item i. */
static double target_of(const oracle_loss *l, size_t i, size_t c)
{
    if (l->class_label) return (size_t)l->class_label[i] == c;
    return (double)l->target[i * l->classes + c] * (1 - (double)l->smoothing) +
           (double)l->smoothing / (double)l->classes;
}

/* Cross-entropy -sum t log q in three cases: q = softmax(z); class labels: q = clip(p) / sum of
 * clip(p); target vectors: q = clip(p / sum of p).  The slope of the clip is 1 inside, ends
 * included, and 0 outside. */
void oracle_categorical(const oracle_loss *l)
{
    const double low = (double)1e-7f, high = (double)(1.0f - 1e-7f);

    for (size_t i = 0; i < l->items; i++) {
        const float *p = l->pred + i * l->classes;
        double weight = l->weight ? (double)l->weight[i] : 1, value = 0, sum = 0, targets = 0,
               along = 0;
        double lse = log_sum_exp(p, l->classes);
        for (size_t c = 0; c < l->classes; c++) {
            targets += target_of(l, i, c);
            sum += l->class_label ? fmin(fmax((double)p[c], low), high) : (double)p[c];
        }
        for (size_t c = 0; c < l->classes; c++) {
            double t = target_of(l, i, c), q = (double)p[c] / sum, cut = fmin(fmax(q, low), high);
            if (l->class_label) cut = fmin(fmax((double)p[c], low), high) / sum;
            value -= t > 0 || !l->class_label ? t * (l->logits ? (double)p[c] - lse : log(cut)) : 0;
            if (q >= low && q <= high) along += t;
        }
        for (size_t c = 0; c < l->classes; c++) {
            double t = target_of(l, i, c), q = (double)p[c] / sum, d;
            if (l->logits)
                d = exp((double)p[c] - lse) * targets - t;
            else if (l->class_label)
                d = (double)p[c] >= low && (double)p[c] <= high ? 1 / sum - t / (double)p[c] : 0;
            else
                d = ((q >= low && q <= high ? -t / q : 0) + along) / sum;
            l->gradient[i * l->classes + c] = (float)((double)l->scale * weight * d);
        }
        l->value[i] = (float)(weight * value);
    }
}

void oracle_squared_error(const oracle_loss *l)
{
    for (size_t i = 0; i < l->items; i++) {
        double weight = l->weight ? (double)l->weight[i] : 1, sum = 0;
        for (size_t c = 0; c < l->classes; c++) {
            double d = (double)l->pred[i * l->classes + c] - (double)l->target[i * l->classes + c];
            sum += d * d;
            l->gradient[i * l->classes + c] =
                (float)((double)l->scale * weight * 2 * d / (double)l->classes);
        }
        l->value[i] = (float)(weight * sum / (double)l->classes);
    }
}
