/* seed_basic.c - the smallest program with a mirrored strategy.
 *
 * A mirrored strategy trains one model on several devices at the same time: every device has a
 * copy of the model (a replica), works on its share of each batch, and after every step all copies
 * are equal again.  That is its whole purpose: more devices, less time, the same result.
 *
 * usage: seed_basic [DEVICES]     without DEVICES: all GPUs, else all accelerators, else the CPU */
#include <clmirror/clmirror.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 256, FEATURES = 20, CLASSES = 2 };

static float x_train[ROWS * FEATURES], predictions[ROWS * CLASSES];
static int32_t y_train[ROWS];

int main(int argc, char **argv)
{
    cm_strategy *strategy = NULL;
    cm_model *model = NULL;
    cm_data train_data = {.x = CM_FLOAT32(x_train, ROWS, FEATURES), .y = CM_INT32(y_train, ROWS)};

    srand(1);
    for (int i = 0; i < ROWS * FEATURES; i++)
        x_train[i] = (float)rand() / (float)RAND_MAX;
    for (int i = 0; i < ROWS; i++)
        y_train[i] = x_train[FEATURES * i] > 0.5f;

    /* First the strategy, then the model: a model belongs to the strategy whose scope it is made
     * in. */
    if (cm_mirrored_strategy_create(argc > 1 ? argv[1] : NULL, NULL, &strategy)) goto done;

    /* Creating and compiling must both stand inside the scope.  A model that was created before
     * cm_strategy_scope_begin is refused by cm_model_compile, with a message that says which line
     * to move. */
    if (cm_strategy_scope_begin(strategy)) goto done;
    if (cm_sequential_create(NULL, &model) ||
        cm_model_add(model, "dense units=10 activation=relu") ||
        cm_model_add(model, "dense units=%d activation=softmax", CLASSES) ||
        cm_model_compile(model, &(cm_compile_options){.optimizer = "adam",
                                                      .loss = "sparse_categorical_crossentropy",
                                                      .metrics = "accuracy"}))
        goto done;
    if (cm_strategy_scope_end(strategy)) goto done;

    /* No layer says how many inputs there are, so the weights are made here, when fit sees the
     * data. */
    if (cm_model_fit(model, &train_data, &(cm_fit_options){.epochs = 5, .verbose = 1}, NULL))
        goto done;

    /* However many replicas there are, predict gives one row of output for every row of input, in
     * their order. */
    if (cm_model_predict(model, &train_data, NULL, predictions, ROWS * CLASSES)) goto done;
    printf("%d rows in, %d x %d numbers out, on %d replicas\n", ROWS, ROWS, CLASSES,
           cm_strategy_replicas(strategy));
done:
    if (cm_last_status()) fprintf(stderr, "seed_basic: %s\n", cm_last_message());
    int failed = cm_last_status() != CM_OK;
    cm_model_destroy(model);
    cm_strategy_destroy(strategy);
    return failed;
}
