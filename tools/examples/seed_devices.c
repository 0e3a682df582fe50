/* seed_devices.c - choosing the devices by hand, and giving each of them enough to do.
 *
 * usage: seed_devices [DEVICES]    for example /GPU:0,/GPU:1 (two GPUs, counted as TensorFlow
 * counts them), gpu (all),
 *                                  'cpu*2' (two parts of the CPU), 0.0,1.0 (as clmirror-info lists
 *                                  them)
 *
 * Without DEVICES the default is taken, so that the program runs on every machine.  What is named
 * must be there: /GPU:1 on a machine with one GPU is an error, never another device instead. */
#include <clmirror/clmirror.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1024, FEATURES = 20, ROWS_PER_REPLICA = 32 };

static float x_train[ROWS * FEATURES];
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
        y_train[i] = x_train[FEATURES * i] > x_train[FEATURES * i + 1];

    /* The order of the list is the order of the replicas. */
    if (cm_mirrored_strategy_create(argc > 1 ? argv[1] : NULL, NULL, &strategy)) goto done;
    int replicas = cm_strategy_replicas(strategy);
    for (int i = 0; i < replicas; i++)
        printf("replica %d: %s\n", i, cm_strategy_device_name(strategy, i));

    if (cm_strategy_scope_begin(strategy)) goto done;
    if (cm_sequential_create(NULL, &model) ||
        cm_model_add(model, "dense units=64 activation=relu input_shape=%d", FEATURES) ||
        cm_model_add(model, "dense units=2 activation=softmax") ||
        cm_model_compile(model, &(cm_compile_options){.optimizer = "adam",
                                                      .loss = "sparse_categorical_crossentropy",
                                                      .metrics = "accuracy"}))
        goto done;
    if (cm_strategy_scope_end(strategy)) goto done;

    /* batch_size counts the samples of one step on all devices together.  To gain from more
     * devices let it grow with them: four replicas with a batch of 32 would get 8 rows each, too
     * little work between two exchanges. */
    cm_fit_options options = {.epochs = 3, .batch_size = ROWS_PER_REPLICA * replicas, .verbose = 1};
    if (cm_model_fit(model, &train_data, &options, NULL)) goto done;

    for (int i = 0; i < replicas; i++)
        printf("replica %d processed %lld rows\n", i, (long long)cm_model_replica_rows(model, i));
done:
    if (cm_last_status()) fprintf(stderr, "seed_devices: %s\n", cm_last_message());
    int failed = cm_last_status() != CM_OK;
    cm_model_destroy(model);
    cm_strategy_destroy(strategy);
    return failed;
}
