/* device_pick.c - a device for tests, and guarded arrays on it.  See device_pick.h. */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "support/device_pick.h"

enum { BAND = 61, INT_BAND = 64, LONGEST_BAND = 64 };

#define BAND_BITS 0x7fa0a5a5u /* a signalling not-a-number that no computation makes */
#define NAN_BITS  0x7fc00000u

cm_status pick_open(pick *p)
{
    cm_device_choice choices[CM_MAX_DEVICES];
    int count = 0;

    memset(p, 0, sizeof *p);
    CM_TRY(cm_device_list_create(&p->list));
    CM_TRY(cm_device_select(p->list, NULL, choices, &count));
    CM_TRY(cmi_device_open(p->list, &choices[0], &p->device));
    CM_TRY(cmi_stream_create(p->device, 60000, &p->stream));
    cmi_stream_own(p->stream);
    cmi_stream_rewind(p->stream, CMI_TRACK_OTHER);
    return CM_OK;
}

void pick_clear(pick *p)
{
    for (int i = 0; i < p->count; i++)
        cmi_buffer_destroy(p->arrays[i].buffer);
    p->count = 0;
    if (p->stream) cmi_stream_rewind(p->stream, CMI_TRACK_OTHER);
}

void pick_close(pick *p)
{
    pick_clear(p);
    cmi_stream_destroy(p->stream);
    cmi_device_close(p->device);
    cm_device_list_destroy(p->list);
    memset(p, 0, sizeof *p);
}

static cm_status make(pick *p, size_t count, size_t band, cmi_view *view)
{
    cmi_buffer *buffer = NULL;
    size_t element = sizeof(float), all = count + 2 * band;

    CM_ASSERT(p->count < PICK_MAX_ARRAYS);
    CM_TRY(cmi_buffer_create(p->device, all * element, &buffer));
    *view = (cmi_view){buffer, band, count};
    p->arrays[p->count++] = *view;
    CM_TRY(cmi_buffer_fill(p->stream, buffer, 0, all * element, BAND_BITS));
    return cmi_buffer_fill(p->stream, buffer, band * element, count * element, NAN_BITS);
}

cm_status pick_new(pick *p, size_t count, cmi_view *view)
{
    return make(p, count, BAND, view);
}

cm_status pick_put(pick *p, const float *values, size_t count, cmi_view *view)
{
    CM_TRY(make(p, count, BAND, view));
    return cmi_buffer_write(p->stream, view->buffer, view->offset * sizeof(float),
                            count * sizeof(float), values);
}

cm_status pick_put_ints(pick *p, const int32_t *values, size_t count, cmi_view *view)
{
    CM_TRY(make(p, count, INT_BAND, view));
    return cmi_buffer_write(p->stream, view->buffer, view->offset * sizeof(int32_t),
                            count * sizeof(int32_t), values);
}

static cm_status check_band(pick *p, cmi_view view, size_t from, size_t count, const char *side)
{
    uint32_t band[LONGEST_BAND];

    CM_TRY(cmi_buffer_read(p->stream, view.buffer, from * sizeof band[0], count * sizeof band[0],
                           band));
    for (size_t i = 0; i < count; i++)
        if (band[i] != BAND_BITS)
            return cmi_error(
                CM_E_NUMERIC,
                "the guard band %s an array of %zu elements was written to, at place %zu", side,
                view.count, i);
    return CM_OK;
}

static cm_status check_view(pick *p, cmi_view view)
{
    CM_TRY(check_band(p, view, 0, view.offset, "before"));
    return check_band(p, view, view.offset + view.count, view.offset, "behind");
}

cm_status pick_get(pick *p, cmi_view view, float *values)
{
    CM_TRY(check_view(p, view));
    return cmi_buffer_read(p->stream, view.buffer, view.offset * sizeof(float),
                           view.count * sizeof(float), values);
}

cm_status pick_check(pick *p)
{
    for (int i = 0; i < p->count; i++)
        CM_TRY(check_view(p, p->arrays[i]));
    return CM_OK;
}
