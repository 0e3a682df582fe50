/* json.c - the listing for programs: one JSON object on standard output.
 *
 * {"version", "platforms": [{"index", "name", ..., "reason", "devices": [{"select": "0.0", ...}]}], "problem",
 *  "selection": {"text", "source", "why", "error", "devices": [...]}, "environment": {...}, "knobs": [...],
 *  "names": {"layer": [{"name", "doc", "keys": [{"key", "default", "help"}]}], ...}, "probe": [...]}.  "knobs", "names"
 * and "probe" stand there only when asked for; without OpenCL (a driver died in the probe) "platforms" and "selection"
 * are missing.
 *
 * cJSON answers NULL when memory runs out and passes NULL on, so one check at the end is enough.
 * Called by main.c. */
#include <stdio.h>
#include <stdlib.h>
#include <cjson/cJSON.h>
#include "info.h"

static void add_number(cJSON *object, const char *key, uint64_t value)
{
    cJSON_AddNumberToObject(object, key, (double)value);
}

static void add_name(cJSON *object, const char *key, const cm_device_info *info)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d", info->platform, info->device);
    cJSON_AddStringToObject(object, key, text);
}

static void add_device(cJSON *devices, const cm_device_list *list, const cm_device_info *info)
{
    cJSON *device = cJSON_CreateObject();
    char types[64];
    add_name(device, "select", info);
    cJSON_AddStringToObject(device, "kind", cm_device_kind_name(info->kind));
    cJSON_AddStringToObject(device, "name", info->name);
    cJSON_AddBoolToObject(device, "usable", info->usable);
    cJSON_AddStringToObject(device, "reason", info->reason);
    info_type_bits(info->type_bits, types, sizeof types);
    cJSON_AddStringToObject(device, "type_bits", types);
    cJSON_AddStringToObject(device, "vendor", info->vendor);
    cJSON_AddStringToObject(device, "version", info->version);
    cJSON_AddStringToObject(device, "driver", info->driver);
    add_number(device, "compute_units", info->compute_units);
    add_number(device, "vector_width", info->vector_width);
    add_number(device, "global_bytes", info->global_bytes);
    add_number(device, "max_alloc_bytes", info->max_alloc_bytes);
    add_number(device, "local_bytes", info->local_bytes);
    add_number(device, "align_bytes", info->align_bytes);
    add_number(device, "max_group", info->max_group);
    add_number(device, "sub_devices", info->parts);
    cJSON_AddBoolToObject(device, "host_memory", info->host_memory);
    cJSON_AddBoolToObject(device, "fp64", info->fp64);
    if (info->duplicate_of >= 0)
        add_name(device, "duplicate_of", cm_device_list_get(list, info->duplicate_of));
    else
        cJSON_AddNullToObject(device, "duplicate_of");
    cJSON_AddItemToArray(devices, device);
}

static void add_platforms(cJSON *root, const cm_device_list *list)
{
    cJSON *platforms = cJSON_AddArrayToObject(root, "platforms");
    for (int p = 0; p < cm_device_list_platforms(list); p++) {
        const cm_platform_info *info = cm_device_list_platform(list, p);
        cJSON *platform = cJSON_CreateObject();
        add_number(platform, "index", (uint64_t)p);
        cJSON_AddStringToObject(platform, "name", info->name);
        cJSON_AddStringToObject(platform, "vendor", info->vendor);
        cJSON_AddStringToObject(platform, "version", info->version);
        cJSON_AddStringToObject(platform, "reason", info->reason);
        cJSON *devices = cJSON_AddArrayToObject(platform, "devices");
        for (int i = 0; i < cm_device_list_count(list); i++)
            if (cm_device_list_get(list, i)->platform == p)
                add_device(devices, list, cm_device_list_get(list, i));
        cJSON_AddItemToArray(platforms, platform);
    }
    cJSON_AddStringToObject(root, "problem", cm_device_list_problem(list));
}

