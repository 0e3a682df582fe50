/* program.c - kernel files become programs, once per device, defines and exactness.
 *
 * The text given to the compiler is: the prelude, the caller's #define lines, the file.  The
 * options say which shape and vector width the device wants (cl/README.md).  Files come from the
 * library itself, or from the folder CLMIRROR_CL_DIR, so that a kernel can be edited and tried
 * without building the library anew.  Where the driver keeps no binaries we do (binary.c).
 *
 * Called by the owner of the device's stream. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/internal.h"
#include "device/kernels.h"

static cm_status read_override(const char *folder, const char *name, char **owned, size_t *bytes)
{
    char path[1024];
    cm_status status = CM_OK;
    const char *ending = strcmp(name, "cm_prelude") ? "cl" : "h";

    if (snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending) >= (int)sizeof path)
        return cmi_error(CM_E_IO, "CLMIRROR_CL_DIR is too long: %s", folder);
    FILE *file = fopen(path, "rb");
    if (!file)
        return cmi_error(CM_E_IO, "kernel file %s (CLMIRROR_CL_DIR): %s", path, strerror(errno));
    enum { LARGEST = 1 << 20 };
    CM_TRY_GOTO(done, cmi_alloc(LARGEST + 1, 1, (void **)owned));
    *bytes = fread(*owned, 1, LARGEST + 1, file);
    if (ferror(file) || *bytes > LARGEST) {
        cmi_free(*owned);
        *owned = NULL;
        status = cmi_error(CM_E_IO, "kernel file %s: unreadable or larger than 1 MiB", path);
    }
done:
    fclose(file);
    return status;
}

cm_status cmi_kernel_text(const char *name, char **owned, size_t *bytes)
{
    const char *folder = cmi_knob_text(CMI_KNOB_CL_DIR);

    *owned = NULL;
    if (*folder) return read_override(folder, name, owned, bytes);
    for (size_t i = 0; i < cmi_kernel_source_count; i++) {
        const cmi_kernel_source *source = &cmi_kernel_sources[i];
        if (strcmp(source->name, name)) continue;
        CM_TRY(cmi_alloc(source->bytes + 1, 1, (void **)owned));
        memcpy(*owned, source->text, source->bytes);
        *bytes = source->bytes;
        return CM_OK;
    }
    return cmi_error(CM_E_NOT_FOUND, "no kernel file named %s", name);
}

/* The first lines of the build log become part of the message, the whole goes to the log. */
static cm_status build_failed(cmi_device *device, const cmi_program *program, int code,
                              const char *options)
{
    enum { SHOWN = 500 };
    size_t bytes = 0;
    char *text = NULL;
    cm_status status = CM_E_BUILD;

    clGetProgramBuildInfo(program->handle, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    if (bytes && bytes < (size_t)1 << 24 && !cmi_alloc(bytes + 1, 1, (void **)&text))
        clGetProgramBuildInfo(program->handle, device->id, CL_PROGRAM_BUILD_LOG, bytes, text, NULL);
    if (text) cmi_log(CM_LOG_INFO, "kernel", "build log of %s.cl:\n%s", program->source, text);
    status = cmi_error_code(CM_E_BUILD, code, "clBuildProgram of %s.cl with \"%s\": %s (%d): %.*s",
                            program->source, options, cmi_cl_name(code), code, SHOWN,
                            text && *text ? text : "no build log");
    cmi_free(text);
    return status;
}

static void write_options(const cmi_device *device, bool exact, char *options, size_t bytes)
{
    const cmi_device_facts *facts = &device->facts;

    snprintf(options, bytes, "-cl-std=CL1.2 -DCM_V=%u -DCM_CPU=%d%s%s %s", (unsigned)facts->vector,
             facts->shape == CMI_SHAPE_CPU, exact ? " -DCM_EXACT=1" : "",
             exact && facts->correctly_rounded ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
             cmi_knob_text(CMI_KNOB_CL_OPTIONS));
}

/* The five pieces of a program's text. */
enum { PARTS = 5 };

static cm_status build(cmi_device *device, cmi_program *program, const char *options,
                       const char *parts[PARTS], const size_t sizes[PARTS])
{
    cl_int code = CL_SUCCESS;

    program->handle = clCreateProgramWithSource(device->context, PARTS, parts, sizes, &code);
    if (code != CL_SUCCESS) return cmi_cl_error(code, "clCreateProgramWithSource");
    cmi_count_object(1);
    code = clBuildProgram(program->handle, 1, &device->id, options, NULL, NULL);
    if (code == CL_SUCCESS) return CM_OK;
    cm_status status = build_failed(device, program, code, options);
    clReleaseProgram(program->handle);
    cmi_count_object(-1);
    return status;
}

static cm_status compile(cmi_device *device, cmi_program *program)
{
    char options[512], *prelude = NULL, *file = NULL;
    size_t prelude_bytes = 0, file_bytes = 0;
    cm_status status = CM_OK;
    int64_t start = cmi_now_ns();
    uint64_t hash = CMI_HASH_START;

    CM_TRY_GOTO(done, cmi_kernel_text("cm_prelude", &prelude, &prelude_bytes));
    CM_TRY_GOTO(done, cmi_kernel_text(program->source, &file, &file_bytes));
    const char *defines = program->defines ? program->defines : "";
    const char *parts[PARTS] = {prelude, "\n", defines, "\n", file};
    size_t sizes[PARTS] = {prelude_bytes, 1, strlen(defines), 1, file_bytes};
    write_options(device, program->exact, options, sizeof options);
    bool cached = cmi_binary_wanted(device, options), loaded = false;
    for (int i = 0; i < PARTS && cached; i++)
        hash = cmi_hash(hash, parts[i], sizes[i]);
    if (cached) loaded = cmi_binary_load(device, options, hash, &program->handle);
    if (loaded) cmi_count_object(1);
    if (!loaded) CM_TRY_GOTO(done, build(device, program, options, parts, sizes));
    cmi_log(CM_LOG_DEBUG, "kernel", "%s %s.cl for %s in %.0f ms", loaded ? "loaded" : "built",
            program->source, device->facts.name, (double)(cmi_now_ns() - start) / 1e6);
    if (cached && !loaded) cmi_binary_save(device, options, hash, program->handle);
done:
    cmi_free(prelude);
    cmi_free(file);
    return status;
}

static cm_status find_program(cmi_device *device, const cmi_kernel *kernel, cmi_program **out)
{
    cmi_program *program = NULL;

    for (program = device->programs; program; program = program->next)
        if (program->exact == kernel->exact && cmi_same_text(program->source, kernel->source) &&
            cmi_same_text(program->defines, kernel->defines)) {
            *out = program;
            return CM_OK;
        }
    CM_TRY(CMI_NEW(1, &program));
    program->source = kernel->source;
    program->exact = kernel->exact;
    /* The caller's text may go with its model; the program stays with the device. */
    cm_status status =
        cmi_strdup(kernel->defines ? kernel->defines : "", (char **)&program->defines);
    if (!status) status = compile(device, program);
    if (status) {
        cmi_free((char *)program->defines);
        cmi_free(program);
        return status;
    }
    program->next = device->programs;
    device->programs = program;
    *out = program;
    return CM_OK;
}

cm_status cmi_program_kernel(cmi_device *device, cmi_kernel *kernel, cl_kernel *out)
{
    cmi_program *program = NULL;
    cl_int code = CL_SUCCESS;

    *out = NULL;
    CM_TRY(find_program(device, kernel, &program));
    kernel->defines = program->defines;
    *out = clCreateKernel(program->handle, kernel->name, &code);
    if (code != CL_SUCCESS) {
        *out = NULL;
        cm_status status = cmi_cl_error(code, "clCreateKernel");
        cmi_error_prefix("kernel %s of %s.cl", kernel->name, kernel->source);
        return status;
    }
    cmi_count_object(1);
    return CM_OK;
}

void cmi_program_free_all(cmi_device *device)
{
    while (device->programs) {
        cmi_program *program = device->programs;
        device->programs = program->next;
        clReleaseProgram(program->handle);
        cmi_count_object(-1);
        cmi_free((char *)program->defines);
        cmi_free(program);
    }
}
