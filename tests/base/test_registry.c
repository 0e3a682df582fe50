/* test_registry.c - names, aliases, class names, and what is said about a word that is none of
 * them. */
#include <string.h>
#include "base/suites.h"
#include "base/mem.h"
#include "base/registry.h"
#include "support/cm_test.h"

typedef struct options {
    int64_t units;
    char *activation;
} options;

static const cmi_field dense_fields[] = {
    {"units", CMI_FIELD_INT, offsetof(options, units), NULL, 1, 1e9, "outputs", NULL},
    {"activation", CMI_FIELD_SPEC, offsetof(options, activation), "None", 0, 0, "activation", NULL},
    {0},
};
static const cmi_entry dense = {"dense", "a layer", sizeof(options), dense_fields};
static const cmi_entry pool = {"max_pooling2d", "a layer", 0, NULL};
static const cmi_entry loss = {"sparse_categorical_crossentropy", "a loss", 0, NULL};
static const cmi_entry squared = {"mean_squared_error", "a loss", 0, NULL};
static const cmi_entry prelu = {"p_re_lu", "a layer", 0, NULL};
static const cmi_entry relu = {"relu", "an activation", 0, NULL};
static const cmi_entry *const entries[] = {&dense, &pool, &loss, &squared, &prelu, &relu};
static const cmi_alias aliases[] = {{"mse", "mean_squared_error"}, {"FC", "dense"}, {NULL, NULL}};
static const cmi_registry things = {"thing", entries, 6, aliases};

START_TEST(all_spellings_are_found)
{
    const struct {
        const char *word;
        const cmi_entry *entry;
    } good[] = {{"dense", &dense},
                {"Dense", &dense},
                {"FC", &dense},
                {"MaxPooling2D", &pool},
                {"SparseCategoricalCrossentropy", &loss},
                {"mse", &squared},
                {"MSE", &squared},
                {"MeanSquaredError", &squared},
                {"PReLU", &prelu},
                {"ReLU", &relu},
                {"p_re_lu", &prelu}};
    for (int i = 0; i < CM_TEST_COUNT(good); i++) {
        const cmi_entry *entry = NULL;
        ck_assert_cm_ok(cmi_registry_find(&things, good[i].word, &entry));
        ck_assert_str_eq(entry->name, good[i].entry->name);
    }
}
END_TEST

START_TEST(unknown_words_are_helped)
{
    const cmi_entry *entry = &dense;
    ck_assert_cm_status(cmi_registry_find(&things, "dens", &entry), CM_E_NOT_FOUND);
    ck_assert_ptr_null(entry);
    ck_assert_str_eq(
        cm_last_message(),
        "unknown thing \"dens\"; did you mean \"dense\"? valid names: dense, max_pooling2d, "
        "sparse_categorical_crossentropy, mean_squared_error, p_re_lu, relu");
    ck_assert_cm_status(cmi_registry_find(&things, "max_pooling_2d", &entry), CM_E_NOT_FOUND);
    ck_assert_message_has("did you mean \"max_pooling2d\"?");
    ck_assert_cm_status(cmi_registry_find(&things, "transformer", &entry), CM_E_NOT_FOUND);
    ck_assert_ptr_null(strstr(cm_last_message(), "did you mean"));
    ck_assert_cm_status(cmi_registry_find(&things, "", &entry), CM_E_NOT_FOUND);
}
END_TEST

START_TEST(nearest_are_sorted_and_at_most_three)
{
    const char *const words[] = {"units", "unit", "knits", "unity", "unite", "bias"};
    char text[64];
    cmi_nearest("unitz", words, 6, text, sizeof text);
    ck_assert_str_eq(text, "\"units\", \"unit\", \"unity\"");
    cmi_nearest("UNIT", words, 6, text, sizeof text);
    ck_assert_int_eq(strncmp(text, "\"unit\", ", 8), 0);
    cmi_nearest("kernel", words, 6, text, sizeof text);
    ck_assert_str_eq(text, "");
    cmi_nearest("xy", words, 6, text, sizeof text); /* two letters of two are not near */
    ck_assert_str_eq(text, "");
    cmi_nearest("unitz", words, 6, text, 10);
    ck_assert_str_eq(text, "\"units\", ");
    const char *const short_words[] = {"x", "xab"}; /* two letters of one or three are too many */
    cmi_nearest("x", &short_words[1], 1, text, sizeof text);
    ck_assert_str_eq(text, "");
    cmi_nearest("xab", short_words, 1, text, sizeof text);
    ck_assert_str_eq(text, "");
    /* A third of the letters of a long word: 4 of 14, but not 5. */
    const char *const long_words[] = {"learning_rates"};
    cmi_nearest("lerning_rate", long_words, 1, text, sizeof text);
    ck_assert_str_eq(text, "\"learning_rates\"");
    cmi_nearest("learningabcdxy", long_words, 1, text, sizeof text);
    ck_assert_str_eq(text, "");
    char longest[200];
    memset(longest, 'u', sizeof longest);
    longest[199] = '\0';
    cmi_nearest(longest, words, 6, text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(whole_specs_are_parsed)
{
    const cmi_entry *entry;
    void *config;
    ck_assert_cm_ok(
        cmi_registry_parse(&things, "Dense(units=3, activation=relu)", &entry, &config));
    ck_assert_ptr_eq(entry, &dense);
    ck_assert_int_eq(((options *)config)->units, 3);
    ck_assert_str_eq(((options *)config)->activation, "relu");
    cmi_config_free(entry, config);
    ck_assert_cm_ok(cmi_registry_parse(&things, "MSE", &entry, &config));
    ck_assert_ptr_eq(entry, &squared);
    ck_assert_ptr_null(config);
    ck_assert_cm_status(cmi_registry_parse(&things, "dense", &entry, &config), CM_E_INVALID);
    ck_assert_ptr_null(entry);
    ck_assert_ptr_null(config);
    ck_assert_cm_status(cmi_registry_parse(&things, "  ", &entry, &config), CM_E_INVALID);
    ck_assert_message_has("thing: the text is empty");
    ck_assert_cm_status(cmi_registry_parse(&things, "danse units=3", &entry, &config),
                        CM_E_NOT_FOUND);
}
END_TEST

START_TEST(parsing_fails_cleanly_without_memory)
{
    uint64_t live = cmi_mem_live(), k;
    for (k = 1; k < 100; k++) {
        const cmi_entry *entry;
        void *config;
        cmi_mem_fail_at(k);
        cm_status status =
            cmi_registry_parse(&things, "dense units=3 activation=l2(l2=0.1)", &entry, &config);
        cmi_mem_fail_at(0);
        if (!status) {
            cmi_config_free(entry, config);
            break;
        }
        ck_assert_cm_status(status, CM_E_MEMORY);
        ck_assert_uint_eq(cmi_mem_live(), live);
    }
    ck_assert_uint_eq(cmi_mem_live(), live);
    ck_assert_uint_eq(k, 6); /* struct, two pairs, nested text and its pair */
}
END_TEST

Suite *suite_registry(void)
{
    Suite *suite = suite_create("registry");
    TCase *tests = tcase_create("registry");
    tcase_add_test(tests, all_spellings_are_found);
    tcase_add_test(tests, unknown_words_are_helped);
    tcase_add_test(tests, nearest_are_sorted_and_at_most_three);
    tcase_add_test(tests, whole_specs_are_parsed);
    tcase_add_test(tests, parsing_fails_cleanly_without_memory);
    suite_add_tcase(suite, tests);
    return suite;
}
