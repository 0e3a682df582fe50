/* launch.c - sets a typed argument list, shapes the work size, enqueues.
 *
 * Call sites.  A training step is the same sequence of launches every time, so a stream keeps, per
 * track, a list of sites: the kernel object and the arguments that were last set at this place of
 * the sequence.  A launch takes the site under the cursor, sets only what changed, and moves on.
 * When the sequence differs (a rank without rows skips its kernels) the site is looked for behind
 * the cursor and moved up, or made.
 *
 * Called by the owner of the stream. */
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "device/internal.h"

static bool same_kernel(const cmi_kernel *a, const cmi_kernel *b)
{
    return cmi_same_text(a->name, b->name) && cmi_same_text(a->source, b->source) &&
           cmi_same_text(a->defines, b->defines) && a->exact == b->exact;
}

static cm_status make_site(cmi_stream *stream, const cmi_kernel *kernel, cmi_site *site)
{
    memset(site, 0, sizeof *site);
    site->kernel = *kernel;
    CM_TRY(cmi_program_kernel(stream->device, &site->kernel, &site->handle));
    /* The limit belongs to the kernel and may be far below the device's. */
    cl_int code =
        clGetKernelWorkGroupInfo(site->handle, stream->device->id, CL_KERNEL_WORK_GROUP_SIZE,
                                 sizeof site->group_limit, &site->group_limit, NULL);
    if (code == CL_SUCCESS) return CM_OK;
    clReleaseKernel(site->handle);
    cmi_count_object(-1);
    return cmi_cl_error(code, "clGetKernelWorkGroupInfo");
}

/* The site for this launch, moved under the cursor, or NULL if there is none yet. */
static cmi_site *known_site(cmi_stream *stream, const cmi_kernel *kernel)
{
    cmi_track *track = &stream->tracks[stream->track];

    for (size_t i = track->cursor; i < track->count; i++) {
        if (!same_kernel(&track->sites[i].kernel, kernel)) continue;
        if (i != track->cursor) {
            cmi_site moved = track->sites[i];
            track->sites[i] = track->sites[track->cursor];
            track->sites[track->cursor] = moved;
        }
        return &track->sites[track->cursor++];
    }
    return NULL;
}

/* A new site under the cursor. */
static cm_status next_site(cmi_stream *stream, const cmi_kernel *kernel, cmi_site **out)
{
    cmi_track *track = &stream->tracks[stream->track];
    cmi_site made;

    if (track->count == track->capacity) {
        size_t capacity = track->capacity ? 2 * track->capacity : 32;
        CM_TRY(cmi_realloc(capacity, sizeof *track->sites, (void **)&track->sites));
        track->capacity = capacity;
    }
    CM_TRY(make_site(stream, kernel, &made));
    track->sites[track->count] = track->cursor < track->count ? track->sites[track->cursor] : made;
    track->sites[track->cursor] = made;
    track->count++;
    *out = &track->sites[track->cursor++];
    return CM_OK;
}

static cm_status set_arguments(cmi_site *site, const cmi_arg *args, int count)
{
    cl_uint index = 0;

    CM_ASSERT(count <= CMI_MAX_ARGS);
    for (int i = 0; i < count; i++) {
        const cmi_arg *arg = &args[i], *old = i < site->count ? &site->args[i] : NULL;
        cl_int code = CL_SUCCESS;

        if (old && old->kind != arg->kind) old = NULL;
        if (arg->kind == CMI_ARG_UINT) {
            if (!old || old->whole != arg->whole)
                code = clSetKernelArg(site->handle, index, sizeof(cl_uint), &arg->whole);
        } else if (arg->kind == CMI_ARG_FLOAT) {
            if (!old || memcmp(&old->real, &arg->real, sizeof arg->real))
                code = clSetKernelArg(site->handle, index, sizeof(cl_float), &arg->real);
        } else {
            cl_uint offset = (cl_uint)arg->view.offset;
            CM_ASSERT(arg->view.buffer && arg->view.offset <= UINT32_MAX);
            if (!old || site->buffer_ids[i] != arg->view.buffer->id)
                code =
                    clSetKernelArg(site->handle, index, sizeof(cl_mem), &arg->view.buffer->handle);
            index++;
            if (code == CL_SUCCESS && (!old || old->view.offset != arg->view.offset))
                code = clSetKernelArg(site->handle, index, sizeof(cl_uint), &offset);
        }
        if (code != CL_SUCCESS) {
            site->count = 0;
            return cmi_cl_error(code, "clSetKernelArg");
        }
        index++;
        site->args[i] = *arg;
        site->buffer_ids[i] = arg->kind == CMI_ARG_VIEW ? arg->view.buffer->id : 0;
    }
    site->count = count;
    return CM_OK;
}

/* CPU shape: groups of one work-item, since a driver compiles a kernel anew for every group size
 * and one is always right.  GPU shape: the largest power of two within the wish and the kernel's
 * limit. */
static void shape_work(const cmi_stream *stream, const cmi_site *site, cmi_range range,
                       size_t *global, size_t *local)
{
    size_t limit = site->group_limit < 1 ? 1 : site->group_limit,
           wish = range.group_items ? range.group_items : 64;

    *local = 1;
    if (stream->device->facts.shape == CMI_SHAPE_GPU)
        while (*local * 2 <= wish && *local * 2 <= limit)
            *local *= 2;
    if (range.groups)
        *global = range.groups * *local;
    else
        *global = (range.items + *local - 1) / *local * *local;
}

