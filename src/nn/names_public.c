/* names_public.c - the registries of this folder as programs see them (clmirror/layers.h).
 *
 * A kind is a registry; a name is one of its descriptors; a key is a row of the descriptor's field
 * table.  So the listing cannot differ from what the parser accepts.  Metrics have two names more
 * than their registry: the wishes "accuracy" and "crossentropy", which metrics.c resolves when
 * output and labels are known.  Any thread. */
#include <clmirror/layers.h>
#include "nn/activation.h"
#include "nn/init.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optim.h"

static const cmi_registry *const kinds[] = {&cmi_layer_registry, &cmi_activation_registry,
                                            &cmi_loss_registry,  &cmi_metric_registry,
                                            &cmi_optim_registry, &cmi_init_registry};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const cmi_entry wishes[] = {
    {.name = "accuracy",
     .doc =
         "binary, categorical or sparse categorical accuracy, as output and labels have it (acc)"},
    {.name = "crossentropy",
     .doc = "binary, categorical or sparse categorical cross-entropy, likewise (ce); any loss is "
            "a metric too"},
};

enum { WISHES = sizeof wishes / sizeof wishes[0] };

static int extra(int kind)
{
    return kinds[kind] == &cmi_metric_registry ? WISHES : 0;
}

static const cmi_entry *entry_at(int kind, int index)
{
    if (index < 0 || index >= cm_name_count(kind)) return NULL;
    if (index < extra(kind)) return &wishes[index];
    return kinds[kind]->entries[index - extra(kind)];
}

int cm_kind_count(void)
{
    return KINDS;
}

const char *cm_kind_name(int kind)
{
    return kind >= 0 && kind < KINDS ? kinds[kind]->kind : NULL;
}

int cm_name_count(int kind)
{
    return kind >= 0 && kind < KINDS ? (int)kinds[kind]->count + extra(kind) : 0;
}

const char *cm_name(int kind, int index)
{
    const cmi_entry *entry = entry_at(kind, index);
    return entry ? entry->name : NULL;
}

const char *cm_name_doc(int kind, int index)
{
    const cmi_entry *entry = entry_at(kind, index);
    return entry ? entry->doc : NULL;
}

int cm_key_count(int kind, int index)
{
    const cmi_entry *entry = entry_at(kind, index);
    int count = 0;
    while (entry && entry->fields && entry->fields[count].key)
        count++;
    return count;
}

cm_key_info cm_key(int kind, int index, int j)
{
    const cm_key_info none = {0};
    if (j < 0 || j >= cm_key_count(kind, index)) return none;
    const cmi_field *field = &entry_at(kind, index)->fields[j];
    return (cm_key_info){field->key, field->fallback, field->help};
}
