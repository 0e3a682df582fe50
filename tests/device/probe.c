/* probe.c - both sides of the probe: the child that prints what it sees, and the caller that starts
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "device/device.h"
#include "device/probe.h"
#include "support/cm_test.h"
#define FAULT_LAYER_FIND
#include "fault/layer.h"

/* ---- the child
 * -------------------------------------------------------------------------------------------- */

static int print_error(void)
{
    printf("error %s: %s\n", cm_status_name(cm_last_status()), cm_last_message());
    return cm_last_status() == CM_E_NO_DEVICE ? 2 : 1;
}

static int print_list(void)
{
    cm_device_list *list = NULL;
    if (cm_device_list_create(&list)) return print_error();
    for (int i = 0; i < cm_device_list_platforms(list); i++) {
        const cm_platform_info *platform = cm_device_list_platform(list, i);
        printf("platform %d [%s] devices %d reason [%s]\n", i, platform->name, platform->devices,
               platform->reason);
    }
    for (int i = 0; i < cm_device_list_count(list); i++) {
        const cm_device_info *info = cm_device_list_get(list, i);
        printf(
            "device %d.%d %s [%s] units %u parts %u fp64 %d usable %d duplicate %d reason [%s]\n",
            info->platform, info->device, cm_device_kind_name(info->kind), info->name,
            info->compute_units, info->parts, info->fp64, info->usable, info->duplicate_of,
            info->reason);
    }
    printf("devices %d problem [%s]\n", cm_device_list_count(list), cm_device_list_problem(list));
    cm_device_list_destroy(list);
    return 0;
}

static int print_choices(const char *selection)
{
    cm_device_choice choices[CM_MAX_DEVICES];
    cm_device_list *list = NULL;
    int count = 77, status = 0;
    if (cm_device_list_create(&list)) return print_error();
    if (cm_device_select(list, selection, choices, &count)) status = print_error();
    printf("%d choices:", count);
    for (int i = 0; i < count; i++) {
        const cm_device_info *info = cm_device_list_get(list, choices[i].index);
        printf(" %d.%d", info->platform, info->device);
        if (choices[i].parts > 1)
            printf("(%d/%d %s %u)", choices[i].part, choices[i].parts,
                   choices[i].subdevice ? "sub" : "logical", choices[i].units);
    }
    printf(".\n");
    cm_device_list_destroy(list);
    return status;
}

static int print_fork(void)
{
    int status = print_list();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        print_list();
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return status || print_list();
}

bool device_probe_main(int argc, char **argv, int *status)
{
    if (argc < 3 || strcmp(argv[1], "--probe")) return false;
    const char *argument = argc > 3 ? argv[3] : NULL;
    fault_layer layer;
    int found = fault_layer_find(&layer);
    printf("probe, layer %d\n", found);
    if (strcmp(argv[2], "select") == 0)
        *status = print_choices(argument);
    else if (strcmp(argv[2], "fork") == 0)
        *status = print_fork();
    else
        *status = print_list();
    if (strcmp(argv[2], "again") == 0) *status = print_list();
    if (fault_layer_find(&layer))
        printf("layer %d, devices opened %ld, rules fired %ld\n", layer.active(),
               layer.count("made:live"), layer.count("rules"));
    fflush(stdout);
    return true;
}

/* ---- the caller
 * ------------------------------------------------------------------------------------------- */

static char self[1024], folder[64], layer_path[1100];

static void write_icd(const char *sub, const char *name, const char *library)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, sub);
    mkdir(path, 0700);
    if (name == NULL) return;
    snprintf(path, sizeof path, "%s/%s/%s", folder, sub, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n", library);
    fclose(file);
}

static void remove_folder(void)
{
    static const char *const files[] = {"plain/pocl.icd",
                                        "both/pocl.icd",
                                        "both/fake.icd",
                                        "fake/fake.icd",
                                        "broken/x.icd",
                                        "plain",
                                        "both",
                                        "fake",
                                        "broken",
                                        "empty",
                                        ""};
    char path[256];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        remove(path);
    }
}

