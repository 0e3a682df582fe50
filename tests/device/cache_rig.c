/* cache_rig.c - see cache_rig.h. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/knob.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/cache_rig.h"
#include "device/internal.h"
#include "support/cm_test.h"

char cache_folder[64];
static int lines; /* that the library logged, warnings and worse */
static uint64_t objects, blocks;
pick cache_pick;

static void count_line(void *user, cm_log_level level, const char *line)
{
    (void)user;
    (void)line;
    lines += level <= CM_LOG_WARNING;
}

void cache_setup(void)
{
    strcpy(cache_folder, "/tmp/clmirror-cache-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(cache_folder));
    cmi_knob_override(CMI_KNOB_CACHE, cache_folder);
    cmi_knob_override(CMI_KNOB_GEMM, "auto");
    ck_assert_cm_ok(pick_open(&cache_pick)); /* what drivers keep for ever */
    pick_close(&cache_pick);
    objects = cmi_device_objects_live();
    blocks = cmi_mem_live();
    lines = 0;
    cm_log_set_sink(count_line, NULL);
    ck_assert_cm_ok(pick_open(&cache_pick));
    cmi_error_clear();
}

void cache_teardown(void)
{
    char path[512];

    pick_close(&cache_pick);
    cmi_binary_force(false);
    cm_log_set_sink(NULL, NULL);
    cmi_knob_override(CMI_KNOB_CACHE, NULL);
    cmi_knob_override(CMI_KNOB_GEMM, NULL);
    cmi_knob_override(CMI_KNOB_CL_OPTIONS, NULL);
    DIR *open = opendir(cache_folder);
    for (const struct dirent *entry; open && (entry = readdir(open));) {
        snprintf(path, sizeof path, "%s/%s", cache_folder, entry->d_name);
        (void)unlink(path);
    }
    if (open) closedir(open);
    (void)rmdir(cache_folder);
    ck_assert_int_eq(lines, 0);
    ck_assert_uint_eq(cmi_device_objects_live(), objects);
    ck_assert_uint_eq(cmi_mem_live(), blocks);
}

void cache_reopen(void)
{
    pick_close(&cache_pick);
    ck_assert_cm_ok(pick_open(&cache_pick));
}

/* ---- products ---- */

cm_status cache_multiply(pick *on, const cache_product *of, float *c)
{
    static _Thread_local float values[300 * 2100];
    cmi_gemm g = {.m = of->m,
                  .n = of->n,
                  .k = of->k,
                  .transpose_a = of->ta,
                  .transpose_b = of->tb,
                  .beta = of->beta,
                  .activation = of->activation};

    for (size_t i = 0; i < CM_TEST_COUNT(values); i++)
        values[i] = (float)((i * 7919) % 1009) / 1009.0f - 0.4f;
    pick_clear(on);
    CM_TRY(pick_put(on, values, g.m * g.k, &g.a));
    CM_TRY(pick_put(on, values + 5, g.k * g.n, &g.b));
    CM_TRY(pick_put(on, values + 3, g.m * g.n, &g.c));
    if (of->activation) CM_TRY(pick_put(on, values + 1, g.n, &g.bias));
    CM_TRY(cmi_gemm_run(on->stream, &g));
    CM_TRY(pick_get(on, g.c, c));
    return pick_check(on);
}

const cache_product cache_products[CMI_GEMM_CLASS_COUNT] = {
    {13, 37, 70, false, true, 1, "(x <= 0.0f) ? (real)(0.0f) : x"},
    {300, 70, 60, true, false, 0, NULL},
    {33, 150, 1100, false, false, 0.5f, "(x <= 0.0f) ? (real)(0.0f) : x"},
    {110, 105, 100, false, true, 0, NULL}};

void cache_write(const char *name, const char *bytes, size_t count)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", cache_folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}
