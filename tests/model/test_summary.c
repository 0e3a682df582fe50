/* test_summary.c - what summary() prints, to the byte.
 *
 * The models are those that made golden/data/text; what those files do not show (narrow
 * terminals, colours, layers that are not there yet) is compared with texts drawn by rich, the
 * package that draws for Keras, given the same cells. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/table.h"
#include "model/suites.h"
#include "support/cm_test.h"

/* ---- collecting what is printed ---- */

static char printed[65536];

static void collect(void *user, const char *text)
{
    size_t used = strlen(printed);

    ck_assert_ptr_eq(user, printed);
    ck_assert_uint_lt(used + strlen(text), sizeof printed);
    strcpy(printed + used, text);
}

static void fresh(void)
{
    printed[0] = '\0';
    cmi_mem_fail_at(0);
}

static void check_file(const char *name)
{
    char path[256], want[16384];

    snprintf(path, sizeof path, "golden/data/text/%s.txt", name);
    FILE *file = fopen(path, "rb");
    if (!file) { /* run from elsewhere than tests/ */
        snprintf(path, sizeof path, "tests/golden/data/text/%s.txt", name);
        file = fopen(path, "rb");
    }
    ck_assert_msg(file != NULL, "cannot read %s (run in tests/ or above it)", path);
    size_t bytes = fread(want, 1, sizeof want - 1, file);
    fclose(file);
    ck_assert_uint_gt(bytes, 0);
    want[bytes] = '\0';
    ck_assert_str_eq(printed, want);
}

/* ---- the golden models ---- */

typedef struct golden {
    const char *file;
    const char *layers[5];
    cmi_shape input; /* rank 0: as the layers say */
    cmi_summary_facts facts;
} golden;

static const char seed_first[] = "dense units=64 activation=relu input_shape=20";
static const char seed_last[] = "dense units=2 activation=softmax";

/* adam: iteration (8 bytes), learning rate, two slots for each parameter. */
#define ADAM(params) .optimizer_variables = 2 * (params) + 2, .optimizer_bytes = 8 * (params) + 12

static const golden goldens[] = {
    {"summary_seed_uncompiled", {seed_first, seed_last}, {0}, {.built = true, .columns = 80}},
    {"summary_seed_compiled", {seed_first, seed_last}, {0}, {.built = true, .columns = 80}},
    {"summary_seed_trained",
     {seed_first, seed_last},
     {0},
     {.built = true, .columns = 80, ADAM(1474)}},
    {"summary_seed_trained",
     {"input shape=20", "dense units=64 activation=relu", seed_last},
     {0},
     {.built = true, .columns = 80, ADAM(1474)}},
    {"summary_deferred_unbuilt",
     {"dense units=10 activation=relu", seed_last},
     {0},
     {.built = false, .columns = 80}},
    {"summary_deferred_built",
     {"dense units=10 activation=relu", seed_last},
     {1, {20}},
     {.built = true, .fixed_batch = 4, .columns = 80}},
    {"summary_large",
     {"dense units=5000 activation=relu input_shape=784", "dense units=1000", "dense units=10"},
     {0},
     {.built = true, .columns = 80, ADAM((int64_t)8936010)}},
};

static void print_model(const char *name, const char *const *layers, const cmi_shape *input,
                        const cmi_summary_facts *facts)
{
    cmi_sequential model;

    ck_assert_cm_ok(cmi_sequential_init(&model, name));
    for (; *layers; layers++)
        ck_assert_cm_ok(cmi_sequential_add(&model, *layers));
    if (input && input->rank) ck_assert_cm_ok(cmi_sequential_infer(&model, input));
    uint64_t allocations = cmi_mem_total();
    ck_assert_cm_ok(cmi_summary_print(&model, facts, collect, printed));
    ck_assert_uint_eq(cmi_mem_total(), allocations);
    cmi_sequential_free(&model);
}

START_TEST(golden_texts)
{
    const golden *g = &goldens[_i];

    print_model("sequential", g->layers, &g->input, &g->facts);
    check_file(g->file);
}
END_TEST

/* ---- cells without layers ---- */

typedef struct made_up {
    const char *name, *class_name, *shape, *params;
} made_up;

static void print_rows(const cmi_page *page, const made_up *rows, int count)
{
    static const char *const titles[] = {"Layer (type)", "Output Shape", "Param #"};
    cmi_table table;

    ck_assert_cm_ok(cmi_table_init(&table, page));
    cmi_table_header(&table, titles);
    for (int i = 0; i < count; i++) {
        cmi_styled cells[CMI_TABLE_COLUMNS] = {{0}};
        cmi_styled_add(&cells[0], CMI_STYLE_PLAIN, rows[i].name);
        cmi_styled_add(&cells[0], CMI_STYLE_PLAIN, " (");
        cmi_styled_add(&cells[0], CMI_STYLE_CLASS, rows[i].class_name);
        cmi_styled_add(&cells[0], CMI_STYLE_PLAIN, ")");
        cmi_styled_add(&cells[1], CMI_STYLE_PLAIN, rows[i].shape);
        cmi_styled_add(&cells[2], CMI_STYLE_NUMBER, rows[i].params);
        cmi_table_row(&table, cells);
    }
    cmi_table_end(&table);
}

