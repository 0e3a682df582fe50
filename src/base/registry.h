/* registry.h - finds a descriptor by name and lists the valid names when there is none.
 *
 * A registry is an array of pointers to descriptors, each of which begins with a cmi_entry, made
 * from a `.def` list.  Aliases (`mse`, `MeanSquaredError`) are resolved here too. */
#ifndef CMI_BASE_REGISTRY_H
#define CMI_BASE_REGISTRY_H

#include "base/config.h"

typedef struct cmi_alias {
    const char *alias, *name;
} cmi_alias;

typedef struct cmi_registry {
    const char *kind; /* "layer", "optimizer", ...: for messages */
    const cmi_entry *const *entries;
    size_t count;
    const cmi_alias *aliases; /* may be NULL; ends with a NULL alias */
} cmi_registry;

/* CM_E_NOT_FOUND names the kind, the word, the nearest names and all names.  Class names in Keras'
 * spelling (`SparseCategoricalCrossentropy`) are found by their snake form. */
cm_status cmi_registry_find(const cmi_registry *registry, const char *name,
                            const cmi_entry **entry);
/* Name lookup, then cmi_config_parse, of a whole spec. */
cm_status cmi_registry_parse(const cmi_registry *registry, const char *spec,
                             const cmi_entry **entry, void **config);
/* Up to three nearest words of a list, as `"a", "b"`; empty when none is near.  Also used for keys.
 */
void cmi_nearest(const char *word, const char *const *words, size_t count, char *text,
                 size_t bytes);

#endif
