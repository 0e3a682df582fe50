/* clmirror.h - train a Keras-like model on all OpenCL devices of a machine, in step.
 *
 * A complete program (tools/examples/seed_sample.c is a longer one):
 *
 *     #include <clmirror/clmirror.h>
 *     #include <stdio.h>
 *
 *     static float x[1000 * 20];
 *     static int32_t y[1000];
 *
 *     int main(void)
 *     {
 *         cm_strategy *strategy = NULL;
 *         cm_model *model = NULL;
 *         cm_data data = { .x = CM_FLOAT32(x, 1000, 20), .y = CM_INT32(y, 1000) };
 *         cm_logs logs = { 0 };
 *         for (int i = 0; i < 20000; i++) x[i] = (float)(i * 7919 % 1000) / 1000;
 *         for (int i = 0; i < 1000; i++) y[i] = x[20 * i] > 0.5f;
 *         if (cm_mirrored_strategy_create(NULL, NULL, &strategy) || cm_strategy_scope_begin(strategy) ||
 *             cm_sequential_create(NULL, &model) ||
 *             cm_model_add(model, "dense units=64 activation=relu input_shape=20; dense units=2 activation=softmax") ||
 *             cm_model_compile(model, &(cm_compile_options){ .optimizer = "adam",
 *                              .loss = "sparse_categorical_crossentropy", .metrics = "accuracy" }) ||
 *             cm_strategy_scope_end(strategy) ||
 *             cm_model_fit(model, &data, &(cm_fit_options){ .epochs = 3, .verbose = 1 }, NULL) ||
 *             cm_model_evaluate(model, &data, NULL, &logs))
 *             fprintf(stderr, "%s\n", cm_last_message());
 *         printf("accuracy %.4f on %d devices\n", cm_logs_get(&logs, "accuracy"), cm_strategy_replicas(strategy));
 *         cm_model_destroy(model);
 *         cm_strategy_destroy(strategy);
 *         return cm_last_status() != CM_OK;
 *     }
 *
 * Headers: status.h errors; device.h which devices there are; strategy.h strategy and scope;
 * dataset.h arrays and files; model.h build, train, use; layers.h what can be named in texts;
 * log.h, knobs.h, version.h.
 *
 * Rules.  Errors: what can fail returns cm_status, 0 is good, the message is in cm_last_message().
 * Ownership: who creates destroys; arguments are borrowed for the call; destroy accepts NULL.
 * Threads: one call at a time per strategy.  Names: cm_noun_verb; texts use Keras' names. */
#ifndef CLMIRROR_CLMIRROR_H
#define CLMIRROR_CLMIRROR_H

#include <clmirror/version.h>
#include <clmirror/status.h>
#include <clmirror/log.h>
#include <clmirror/knobs.h>
#include <clmirror/device.h>
#include <clmirror/strategy.h>
#include <clmirror/dataset.h>
#include <clmirror/layers.h>
#include <clmirror/model.h>

#endif