/* The layers of golden/text/summary_cnn.txt; whole file but for its title and totals. */
START_TEST(wrapping_as_in_the_cnn)
{
    static const made_up rows[] = {
        {"batch_normalization", "BatchNormalization", "(None, 26, 26, 32)", "128"},
        {"max_pooling2d", "MaxPooling2D", "(None, 13, 13, 32)", "0"},
        {"global_average_pooling2d", "GlobalAveragePooling2D", "(None, 64)", "0"},
    };

    print_rows(&(cmi_page){80, false, collect, printed}, rows, CM_TEST_COUNT(rows));
    ck_assert_str_eq(
        printed, "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓\n"
                 "┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃\n"
                 "┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩\n"
                 "│ batch_normalization             │ (None, 26, 26, 32)     │           128 │\n"
                 "│ (BatchNormalization)            │                        │               │\n"
                 "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
                 "│ max_pooling2d (MaxPooling2D)    │ (None, 13, 13, 32)     │             0 │\n"
                 "├─────────────────────────────────┼────────────────────────┼───────────────┤\n"
                 "│ global_average_pooling2d        │ (None, 64)             │             0 │\n"
                 "│ (GlobalAveragePooling2D)        │                        │               │\n"
                 "└─────────────────────────────────┴────────────────────────┴───────────────┘\n");
}
END_TEST

/* 40 columns: header cells wrap and stand at the bottom, words are cut, the third column loses
 * its blanks. */
START_TEST(narrow_terminal)
{
    static const made_up rows[] = {
        {"dense", "Dense", "(None, 64)", "1,344"},
        {"batch_normalization_1_abcdef", "BatchNormalization", "(None, 11, 11, 1024)",
         "12,345,678"},
        {"averyveryverylongnamewithoutanyblankinitatall", "Dense", "(4, 2)", "0 (unbuilt)"},
    };

    print_rows(&(cmi_page){40, false, collect, printed}, rows, CM_TEST_COUNT(rows));
    ck_assert_str_eq(printed, "┏━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━┓\n"
                              "┃               ┃ Output   ┃ Param ┃\n"
                              "┃ Layer (type)  ┃ Shape    ┃     # ┃\n"
                              "┡━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━┩\n"
                              "│ dense (Dense) │ (None,   │ 1,344 │\n"
                              "│               │ 64)      │       │\n"
                              "├───────────────┼──────────┼───────┤\n"
                              "│ batch_normal… │ (None,   │ 12,3… │\n"
                              "│ (BatchNormal… │ 11, 11,  │       │\n"
                              "│               │ 1024)    │       │\n"
                              "├───────────────┼──────────┼───────┤\n"
                              "│ averyveryver… │ (4, 2)   │     0 │\n"
                              "│ (Dense)       │          │ (unb… │\n"
                              "└───────────────┴──────────┴───────┘\n");
}
END_TEST

/* ---- widths ---- */

static int width_of_first_line(void)
{
    int width = 0;

    for (const char *at = printed; *at && *at != '\n'; at++)
        width += ((unsigned char)*at & 0xC0) != 0x80;
    return width;
}

/* The table is never wider than the terminal less 4, nor than 88. */
START_TEST(widths)
{
    static const struct {
        int columns, width;
    } cases[] = {{20, 16}, {21, 17}, {40, 36}, {80, 76}, {91, 87}, {92, 88}, {93, 88}, {1000, 88}};

    for (int i = 0; i < CM_TEST_COUNT(cases); i++) {
        fresh();
        print_rows(&(cmi_page){cases[i].columns, false, collect, printed}, NULL, 0);
        ck_assert_int_eq(width_of_first_line(), cases[i].width);
    }
}
END_TEST

START_TEST(too_narrow_is_an_error)
{
    const char *layers[] = {seed_first, NULL};
    cmi_sequential model;

    ck_assert_cm_ok(cmi_sequential_init(&model, "m"));
    ck_assert_cm_ok(cmi_sequential_add(&model, layers[0]));
    for (int columns = -1; columns < 20; columns++) {
        cmi_summary_facts facts = {.built = true, .columns = columns};
        ck_assert_cm_status(cmi_summary_print(&model, &facts, collect, printed), CM_E_INVALID);
        ck_assert_message_has("20");
    }
    ck_assert_str_eq(printed, "");
    cmi_sequential_free(&model);
}
END_TEST

