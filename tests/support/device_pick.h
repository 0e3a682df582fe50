/* device_pick.h - one OpenCL device and stream for a test, and arrays on it between guard bands.
 *
 * Every array stands in a buffer of its own, at an odd offset, with a band of a known pattern
 * before and behind; what is not given is filled with not-a-number, so that an element that nobody
 * wrote, and a kernel that reads what it must not, show up.  Reading an array back checks its
 * bands.
 *
 * Functions return a status, so that the golden runner can use them without Check.  Main thread. */
#ifndef DEVICE_PICK_H
#define DEVICE_PICK_H

#include <clmirror/device.h>
#include "device/stream.h"

enum { PICK_MAX_ARRAYS = 64 };

typedef struct pick {
    cm_device_list *list;
    cmi_device *device;
    cmi_stream *stream;
    cmi_view arrays[PICK_MAX_ARRAYS];
    int count;
} pick;

/* Opens the device that the default selection names first.  Close accepts what a failed open
 * left. */
cm_status pick_open(pick *p);
void pick_close(pick *p);
/* Frees all arrays and starts the launches anew: between two cases. */
void pick_clear(pick *p);

/* An array of `count` elements (0 allowed), of not-a-number or of the given values. */
cm_status pick_new(pick *p, size_t count, cmi_view *view);
cm_status pick_put(pick *p, const float *values, size_t count, cmi_view *view);
/* 32-bit integers; the array begins at a multiple of 4 elements, as tables of uint4 need it. */
cm_status pick_put_ints(pick *p, const int32_t *values, size_t count, cmi_view *view);
/* Reads an array back; CM_E_NUMERIC when one of its bands was written to. */
cm_status pick_get(pick *p, cmi_view view, float *values);
/* Checks the bands of all arrays. */
cm_status pick_check(pick *p);

#endif
