/* test_registry.c - the registries: every name resolves, has a documented table of keys and a
 * usable default configuration; the short names of Keras; what an unknown name says. */
#include <string.h>
#include "nn/activation.h"
#include "nn/init.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/nn_tests.h"
#include "nn/optim.h"

static const cmi_registry *const registries[] = {&cmi_layer_registry, &cmi_activation_registry,
                                                 &cmi_loss_registry,  &cmi_metric_registry,
                                                 &cmi_optim_registry, &cmi_init_registry};
enum { REGISTRIES = sizeof registries / sizeof registries[0] };

START_TEST(entries)
{
    const cmi_registry *registry = registries[_i];

    ck_assert_uint_gt(registry->count, 0);
    for (size_t i = 0; i < registry->count; i++) {
        const cmi_entry *entry = registry->entries[i], *found = NULL;
        ck_assert_cm_ok(cmi_registry_find(registry, entry->name, &found));
        ck_assert_msg(found == entry, "%s is in the list twice", entry->name);
        ck_assert_msg(entry->doc && *entry->doc, "%s has no doc", entry->name);
        for (const cmi_field *field = entry->fields; field && field->key; field++)
            ck_assert_msg(field->help && *field->help, "%s: %s has no help", entry->name,
                          field->key);
    }
}
END_TEST

/* All that have no key that must be given parse by their bare name and print as that. */
START_TEST(defaults)
{
    const cmi_registry *registry = registries[_i];

    for (size_t i = 0; i < registry->count; i++) {
        const cmi_entry *entry = registry->entries[i], *found = NULL;
        void *config = NULL;
        char text[256];
        bool required = false;
        for (const cmi_field *field = entry->fields; field && field->key; field++)
            required = required || !field->fallback;
        if (required) continue;
        ck_assert_cm_ok(cmi_registry_parse(registry, entry->name, &found, &config));
        cmi_config_print(entry, config, text, sizeof text);
        ck_assert_str_eq(text, entry->name);
        cmi_config_free(entry, config);
    }
}
END_TEST

static void resolves(const cmi_registry *registry, const char *word, const char *name)
{
    const cmi_entry *entry = NULL;

    ck_assert_msg(!cmi_registry_find(registry, word, &entry), "%s: %s", word, cm_last_message());
    ck_assert_str_eq(entry->name, name);
}

START_TEST(aliases)
{
    resolves(&cmi_loss_registry, "mse", "mean_squared_error");
    resolves(&cmi_loss_registry, "MSE", "mean_squared_error");
    resolves(&cmi_loss_registry, "mae", "mean_absolute_error");
    resolves(&cmi_loss_registry, "bce", "binary_crossentropy");
    resolves(&cmi_loss_registry, "SparseCategoricalCrossentropy",
             "sparse_categorical_crossentropy");
    resolves(&cmi_loss_registry, "Huber", "huber");
    resolves(&cmi_activation_registry, "swish", "silu");
    resolves(&cmi_activation_registry, "hard_swish", "hard_silu");
    resolves(&cmi_layer_registry, "ReLU", "relu");
    resolves(&cmi_layer_registry, "Dense", "dense");
    resolves(&cmi_layer_registry, "InputLayer", "input");
    resolves(&cmi_optim_registry, "RMSprop", "rmsprop");
    resolves(&cmi_optim_registry, "AdamW", "adamw");
    resolves(&cmi_optim_registry, "SGD", "sgd");
    resolves(&cmi_init_registry, "uniform", "random_uniform");
    resolves(&cmi_init_registry, "normal", "random_normal");
    resolves(&cmi_init_registry, "GlorotUniform", "glorot_uniform");
    resolves(&cmi_init_registry, "zero", "zeros");
}
END_TEST

/* Class names, as a saved model writes them, lead back to the layer. */
START_TEST(class_names)
{
    for (size_t i = 0; i < cmi_layer_registry.count; i++) {
        const cmi_layer *layer = (const cmi_layer *)(const void *)cmi_layer_registry.entries[i];
        ck_assert_msg(layer->class_name && layer->specimens, "%s", layer->entry.name);
        resolves(&cmi_layer_registry, layer->class_name, layer->entry.name);
    }
}
END_TEST

START_TEST(unknown)
{
    const cmi_entry *entry = NULL;

    ck_assert_cm_status(cmi_registry_find(&cmi_optim_registry, "adma", &entry), CM_E_NOT_FOUND);
    ck_assert_message_has("optimizer");
    ck_assert_message_has("\"adam\"");
    ck_assert_message_has("rmsprop");
    ck_assert_cm_status(cmi_registry_find(&cmi_loss_registry, "kld", &entry), CM_E_NOT_FOUND);
}
END_TEST

Suite *registry_suite(void)
{
    Suite *suite = suite_create("registry");
    TCase *tcase = tcase_create("registry");

    tcase_add_loop_test(tcase, entries, 0, REGISTRIES);
    tcase_add_loop_test(tcase, defaults, 0, REGISTRIES);
    tcase_add_test(tcase, aliases);
    tcase_add_test(tcase, class_names);
    tcase_add_test(tcase, unknown);
    suite_add_tcase(suite, tcase);
    return suite;
}