/* Every character of the terminal's width is used outside the table too. */
START_TEST(totals_and_titles_wrap)
{
    const cmi_page page = {24, false, collect, printed};
    cmi_styled text = {0};

    cmi_styled_add(&text, CMI_STYLE_BOLD, " Trainable params: ");
    cmi_styled_add(&text, CMI_STYLE_NUMBER, "1,474");
    cmi_styled_add(&text, CMI_STYLE_PLAIN, " (5.76 KB)");
    cmi_page_put(&page, &text);
    ck_assert_str_eq(printed, " Trainable params: 1,474\n(5.76 KB)\n");

    fresh();
    text = (cmi_styled){0};
    cmi_styled_add(&text, CMI_STYLE_BOLD, "Model: \"abcdefghijklmnopqrstuvwxyz0123\"");
    cmi_page_put(&page, &text);
    ck_assert_str_eq(printed, "Model: \n\"abcdefghijklmnopqrstuvw\nxyz0123\"\n");
}
END_TEST

/* ---- contents ---- */

static const char *line_with(const char *part)
{
    static char text[512];
    const char *at = strstr(printed, part);

    ck_assert_msg(at != NULL, "no \"%s\" in\n%s", part, printed);
    while (at > printed && at[-1] != '\n')
        at--;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\n"), at);
    return text;
}

START_TEST(frozen_layers_are_not_trainable)
{
    const char *layers[] = {"dense units=64 input_shape=20 trainable=false name=first",
                            "dropout rate=0.5", seed_last, NULL};
    const cmi_summary_facts facts = {.built = true, .columns = 80};

    print_model("mine", layers, NULL, &facts);
    ck_assert_str_eq(line_with("Model"), "Model: \"mine\"");
    ck_assert_str_eq(
        line_with("first"),
        "│ first (Dense)                   │ (None, 64)             │         1,344 │");
    ck_assert_str_eq(
        line_with("drop"),
        "│ dropout (Dropout)               │ (None, 64)             │             0 │");
    ck_assert_str_eq(line_with("Total"), " Total params: 1,474 (5.76 KB)");
    ck_assert_str_eq(line_with(" Trainable"), " Trainable params: 130 (520.00 B)");
    ck_assert_str_eq(line_with("Non-"), " Non-trainable params: 1,344 (5.25 KB)");
    ck_assert_ptr_null(strstr(printed, "Optimizer"));
}
END_TEST

/* Sizes change their unit at 1024, and digits are grouped whatever their number. */
START_TEST(sizes_and_groups)
{
    static const struct {
        int64_t count, bytes;
        const char *text;
    } cases[] = {
        {1, 1, " Optimizer params: 1 (1.00 B)"},
        {999, 1023, " Optimizer params: 999 (1023.00 B)"},
        {1000, 1024, " Optimizer params: 1,000 (1.00 KB)"},
        {100000, 1048575, " Optimizer params: 100,000 (1024.00 KB)"},
        {1000000, 1048576, " Optimizer params: 1,000,000 (1.00 MB)"},
        {12345678, (int64_t)3 << 29, " Optimizer params: 12,345,678 (1.50 GB)"},
        {1234567890, (int64_t)1 << 40, " Optimizer params: 1,234,567,890 (1.00 TB)"},
        {1, (int64_t)1 << 61, " Optimizer params: 1 (2048.00 PB)"},
    };
    const char *layers[] = {NULL};

    for (int i = 0; i < CM_TEST_COUNT(cases); i++) {
        const cmi_summary_facts facts = {.columns = 80,
                                         .optimizer_variables = cases[i].count,
                                         .optimizer_bytes = cases[i].bytes};
        fresh();
        print_model("m", layers, NULL, &facts);
        ck_assert_str_eq(line_with("Optimizer"), cases[i].text);
    }
}
END_TEST

/* A model without layers has a table without rows. */
START_TEST(no_layers)
{
    const char *layers[] = {NULL};
    const cmi_summary_facts facts = {.columns = 80};

    print_model("sequential", layers, NULL, &facts);
    ck_assert_str_eq(
        printed, "Model: \"sequential\"\n"
                 "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓\n"
                 "┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃\n"
                 "┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩\n"
                 "└─────────────────────────────────┴────────────────────────┴───────────────┘\n"
                 " Total params: 0 (0.00 B)\n"
                 " Trainable params: 0 (0.00 B)\n"
                 " Non-trainable params: 0 (0.00 B)\n");
}
END_TEST

/* ---- colour ---- */

