/* seed_sample.c - the lesson's sample: a small network on random numbers, on all devices.
 *
 * usage: seed_sample [DEVICES]      without DEVICES: the default selection */
#include <clmirror/clmirror.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000, FEATURES = 20 };

static float x_train[ROWS * FEATURES];
static int32_t y_train[ROWS];

int main(int argc, char **argv)
{
    cm_strategy *strategy = NULL;
    cm_model *model = NULL;
    cm_history *history = NULL;
    cm_data data = {.x = CM_FLOAT32(x_train, ROWS, FEATURES), .y = CM_INT32(y_train, ROWS)};

    /* Dummy data, the same in every run. */
    srand(1);
    for (int i = 0; i < ROWS * FEATURES; i++)
        x_train[i] = (float)rand() / (float)RAND_MAX;
    for (int i = 0; i < ROWS; i++)
        y_train[i] = rand() / 7 % 2;

    if (cm_mirrored_strategy_create(argc > 1 ? argv[1] : NULL, NULL, &strategy)) goto done;
    printf("Number of devices: %d\n", cm_strategy_replicas(strategy));
    if (cm_strategy_scope_begin(strategy)) goto done;
    if (cm_sequential_create(NULL, &model) ||
        cm_model_add(model, "dense units=64 activation=relu input_shape=%d", FEATURES) ||
        cm_model_add(model, "dense units=2 activation=softmax") ||
        cm_model_compile(model, &(cm_compile_options){.optimizer = "adam",
                                                      .loss = "sparse_categorical_crossentropy",
                                                      .metrics = "accuracy"}))
        goto done;
    if (cm_strategy_scope_end(strategy)) goto done;

    if (cm_model_fit(model, &data, &(cm_fit_options){.epochs = 3, .batch_size = 32, .verbose = 1},
                     &history))
        goto done;
    printf("Final training accuracy: %.4f\n", cm_history_last(history, "accuracy"));
done:
    if (cm_last_status()) fprintf(stderr, "seed_sample: %s\n", cm_last_message());
    int failed = cm_last_status() != CM_OK;
    cm_history_destroy(history);
    cm_model_destroy(model);
    cm_strategy_destroy(strategy);
    return failed;
}
