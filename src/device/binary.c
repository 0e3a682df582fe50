/* binary.c - compiled programs on disk, for drivers that keep none themselves.
 *
 * An entry's key (base/cachefile.h) is everything that decides what the compiler makes: the
 * versions of library, platform and driver, the device, the options, and the hash of the text with
 * its defines.  The check sum finds damage. Whatever else goes wrong, in the cache or in the
 * driver that is handed the binary, means: compile the source.  Nothing here is an error, so the
 * caller's error record is left alone.
 *
 * Called by the owner of the device's stream. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <clmirror/version.h>
#include "base/cachefile.h"
#include "base/hash.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/internal.h"

/* Beginnings of the names of platforms whose drivers keep what they compile.  PoCL would even
 * compile once more to make the binary. */
static const char *const caching_platforms[] = {"Portable Computing Language", "NVIDIA", "Intel"};

static _Atomic bool forced;
static _Atomic uint64_t loads, saves;

void cmi_binary_force(bool always)
{
    atomic_store(&forced, always);
}

uint64_t cmi_binary_loads(void)
{
    return atomic_load(&loads);
}

uint64_t cmi_binary_saves(void)
{
    return atomic_load(&saves);
}

bool cmi_binary_wanted(const cmi_device *device, const char *options)
{
    const char *platform = device->facts.info.platform_name;

    /* The text of what is included by name is not in the hash. */
    if (strstr(options, "-I") || !strcmp(cmi_knob_text(CMI_KNOB_CACHE), "off")) return false;
    if (atomic_load(&forced)) return true;
    for (size_t i = 0; i < sizeof caching_platforms / sizeof caching_platforms[0]; i++)
        if (!strncmp(platform, caching_platforms[i], strlen(caching_platforms[i]))) return false;
    return true;
}

cm_status cmi_binary_key(const cmi_device *device, const char *options, uint64_t hash,
                         char key[CMI_BINARY_KEY_BYTES])
{
    const cm_device_info *info = &device->facts.info;
    char platform[CM_DEVICE_TEXT_BYTES] = "";
    cl_platform_id id = NULL;

    CL_TRY("clGetDeviceInfo",
           clGetDeviceInfo(device->id, CL_DEVICE_PLATFORM, sizeof id, &id, NULL));
    CL_TRY("clGetPlatformInfo",
           clGetPlatformInfo(id, CL_PLATFORM_VERSION, sizeof platform, platform, NULL));
    snprintf(key, CMI_BINARY_KEY_BYTES, "clmirror %s\n%s\n%s\n%s\n%s\n%s\n%s\n%016llx\n",
             cm_version(), info->platform_name, platform, info->name, info->version, info->driver,
             options, (unsigned long long)hash);
    return CM_OK;
}

/* Logs and takes back the failure that was recorded last. */
static void pass_over(const cm_error *before, const char *what)
{
    cmi_log(CM_LOG_DEBUG, "kernel", "%s: %s", what, cm_last_message());
    (void)cmi_error_restore(before);
}

/* A program of the binary, built; NULL when the driver does not take it. */
static cl_program from_binary(cmi_device *device, const char *options, const char *bytes,
                              size_t count)
{
    const unsigned char *binary = (const unsigned char *)bytes;
    cl_int code = CL_SUCCESS, fits = CL_SUCCESS;

    cl_program program =
        clCreateProgramWithBinary(device->context, 1, &device->id, &count, &binary, &fits, &code);
    if (code != CL_SUCCESS || !program) {
        (void)cmi_cl_error(code, "clCreateProgramWithBinary");
        return NULL;
    }
    if (fits == CL_SUCCESS) fits = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    if (fits == CL_SUCCESS) return program;
    (void)cmi_cl_error(fits, "clBuildProgram of a binary");
    clReleaseProgram(program);
    return NULL;
}

bool cmi_binary_load(cmi_device *device, const char *options, uint64_t hash, cl_program *out)
{
    char key[CMI_BINARY_KEY_BYTES], *bytes = NULL;
    size_t count = 0;
    cm_error before;

    *out = NULL;
    cmi_error_save(&before);
    cm_status status = cmi_binary_key(device, options, hash, key);
    if (!status) status = cmi_cache_find("program", key, &bytes, &count);
    if (!status) *out = from_binary(device, options, bytes, count);
    cmi_free(bytes);
    if (!*out) {
        pass_over(&before, "compiled anew");
        return false;
    }
    atomic_fetch_add(&loads, 1);
    return true;
}

/* The driver's binary of a program of one device; *bytes is freed with cmi_free. */
static cm_status fetch(cl_program program, char **bytes, size_t *count)
{
    cm_status status = CM_OK;

    CL_TRY("clGetProgramInfo",
           clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof *count, count, NULL));
    if (!*count || *count > (size_t)1 << 25)
        return cmi_error(CM_E_UNSUPPORTED, "the driver has no binary, or one of %zu bytes", *count);
    CM_TRY(cmi_alloc(*count, 1, (void **)bytes));
    unsigned char *target = (unsigned char *)*bytes;
    cl_int code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof target, &target, NULL);
    if (code != CL_SUCCESS) status = cmi_cl_error(code, "clGetProgramInfo");
    return status;
}

void cmi_binary_save(cmi_device *device, const char *options, uint64_t hash, cl_program program)
{
    char key[CMI_BINARY_KEY_BYTES], *bytes = NULL;
    size_t count = 0;
    cm_error before;

    cmi_error_save(&before);
    cm_status status = cmi_binary_key(device, options, hash, key);
    if (!status) status = fetch(program, &bytes, &count);
    if (!status) status = cmi_cache_keep("program", key, bytes, count);
    cmi_free(bytes);
    if (status) pass_over(&before, "the binary is not kept");
    if (!status) atomic_fetch_add(&saves, 1);
}