START_TEST(colours)
{
    const char *layers[] = {seed_first, NULL};
    const cmi_summary_facts facts = {.built = true, .columns = 80, .color = true};
    const cmi_summary_facts fixed = {.built = true, .fixed_batch = 4, .columns = 80, .color = true};

    print_model("m", layers, NULL, &facts);
    ck_assert_str_eq(line_with("Model"), "\x1b[1mModel: \"m\"\x1b[0m");
    ck_assert_str_eq(
        line_with("┏"),
        "┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓");
    ck_assert_str_eq(line_with("┃"),
                     "┃\x1b[1m \x1b[0m\x1b[1mLayer (type)                   \x1b[0m\x1b[1m \x1b[0m"
                     "┃\x1b[1m \x1b[0m\x1b[1mOutput Shape          \x1b[0m\x1b[1m \x1b[0m"
                     "┃\x1b[1m \x1b[0m\x1b[1m      Param #\x1b[0m\x1b[1m \x1b[0m┃");
    ck_assert_str_eq(line_with("│"),
                     "│ dense (\x1b[38;5;33mDense\x1b[0m)                   "
                     "│ (\x1b[38;5;45mNone\x1b[0m, \x1b[38;5;34m64\x1b[0m)             "
                     "│         \x1b[38;5;34m1,344\x1b[0m │");
    ck_assert_str_eq(line_with("Total"),
                     "\x1b[1m Total params: \x1b[0m\x1b[38;5;34m1,344\x1b[0m (5.25 KB)");
    fresh();
    print_model("m", layers, NULL, &fixed);
    ck_assert_str_eq(line_with("│"),
                     "│ dense (\x1b[38;5;33mDense\x1b[0m)                   "
                     "│ (\x1b[38;5;34m4\x1b[0m, \x1b[38;5;34m64\x1b[0m)                "
                     "│         \x1b[38;5;34m1,344\x1b[0m │");
}
END_TEST

/* The ellipsis has the colour of what it replaces, and blank cells of a header are bold. */
START_TEST(colours_in_a_narrow_terminal)
{
    static const made_up row = {"batch_normalization", "BatchNormalization", "(64)", "12,345,678"};

    print_rows(&(cmi_page){40, true, collect, printed}, &row, 1);
    ck_assert_str_eq(line_with("┃"), "┃\x1b[1m               \x1b[0m"
                                     "┃\x1b[1m \x1b[0m\x1b[1mOutput  \x1b[0m\x1b[1m \x1b[0m"
                                     "┃\x1b[1m \x1b[0m\x1b[1mParam\x1b[0m\x1b[1m \x1b[0m┃");
    ck_assert_str_eq(line_with("batch"),
                     "│ batch_normal… │ (64)     │ \x1b[38;5;34m12,3…\x1b[0m │");
    ck_assert_str_eq(line_with("Batch"),
                     "│ (\x1b[38;5;33mBatchNormal…\x1b[0m │          │       │");
}
END_TEST

/* Names that are longer than a cell's buffer, and of characters of several bytes, are cut
 * between characters. */
START_TEST(long_names_are_cut_whole)
{
    char name[2000] = "";

    for (int i = 0; i < 600; i++)
        strcat(name, "ü");
    const made_up row = {name, "Dense", "(64)", "0"};
    print_rows(&(cmi_page){80, false, collect, printed}, &row, 1);
    ck_assert_str_eq(
        line_with("ü"),
        "│ üüüüüüüüüüüüüüüüüüüüüüüüüüüüüü… │ (64)                   │             0 │");
    cmi_styled cell = {0};
    cmi_styled_add(&cell, CMI_STYLE_PLAIN, name);
    ck_assert_uint_eq(cell.bytes, CMI_STYLED_BYTES - 2); /* one byte is left: half a character */
    cmi_styled_add(&cell, CMI_STYLE_PLAIN, "ü");
    ck_assert_uint_eq(cell.bytes, CMI_STYLED_BYTES - 2);
}
END_TEST

Suite *suite_summary(void)
{
    Suite *suite = suite_create("summary");
    TCase *tests = tcase_create("summary");
    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_loop_test(tests, golden_texts, 0, CM_TEST_COUNT(goldens));
    tcase_add_test(tests, frozen_layers_are_not_trainable);
    tcase_add_test(tests, sizes_and_groups);
    tcase_add_test(tests, no_layers);
    tcase_add_test(tests, too_narrow_is_an_error);
    tcase_add_test(tests, colours);
    suite_add_tcase(suite, tests);
    tests = tcase_create("table");
    tcase_add_checked_fixture(tests, fresh, NULL);
    tcase_add_test(tests, wrapping_as_in_the_cnn);
    tcase_add_test(tests, narrow_terminal);
    tcase_add_test(tests, widths);
    tcase_add_test(tests, totals_and_titles_wrap);
    tcase_add_test(tests, colours_in_a_narrow_terminal);
    tcase_add_test(tests, long_names_are_cut_whole);
    suite_add_tcase(suite, tests);
    return suite;
}