static void add_selection(cJSON *root, const cm_device_list *list, const info_selection *selection)
{
    cJSON *object = cJSON_AddObjectToObject(root, "selection");
    cJSON_AddStringToObject(object, "text", selection->text);
    cJSON_AddStringToObject(object, "source", selection->source);
    cJSON_AddStringToObject(object, "why", selection->why ? selection->why : "");
    cJSON_AddStringToObject(object, "status", cm_status_name(selection->status));
    cJSON_AddStringToObject(object, "error", selection->error);
    cJSON *devices = cJSON_AddArrayToObject(object, "devices");
    for (int i = 0; i < selection->count; i++) {
        const cm_device_choice *choice = &selection->choices[i];
        cJSON *device = cJSON_CreateObject();
        add_number(device, "rank", (uint64_t)i);
        add_name(device, "select", cm_device_list_get(list, choice->index));
        add_number(device, "part", (uint64_t)choice->part);
        add_number(device, "parts", (uint64_t)choice->parts);
        cJSON_AddBoolToObject(device, "sub_device", choice->subdevice);
        add_number(device, "compute_units", choice->units);
        cJSON_AddItemToArray(devices, device);
    }
}

static void add_environment(cJSON *root)
{
    cJSON *object = cJSON_AddObjectToObject(root, "environment");
    for (const info_variable *variable = info_variables; variable->name; variable++)
        if (getenv(variable->name))
            cJSON_AddStringToObject(object, variable->name, getenv(variable->name));
}

static void add_knobs(cJSON *root)
{
    cJSON *knobs = cJSON_AddArrayToObject(root, "knobs");
    for (int i = 0; i < cm_knob_count(); i++) {
        cm_knob_info info = cm_knob_get(i);
        cJSON *knob = cJSON_CreateObject();
        cJSON_AddStringToObject(knob, "variable", info.variable);
        cJSON_AddStringToObject(knob, "value", info.value);
        cJSON_AddStringToObject(knob, "default", info.fallback);
        cJSON_AddBoolToObject(knob, "from_environment", info.from_environment);
        cJSON_AddStringToObject(knob, "help", info.help);
        cJSON_AddItemToArray(knobs, knob);
    }
}

/* "default" is null where the key must be given. */
static void add_name_of(cJSON *list, int kind, int index)
{
    cJSON *name = cJSON_CreateObject();
    cJSON_AddStringToObject(name, "name", cm_name(kind, index));
    cJSON_AddStringToObject(name, "doc", cm_name_doc(kind, index));
    cJSON *keys = cJSON_AddArrayToObject(name, "keys");
    for (int j = 0; j < cm_key_count(kind, index); j++) {
        cm_key_info info = cm_key(kind, index, j);
        cJSON *key = cJSON_CreateObject();
        cJSON_AddStringToObject(key, "key", info.key);
        if (info.fallback)
            cJSON_AddStringToObject(key, "default", info.fallback);
        else
            cJSON_AddNullToObject(key, "default");
        cJSON_AddStringToObject(key, "help", info.help);
        cJSON_AddItemToArray(keys, key);
    }
    cJSON_AddItemToArray(list, name);
}

static void add_names(cJSON *root)
{
    cJSON *names = cJSON_AddObjectToObject(root, "names");
    for (int kind = 0; kind < cm_kind_count(); kind++) {
        cJSON *list = cJSON_AddArrayToObject(names, cm_kind_name(kind));
        for (int i = 0; i < cm_name_count(kind); i++)
            add_name_of(list, kind, i);
    }
}

static void add_probe(cJSON *root, const info_probe *probe)
{
    cJSON *drivers = cJSON_AddArrayToObject(root, "probe");
    for (int i = 0; i < probe->count; i++) {
        const info_driver *info = &probe->drivers[i];
        cJSON *driver = cJSON_CreateObject();
        cJSON_AddStringToObject(driver, "file", info->file);
        cJSON_AddBoolToObject(driver, "ok", info->ended);
        add_number(driver, "platforms", (uint64_t)info->platforms);
        add_number(driver, "usable_devices", (uint64_t)info->devices);
        cJSON_AddStringToObject(driver, "problem", info->problem);
        cJSON_AddItemToArray(drivers, driver);
    }
}

int info_print_json(const info_options *options, const cm_device_list *list,
                    const info_selection *selection, const info_probe *probe)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "version", cm_version());
    if (list) {
        add_platforms(root, list);
        add_selection(root, list, selection);
    }
    add_environment(root);
    if (options->knobs) add_knobs(root);
    if (options->layers) add_names(root);
    if (probe) add_probe(root, probe);
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    if (text == NULL) {
        fputs("clmirror-info: out of memory\n", stderr);
        return 1;
    }
    puts(text);
    cJSON_free(text);
    return 0;
}