/* Where the build put fault_layer.so: beside us, in ../lib, or where CM_FAULT_LAYER says. */
static void find_layer(void)
{
    const char *given = getenv("CM_FAULT_LAYER");
    const char *const places[] = {"", "/../lib", "/../tests"};
    char base[1024];
    snprintf(base, sizeof base, "%s", self);
    *strrchr(base, '/') = '\0';
    snprintf(layer_path, sizeof layer_path, "%s", given ? given : "");
    for (size_t i = 0; !given && i < sizeof places / sizeof places[0] && access(layer_path, R_OK);
         i++)
        snprintf(layer_path, sizeof layer_path, "%s%s/fault_layer.so", base, places[i]);
    ck_assert_msg(access(layer_path, R_OK) == 0,
                  "fault_layer.so not found near %s; set CM_FAULT_LAYER", self);
}

static void prepare(void)
{
    char pocl[512] = "libpocl.so.2";
    if (folder[0]) return;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(length, 0);
    find_layer();
    FILE *file = fopen("/etc/OpenCL/vendors/pocl.icd", "r");
    if (file) {
        if (fgets(pocl, sizeof pocl, file)) pocl[strcspn(pocl, "\n")] = '\0';
        fclose(file);
    }
    strcpy(folder, "/tmp/clmirror-probe-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    atexit(remove_folder);
    write_icd("plain", "pocl.icd", pocl);
    write_icd("both", "pocl.icd", pocl);
    write_icd("both", "fake.icd", layer_path);
    write_icd("fake", "fake.icd", layer_path);
    write_icd("broken", "x.icd", "/nowhere/libnothing.so");
    write_icd("empty", NULL, NULL);
}

const probe_result *probe_run(const char *environment, const char *command, const char *argument)
{
    static probe_result result;
    static char line[8192];
    prepare();
    snprintf(line, sizeof line,
             "F=%s; PLAIN=$F/plain; BOTH=$F/both; FAKE=$F/fake; BROKEN=$F/broken; EMPTY=$F/empty; "
             "LAYER='%s'; "
             "unset OPENCL_LAYERS POCL_DEVICES RUSTICL_ENABLE OCL_ICD_PLATFORM_SORT "
             "CUDA_VISIBLE_DEVICES "
             "CLMIRROR_DEVICES CLMIRROR_FAULT CLMIRROR_TIMEOUT_MS CLMIRROR_LOG; export "
             "OCL_ICD_VENDORS=$PLAIN; "
             "exec env %s '%s' --probe %s %s%s%s 2>&1",
             folder, layer_path, environment, self, command, argument ? "'" : "",
             argument ? argument : "", argument ? "'" : "");
    FILE *pipe = popen(line, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t used = fread(result.text, 1, sizeof result.text - 1, pipe);
    result.text[used] = '\0';
    int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ck_assert_msg(strstr(result.text, "probe, layer"),
                  "the child did not run the probe: does main() call device_probe_main?\n%s\n%s",
                  line, result.text);
    /* The loader ignores a layer that it cannot load without a word. */
    if (strstr(environment, "OPENCL_LAYERS"))
        ck_assert_msg(strstr(result.text, "layer 1, devices opened 0"),
                      "the fault layer is not active\n%s\n%s", line, result.text);
    return &result;
}

void probe_has(const probe_result *result, const char *text)
{
    ck_assert_msg(strstr(result->text, text) != NULL, "\"%s\" is not in the output:\n%s", text,
                  result->text);
}

void probe_lacks(const probe_result *result, const char *text)
{
    ck_assert_msg(strstr(result->text, text) == NULL, "\"%s\" is in the output:\n%s", text,
                  result->text);
}

void probe_ended(const probe_result *result, int status)
{
    ck_assert_msg(result->status == status, "exit status %d, expected %d:\n%s", result->status,
                  status, result->text);
}
