/* adam.c - one update in doubles, with Keras' place of epsilon.  See oracle.h. */
#include <math.h>
#include "oracle/oracle.h"

void oracle_adam_run(const oracle_adam *a, size_t n, const float *g, float *p, float *m, float *v)
{
    double t = (double)a->step,
           alpha = a->rate * sqrt(1 - pow(a->beta_2, t)) / (1 - pow(a->beta_1, t));

    for (size_t i = 0; i < n; i++) {
        double gradient = (double)g[i], weight = (double)p[i] * (1 - a->decay);
        double mean = (double)m[i] + (gradient - (double)m[i]) * (1 - a->beta_1);
        double square = (double)v[i] + (gradient * gradient - (double)v[i]) * (1 - a->beta_2);
        m[i] = (float)mean;
        v[i] = (float)square;
        p[i] = (float)(weight - mean * alpha / (sqrt(square) + a->epsilon));
    }
}
