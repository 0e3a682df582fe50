/* summary.c - what summary() says about a model: a row per layer, then the totals.
 *
 * Content only; table.c knows how it is wrapped and drawn.  The text is that of Keras 3 to the
 * character: "Total" contains the variables of the optimiser, layers that are not trainable
 * count as non-trainable, and a layer without an input shape has no parameters yet.
 *
 * Called by the thread of cm_model_summary; allocates nothing. */
#include <inttypes.h>
#include <string.h>
#include "base/config.h"
#include "model/table.h"

enum { NUMBER_BYTES = 48, PARAM_BYTES = 4 };

/* 1234567 as "1,234,567"; count >= 0. */
static void group_digits(int64_t count, char text[NUMBER_BYTES])
{
    char digits[NUMBER_BYTES];
    int length = cmi_format(digits, sizeof digits, "%" PRId64, count);
    char *at = text;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
}

static void size_text(int64_t bytes, char text[NUMBER_BYTES])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    double size = (double)bytes;
    int unit = 0;

    for (; size >= 1024 && unit < 5; unit++)
        size /= 1024;
    (void)cmi_format(text, NUMBER_BYTES, "%.2f %s", size, units[unit]);
}

static int64_t node_params(const cmi_node *node)
{
    int64_t total = 0, count = 0;

    for (int i = 0; i < node->spec.params; i++) {
        (void)cmi_shape_count(&node->spec.param[i].shape, &count);
        total += count;
    }
    return total;
}

/* "(None, 26, 26, 8)"; Keras joins the sizes, so a batch of single numbers is "(None)". */
static void add_shape(cmi_styled *cell, const cmi_shape *shape, int64_t batch)
{
    char text[NUMBER_BYTES];

    cmi_styled_add(cell, CMI_STYLE_PLAIN, "(");
    (void)cmi_format(text, sizeof text, "%" PRId64, batch);
    cmi_styled_add(cell, batch > 0 ? CMI_STYLE_NUMBER : CMI_STYLE_NONE, batch > 0 ? text : "None");
    for (int i = 0; i < shape->rank; i++) {
        cmi_styled_add(cell, CMI_STYLE_PLAIN, ", ");
        (void)cmi_format(text, sizeof text, "%" PRId64, shape->dim[i]);
        cmi_styled_add(cell, CMI_STYLE_NUMBER, text);
    }
    cmi_styled_add(cell, CMI_STYLE_PLAIN, ")");
}

static void print_node(cmi_table *table, const cmi_node *node, const cmi_summary_facts *facts)
{
    cmi_styled cells[CMI_TABLE_COLUMNS] = {{0}};
    char text[NUMBER_BYTES];

    cmi_styled_add(&cells[0], CMI_STYLE_PLAIN, node->name);
    cmi_styled_add(&cells[0], CMI_STYLE_PLAIN, " (");
    cmi_styled_add(&cells[0], CMI_STYLE_CLASS, node->layer->class_name);
    cmi_styled_add(&cells[0], CMI_STYLE_PLAIN, ")");
    if (facts->built) {
        add_shape(&cells[1], &node->out, facts->fixed_batch);
        group_digits(node_params(node), text);
        cmi_styled_add(&cells[2], CMI_STYLE_NUMBER, text);
    } else {
        cmi_styled_add(&cells[1], CMI_STYLE_PLAIN, "?");
        cmi_styled_add(&cells[2], CMI_STYLE_NUMBER, "0");
        cmi_styled_add(&cells[2], CMI_STYLE_PLAIN, " (unbuilt)");
    }
    cmi_table_row(table, cells);
}

static void print_total(const cmi_page *page, const char *label, int64_t count, int64_t bytes)
{
    cmi_styled text = {0};
    char number[NUMBER_BYTES];

    cmi_styled_add(&text, CMI_STYLE_BOLD, label);
    group_digits(count, number);
    cmi_styled_add(&text, CMI_STYLE_NUMBER, number);
    size_text(bytes, number);
    cmi_styled_add(&text, CMI_STYLE_PLAIN, " (");
    cmi_styled_add(&text, CMI_STYLE_PLAIN, number);
    cmi_styled_add(&text, CMI_STYLE_PLAIN, ")");
    cmi_page_put(page, &text);
}

static void print_totals(const cmi_page *page, const cmi_sequential *model,
                         const cmi_summary_facts *facts)
{
    int64_t trainable = 0, frozen = 0;

    for (int i = 0; facts->built && i < model->count; i++) {
        const cmi_node *node = &model->nodes[i];
        *(cmi_node_trainable(node) ? &trainable : &frozen) += node_params(node);
    }
    int64_t all = trainable + frozen;
    print_total(page, " Total params: ", all + facts->optimizer_variables,
                all * PARAM_BYTES + facts->optimizer_bytes);
    print_total(page, " Trainable params: ", trainable, trainable * PARAM_BYTES);
    print_total(page, " Non-trainable params: ", frozen, frozen * PARAM_BYTES);
    if (facts->optimizer_variables > 0)
        print_total(page, " Optimizer params: ", facts->optimizer_variables,
                    facts->optimizer_bytes);
}

cm_status cmi_summary_print(const cmi_sequential *model, const cmi_summary_facts *facts,
                            cmi_print print, void *user)
{
    static const char *const titles[CMI_TABLE_COLUMNS] = {"Layer (type)", "Output Shape",
                                                          "Param #"};
    const cmi_page page = {facts->columns, facts->color, print, user};
    cmi_styled title = {0};
    cmi_table table;

    CM_TRY(cmi_table_init(&table, &page));
    cmi_styled_add(&title, CMI_STYLE_BOLD, "Model: \"");
    cmi_styled_add(&title, CMI_STYLE_BOLD, model->name);
    cmi_styled_add(&title, CMI_STYLE_BOLD, "\"");
    cmi_page_put(&page, &title);
    cmi_table_header(&table, titles);
    for (int i = 0; i < model->count; i++)
        if (strcmp(model->nodes[i].layer->class_name, "InputLayer"))
            print_node(&table, &model->nodes[i], facts);
    cmi_table_end(&table);
    print_totals(&page, model, facts);
    return CM_OK;
}
