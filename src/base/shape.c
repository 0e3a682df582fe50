/* shape.c - counting, comparing and showing shapes.
 *
 * One idea: a product of sizes is where a wrong file or a mistyped option becomes a far too
 * small allocation, so it is computed in one place, with the overflow found before it happens.
 * Pure functions, any thread. */
#include <inttypes.h>
#include <stdio.h>
#include "base/shape.h"
#include "base/config.h"

bool cmi_shape_count(const cmi_shape *shape, int64_t *count)
{
    bool empty = false;
    int64_t product = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dim[i] < 0) return false;
        if (shape->dim[i] == 0) empty = true;
    }
    /* With a zero among the sizes the product is 0, however large the others are. */
    for (int i = 0; i < shape->rank && !empty; i++) {
        if (product > INT64_MAX / shape->dim[i]) return false;
        product *= shape->dim[i];
    }
    *count = empty ? 0 : product;
    return true;
}

bool cmi_shape_equal(const cmi_shape *a, const cmi_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] != b->dim[i]) return false;
    }
    return true;
}

const char *cmi_shape_text(const cmi_shape *shape, bool batch, char *text, size_t bytes)
{
    /* 8 sizes of at most 20 characters, separators, "None" and brackets stay far below this. */
    char full[256];
    int length = cmi_format(full, sizeof full, batch ? "(None" : "(");
    for (int i = 0; i < shape->rank; i++) {
        length += cmi_format(full + length, sizeof full - (size_t)length, "%s%" PRId64,
                             i > 0 || batch ? ", " : "", shape->dim[i]);
    }
    /* Python's way: a tuple of one needs its comma. */
    bool single = shape->rank + (batch ? 1 : 0) == 1;
    cmi_format(full + length, sizeof full - (size_t)length, single ? ",)" : ")");
    cmi_format(text, bytes, "%s", full);
    return text;
}