static cm_status enqueue(cmi_stream *stream, const cmi_site *site, cmi_range range)
{
    size_t global = 0, local = 0;

    shape_work(stream, site, range, &global, &local);
    cl_int code = clEnqueueNDRangeKernel(stream->queue, site->handle, 1, NULL, &global, &local, 0,
                                         NULL, NULL);
    cmi_stream_beat(stream);
    if (code != CL_SUCCESS) {
        cm_status status = cmi_cl_error(code, "clEnqueueNDRangeKernel");
        cmi_error_prefix("kernel %s (%zu work-items in groups of %zu)", site->kernel.name, global,
                         local);
        return status;
    }
    stream->launches++;
    return CM_OK;
}

/* Whether a site of the stream other than `except` has the same kernel. */
static bool launched_before(const cmi_stream *stream, const cmi_site *except)
{
    for (int t = 0; t < CMI_TRACK_COUNT; t++)
        for (size_t i = 0; i < stream->tracks[t].count; i++) {
            const cmi_site *site = &stream->tracks[t].sites[i];
            if (site != except && same_kernel(&site->kernel, &except->kernel)) return true;
        }
    return false;
}

/* PoCL (3.1 and before) keeps a compiled kernel with the width of its first launch and makes
 * another one for a wider launch; when a launch ends it gives back the newest one, whichever it
 * used.  If two devices run the kernel just then, the process ends with "Assertion
 * `found->ref_count > 0' failed".  So the first launch of a kernel there is as wide as any later
 * one, and does nothing: the first argument of every kernel is a size, and with 0 each work-item
 * returns at once. */
static cm_status widen(cmi_stream *stream, const cmi_site *site, cmi_range range,
                       const cmi_arg *args)
{
    enum {
        WIDE_CPU = 65024,
        WIDE_GPU = 1 << 20
    }; /* below 65535 PoCL counts work-items in 16 bits */
    const cmi_device_facts *facts = &stream->device->facts;
    bool gpu = facts->shape == CMI_SHAPE_GPU;
    size_t global = 0, local = 0, wide = gpu ? WIDE_GPU : WIDE_CPU;
    cl_uint nothing = 0;

    if (strcmp(facts->info.platform_name, "Portable Computing Language") ||
        args[0].kind != CMI_ARG_UINT)
        return CM_OK;
    /* In GPU shape the sites of a kernel may have groups of different sizes. */
    if (!gpu && launched_before(stream, site)) return CM_OK;
    shape_work(stream, site, range, &global, &local);
    if (global >= wide) return CM_OK;
    cl_int code = clSetKernelArg(site->handle, 0, sizeof nothing, &nothing);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(stream->queue, site->handle, 1, NULL, &wide, &local, 0, NULL,
                                      NULL);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(site->handle, 0, sizeof args[0].whole, &args[0].whole);
    return code == CL_SUCCESS ? CM_OK : cmi_cl_error(code, "clEnqueueNDRangeKernel");
}

/* The first launch at a site may compile, now or when the device gets to it: the hook is told, and
 * it is waited for, so that compiling never looks like a device that does not answer. */
static cm_status first_launch(cmi_stream *stream, cmi_site *site, const cmi_kernel *kernel,
                              cmi_range range, const cmi_arg *args, int count)
{
    cm_status status = CM_OK;
    int64_t start = cmi_now_ns();

    cmi_device_building(stream->device, true);
    if (!site) status = next_site(stream, kernel, &site);
    if (!status) status = set_arguments(site, args, count);
    if (!status) status = widen(stream, site, range, args);
    if (!status) status = enqueue(stream, site, range);
    if (!status) {
        cl_int code = clFinish(stream->queue);
        cmi_stream_beat(stream);
        if (code != CL_SUCCESS) status = cmi_cl_error(code, "clFinish");
        site->warm = !status;
    }
    cmi_device_building(stream->device, false);
    cmi_log(CM_LOG_DEBUG, "kernel", "first launch of %s (%s.cl) took %.0f ms", kernel->name,
            kernel->source, (double)(cmi_now_ns() - start) / 1e6);
    return status;
}

cm_status cmi_launch(cmi_stream *stream, const cmi_kernel *kernel, cmi_range range,
                     const cmi_arg *args, int count)
{
    cmi_site *site = NULL;

    cmi_stream_assert_owner(stream);
    if (!range.items && !range.groups) return CM_OK;
    site = known_site(stream, kernel);
    if (!site || !site->warm) {
        CM_TRY_CTX(first_launch(stream, site, kernel, range, args, count), "kernel %s",
                   kernel->name);
        return CM_OK;
    }
    CM_TRY_CTX(set_arguments(site, args, count), "kernel %s", kernel->name);
    return enqueue(stream, site, range);
}

static cmi_range in_strips(size_t n, size_t strip)
{
    return (cmi_range){.items = (n + strip - 1) / strip};
}

cmi_range cmi_strips(const cmi_stream *stream, size_t n, size_t *strip)
{
    const cmi_device_facts *facts = &stream->device->facts;
    enum { SMALLEST = 1024, PER_UNIT = 4 };

    *strip = 1;
    if (facts->shape == CMI_SHAPE_GPU) return in_strips(n, *strip);
    /* Whole vectors, some strips per compute unit for balance, none so short that starting it
     * dominates. */
    *strip = n / ((size_t)facts->units * PER_UNIT) + 1;
    if (*strip < SMALLEST) *strip = SMALLEST;
    *strip = (*strip + 15) / 16 * 16;
    return in_strips(n, *strip);
}

cmi_range cmi_row_strips(const cmi_stream *stream, size_t rows, size_t *strip)
{
    const cmi_device_facts *facts = &stream->device->facts;

    *strip = facts->shape == CMI_SHAPE_GPU ? 1 : rows / ((size_t)facts->units * 4) + 1;
    return in_strips(rows, *strip);
}
