/* report.c - the listing for people: platforms, devices, the selection with its reason, and what
 * may hide devices.
 *
 * Each device takes one line that says what it is and one or more indented lines that say what
 * follows from it. Called by main.c; writes standard output. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "info.h"

const info_variable info_variables[] = {
    {"CLMIRROR_DEVICES", "the default selection of this library"},
    {"OCL_ICD_VENDORS", "where the loader finds drivers, instead of /etc/OpenCL/vendors"},
    {"OCL_ICD_FILENAMES", "further drivers that the loader opens"},
    {"OCL_ICD_PLATFORM_SORT", "the order of the platforms, and so their numbers"},
    {"OPENCL_LAYERS", "layers between programs and drivers"},
    {"CUDA_VISIBLE_DEVICES", "hides NVIDIA devices that it does not list"},
    {"ROCR_VISIBLE_DEVICES", "hides AMD devices that it does not list"},
    {"HIP_VISIBLE_DEVICES", "hides AMD devices that it does not list"},
    {"GPU_DEVICE_ORDINAL", "hides AMD devices that it does not list"},
    {"POCL_DEVICES", "the devices that PoCL offers"},
    {"POCL_CACHE_DIR", "PoCL's kernel cache; without a folder to write it offers no device"},
    {"POCL_MEMORY_LIMIT", "the memory of PoCL's devices, in GB"},
    {"RUSTICL_ENABLE", "the drivers that rusticl offers; unset it offers none"},
    {"ZE_AFFINITY_MASK", "hides Intel devices that it does not list"},
    {NULL, NULL},
};

void info_type_bits(uint64_t bits, char *text, size_t bytes)
{
    static const struct {
        unsigned int bit;
        const char *name;
    } types[] = {{2, "CPU"}, {4, "GPU"}, {8, "accelerator"}, {16, "custom"}, {1, "default"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (bits & types[i].bit && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? " + " : "",
                                     types[i].name);
}

static void print_bytes(const char *before, uint64_t bytes)
{
    if (bytes >= UINT64_C(1) << 30)
        printf("%s%.1f GiB", before, (double)bytes / (double)(1 << 30));
    else if (bytes >= UINT64_C(1) << 20)
        printf("%s%.1f MiB", before, (double)bytes / (double)(1 << 20));
    else
        printf("%s%.0f KiB", before, (double)bytes / 1024);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_parts(const cm_device_info *info)
{
    if (info->parts > 1)
        printf("%12sparts: %d.%d*n gives sub-devices for n up to %" PRIu32
               ", then logical replicas, which bring no speed\n",
               "", info->platform, info->device, info->parts);
    else
        printf(
            "%12sparts: %d.%d*n gives logical replicas on the one device, which bring no speed\n",
            "", info->platform, info->device);
}

static void print_device(const cm_device_list *list, const cm_device_info *info)
{
    char types[64];
    printf("  %2d.%-2d  %-11s  %s\n", info->platform, info->device, cm_device_kind_name(info->kind),
           info->name);
    if (!info->usable) {
        printf("%12snot usable: %s\n", "", info->reason);
        return;
    }
    printf("%12s%" PRIu32 " compute unit%s, vectors of %" PRIu32
           " float%s, groups of up to %" PRIu64 "%s\n",
           "", info->compute_units, plural(info->compute_units), info->vector_width,
           plural(info->vector_width), info->max_group, info->fp64 ? ", double precision" : "");
    print_bytes("            memory ", info->global_bytes);
    print_bytes(info->host_memory ? " shared with the host, one allocation up to "
                                  : ", one allocation up to ",
                info->max_alloc_bytes);
    print_bytes(", local ", info->local_bytes);
    printf("\n%12s%s, driver %s\n", "", info->version, info->driver);
    info_type_bits(info->type_bits, types, sizeof types);
    if (strcmp(types, cm_device_kind_name(info->kind)))
        printf("%12ssays that it is: %s\n", "", types);
    print_parts(info);
    if (info->duplicate_of >= 0) {
        const cm_device_info *first = cm_device_list_get(list, info->duplicate_of);
        printf("%12sduplicate: taken for the hardware of %d.%d, so only numbers name it; both: "
               "--devices %d.%d,%d.%d\n",
               "", first->platform, first->device, first->platform, first->device, info->platform,
               info->device);
    }
}

static void print_list(const cm_device_list *list)
{
    for (int p = 0; p < cm_device_list_platforms(list); p++) {
        const cm_platform_info *platform = cm_device_list_platform(list, p);
        printf("%sPlatform %d: %s", p ? "\n" : "", p, platform->name);
        if (platform->vendor[0]) printf(" (%s; %.40s)", platform->vendor, platform->version);
        printf("\n");
        if (platform->reason[0]) printf("  %s\n", platform->reason);
        for (int i = 0; i < cm_device_list_count(list); i++)
            if (cm_device_list_get(list, i)->platform == p)
                print_device(list, cm_device_list_get(list, i));
    }
}

static void print_choice(const cm_device_list *list, int rank, const cm_device_choice *choice)
{
    const cm_device_info *info = cm_device_list_get(list, choice->index);
    printf("  rank %-2d  %d.%d  %s %s", rank, info->platform, info->device,
           cm_device_kind_name(info->kind), info->name);
    if (choice->parts > 1 && choice->subdevice)
        printf(", part %d of %d: a sub-device with %" PRIu32 " compute unit%s", choice->part + 1,
               choice->parts, choice->units, plural(choice->units));
    else if (choice->parts > 1)
        printf(", part %d of %d: a logical replica", choice->part + 1, choice->parts);
    printf("\n");
}

static void print_selection(const cm_device_list *list, const info_selection *selection)
{
    if (selection->text[0])
        printf("\nSelection \"%s\" (%s)\n", selection->text, selection->source);
    else
        printf("\nDefault selection%s%s\n", selection->why ? ": " : "",
               selection->why ? selection->why : "");
    for (int i = 0; i < selection->count; i++)
        print_choice(list, i, &selection->choices[i]);
    if (selection->status) printf("  nothing\n");
}

static void print_environment(void)
{
    int found = 0;
    for (const info_variable *variable = info_variables; variable->name; variable++) {
        const char *value = getenv(variable->name);
        if (value == NULL) continue;
        if (found++ == 0)
            printf("\nSet in the environment (a device that is missing may be hidden by one of "
                   "these)\n");
        printf("  %s=\"%s\"  %s\n", variable->name, value, variable->help);
    }
}

static void print_probe(const info_probe *probe)
{
    printf("Drivers, each asked in a process of its own\n");
    if (probe->count == 0) printf("  none found\n");
    for (int i = 0; i < probe->count; i++) {
        const info_driver *driver = &probe->drivers[i];
        if (!driver->ended)
            printf("  BROKEN  %s: %s\n", driver->file, driver->problem);
        else
            printf("  ok      %s: %d platform%s, %d usable device%s%s%s\n", driver->file,
                   driver->platforms, plural((uint64_t)driver->platforms), driver->devices,
                   plural((uint64_t)driver->devices), driver->problem[0] ? "; " : "",
                   driver->problem);
    }
    if (probe->dead)
        printf(
            "\nEvery OpenCL program opens all drivers, so a broken one breaks all of them.  Point "
            "OCL_ICD_VENDORS at\n"
            "a folder with only the good .icd files, or at one such file, or remove the driver.\n");
    else
        printf("\n");
}

void info_print(const info_options *options, const cm_device_list *list,
                const info_selection *selection, const info_probe *probe)
{
    (void)options;
    if (probe) print_probe(probe);
    if (list) {
        print_list(list);
        print_selection(list, selection);
    }
    print_environment();
}

void info_print_knobs(void)
{
    printf("Environment variables of clmirror %s (* = set)\n", cm_version());
    for (int i = 0; i < cm_knob_count(); i++) {
        cm_knob_info knob = cm_knob_get(i);
        printf("%s %-22s  %s\n  %-22s  value \"%s\", default \"%s\"\n",
               knob.from_environment ? "*" : " ", knob.variable, knob.help, "", knob.value,
               knob.fallback);
    }
}

/* One name, and a line for each of its keys; keys without a default must be given. */
static void print_name(int kind, int index)
{
    printf("  %-32s %s\n", cm_name(kind, index), cm_name_doc(kind, index));
    for (int j = 0; j < cm_key_count(kind, index); j++) {
        cm_key_info key = cm_key(kind, index, j);
        char text[96];
        snprintf(text, sizeof text, "%s=%s", key.key, key.fallback ? key.fallback : "");
        printf("      %-36s %s%s\n", text, key.help, key.fallback ? "" : " (must be given)");
    }
}

void info_print_layers(void)
{
    printf("Names of clmirror %s and their keys, as key=default\n", cm_version());
    for (int kind = 0; kind < cm_kind_count(); kind++) {
        printf("\n%s (%d)\n", cm_kind_name(kind), cm_name_count(kind));
        for (int i = 0; i < cm_name_count(kind); i++)
            print_name(kind, i);
    }
}
