/* platform.c - the list of devices, and which of them are the same hardware.
 *
 * A list is a snapshot: it is made once, by asking every platform in the loader's order (query.c),
 * and does not change.  Nothing is left out of it: a platform without a device stays with its
 * reason, a device that cannot be used stays with its own, and hardware that two platforms offer
 * stays twice with `duplicate_of` set.  What to do about them is the business of selection.c and of
 * the reader of clmirror-info.
 *
 * Any thread; lists are not shared while they are made. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "device/query.h"

struct cm_device_list {
    int platforms, count;
    cm_platform_info *platform;
    cmi_found *found;
    char problem[CM_MESSAGE_BYTES];
};

cm_status cmi_device_check_process(void)
{
    static atomic_long first_process;
    long none = 0, self = (long)getpid();
    if (atomic_compare_exchange_strong(&first_process, &none, self) || none == self) return CM_OK;
    return cmi_error(
        CM_E_STATE,
        "this process (%ld) was made by fork() after its parent (%ld) had used OpenCL; drivers do "
        "not survive a fork: fork before the first call of the library, or fork and exec",
        self, none);
}

/* ---- the same hardware twice
 * ------------------------------------------------------------------------------ */

/* Whether `b` is the hardware of `a`, which stands before it in the list.  Two entries of one
 * platform are two devices, whatever they are called, unless the driver handed out the same handle
 * twice. */
static bool same_hardware(const cmi_found *a, const cmi_found *b, bool *certain)
{
    *certain = true;
    if (a->id == b->id) return true;
    if (a->info.platform == b->info.platform) return false;
    if (a->has_pci && b->has_pci) return memcmp(a->pci, b->pci, sizeof a->pci) == 0;
    if (a->has_uuid && b->has_uuid && memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0) return true;
    /* UUIDs that differ prove nothing between two CPUs: each vendor makes up its own. */
    if (a->info.kind == CM_DEVICE_CPU && b->info.kind == CM_DEVICE_CPU) {
        *certain = strcmp(a->info.name, b->info.name) == 0;
        return true;
    }
    if (a->has_uuid && b->has_uuid) return false;
    return strcmp(a->info.name, b->info.name) == 0 &&
           a->info.compute_units == b->info.compute_units &&
           a->info.global_bytes == b->info.global_bytes;
}

static void mark_duplicates(cm_device_list *list)
{
    for (int i = 0; i < list->count; i++) {
        cmi_found *later = &list->found[i];
        later->info.duplicate_of = -1;
        for (int j = 0; j < i && later->info.usable && later->info.duplicate_of < 0; j++) {
            const cmi_found *first = &list->found[j];
            if (first->info.usable && first->info.duplicate_of < 0 &&
                same_hardware(first, later, &later->certain))
                later->info.duplicate_of = j;
        }
    }
}

/* ---- the list
 * --------------------------------------------------------------------------------------------- */

static cm_status append(cm_device_list *list, int platform, cmi_answer *answer)
{
    cm_platform_info *info = &list->platform[platform];
    size_t total = (size_t)list->count + (size_t)answer->count;
    *info = answer->info;
    if (info->name[0] == '\0') snprintf(info->name, sizeof info->name, "(platform %d)", platform);
    if (answer->count == 0) return CM_OK;
    CM_TRY(cmi_realloc(total, sizeof *list->found, (void **)&list->found));
    int usable = 0;
    for (int i = 0; i < answer->count; i++) {
        cmi_found *found = &list->found[list->count++];
        *found = answer->found[i];
        found->info.platform = platform;
        found->info.device = i;
        memcpy(found->info.platform_name, info->name, sizeof info->name);
        if (found->info.name[0] == '\0')
            snprintf(found->info.name, sizeof found->info.name, "(device %d.%d)", platform, i);
        usable += found->info.usable;
    }
    if (usable == 0)
        snprintf(info->reason, sizeof info->reason, "no usable device: %s",
                 answer->found[0].info.reason);
    return CM_OK;
}

/* With platforms but no usable device the problem is the sum of the platforms' reasons. */
static void explain_problem(cm_device_list *list)
{
    size_t used = 0, bytes = sizeof list->problem;
    for (int i = 0; i < list->count; i++)
        if (list->found[i].info.usable) return;
    for (int i = 0; i < list->platforms && used < bytes; i++)
        used += (size_t)snprintf(list->problem + used, bytes - used, "%s platform %d \"%s\": %s",
                                 i ? ";" : "no usable OpenCL device:", i, list->platform[i].name,
                                 list->platform[i].reason);
    if (used < bytes)
        snprintf(list->problem + used, bytes - used, "; `clmirror-info` shows the list");
}

static cm_status fill(cm_device_list *list)
{
    cl_platform_id ids[CMI_MAX_PLATFORMS];
    int platforms = 0;
    CM_TRY(cmi_query_platforms(ids, &platforms, list->problem, sizeof list->problem));
    if (platforms == 0) return CM_OK;
    CM_TRY(CMI_NEW(platforms, &list->platform));
    for (int i = 0; i < platforms; i++) {
        cmi_answer answer;
        CM_TRY(cmi_query_platform(ids[i], &answer));
        list->platforms++;
        cm_status status = append(list, i, &answer);
        cmi_free(answer.found);
        if (status) return status;
    }
    mark_duplicates(list);
    explain_problem(list);
    return CM_OK;
}

cm_status cm_device_list_create(cm_device_list **list)
{
    cmi_error_clear();
    if (list == NULL) return cmi_error(CM_E_INVALID, "cm_device_list_create: `list` is NULL");
    *list = NULL;
    cm_device_list *made = NULL;
    CM_TRY(cmi_device_check_process());
    CM_TRY(CMI_NEW(1, &made));
    cm_status status = fill(made);
    if (status) {
        cm_device_list_destroy(made);
        return status;
    }
    *list = made;
    return CM_OK;
}

void cm_device_list_destroy(cm_device_list *list)
{
    if (list == NULL) return;
    cmi_free(list->platform);
    cmi_free(list->found);
    cmi_free(list);
}

/* ---- reading it
 * ------------------------------------------------------------------------------------------- */

int cm_device_list_platforms(const cm_device_list *list)
{
    return list ? list->platforms : 0;
}

const cm_platform_info *cm_device_list_platform(const cm_device_list *list, int platform)
{
    return list && platform >= 0 && platform < list->platforms ? &list->platform[platform] : NULL;
}

int cm_device_list_count(const cm_device_list *list)
{
    return list ? list->count : 0;
}

const cm_device_info *cm_device_list_get(const cm_device_list *list, int index)
{
    return list && index >= 0 && index < list->count ? &list->found[index].info : NULL;
}

const char *cm_device_list_problem(const cm_device_list *list)
{
    return list ? list->problem : "";
}

cl_device_id cmi_device_list_id(const cm_device_list *list, int index)
{
    CM_ASSERT(list && index >= 0 && index < list->count);
    return list->found[index].id;
}

bool cmi_device_list_certain(const cm_device_list *list, int index)
{
    CM_ASSERT(list && index >= 0 && index < list->count);
    return list->found[index].certain;
}
