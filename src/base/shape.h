/* shape.h - the shape of a tensor: at most 8 sizes, row-major, the batch axis not included unless
 * said. */
#ifndef CMI_BASE_SHAPE_H
#define CMI_BASE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CMI_MAX_RANK 8

typedef struct cmi_shape {
    int rank;
    int64_t dim[CMI_MAX_RANK];
} cmi_shape;

/* Product of the sizes (1 for rank 0); false when it does not fit in int64_t or a size is negative.
 */
bool cmi_shape_count(const cmi_shape *shape, int64_t *count);
bool cmi_shape_equal(const cmi_shape *a, const cmi_shape *b);
/* "(28, 28, 1)", "(20,)", with `batch` "(None, 20)"; writes at most `bytes`, returns `text`. */
const char *cmi_shape_text(const cmi_shape *shape, bool batch, char *text, size_t bytes);

#endif
