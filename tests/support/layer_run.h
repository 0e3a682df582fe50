/* layer_run.h - runs one layer forward and backward over host arrays, for gradient checks and
 * golden values.
 *
 * Backward gets not-a-number for an x or y that the layer says it does not read, so a wrong needs_x
 * or needs_y does not pass.  Main thread. */
#ifndef LAYER_RUN_H
#define LAYER_RUN_H

#include "nn/layer.h"
#include "support/device_pick.h"

typedef struct layer_run {
    const cmi_layer *layer;
    void *config;
    cmi_shape in;
    cmi_layer_spec spec;
    size_t rows, in_count, out_count; /* the counts are of one row */
    size_t param_count[CMI_MAX_PARAMS];
    bool training, linear, skip_dx, skip_grads;
    float grad_beta;
    cmi_draw draw;
    /* Host arrays of the caller.  dy NULL: forward only.  grads are read when grad_beta is not
     * 0. */
    const float *x, *dy;
    const float *params[CMI_MAX_PARAMS];
    float *y, *dx, *grads[CMI_MAX_PARAMS];
} layer_run;

/* Parses and infers; `in` without the batch axis.  Close accepts what a failed open left. */
cm_status layer_run_open(layer_run *run, const char *spec, const cmi_shape *in, size_t rows);
void layer_run_close(layer_run *run);
/* Runs and checks all guard bands; clears the arrays of `p` before. */
cm_status layer_run_go(layer_run *run, pick *p);
/* "4,3" to a shape. */
cmi_shape shape_of_text(const char *text);

#endif
