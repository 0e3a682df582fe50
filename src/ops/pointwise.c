/* pointwise.c - launches one formula over all elements; mirrors cl/pointwise.cl.
 *
 * A formula becomes a program of its own: its text is the #define line put before the kernel file.
 */
#include <stdio.h>
#include "ops/ops.h"

enum { DEFINES = 1024 };

/* Both halves stand in one text, so that forward and backward share a program. */
static void write_defines(const cmi_formula *formula, char *defines)
{
    int length = snprintf(defines, DEFINES,
                          "#define CM_MAP(x) (%s)\n#define CM_MAP_GRADIENT(dy, x, y) (%s)\n",
                          formula->map, formula->gradient);
    CM_ASSERT(length < DEFINES);
}

cm_status cmi_op_map(cmi_stream *stream, const cmi_formula *formula, const float h[4], size_t n,
                     cmi_view x, cmi_view y)
{
    char defines[DEFINES];
    cmi_kernel kernel = {.source = "pointwise", .name = "map", .defines = defines};
    size_t strip = 0;
    cmi_range range = cmi_strips(stream, n, &strip);

    write_defines(formula, defines);
    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(n), cmi_uint(strip), cmi_float((double)h[0]),
                      cmi_float((double)h[1]), cmi_float((double)h[2]), cmi_float((double)h[3]),
                      cmi_buf(x), cmi_buf(y));
}

cm_status cmi_op_map_gradient(cmi_stream *stream, const cmi_formula *formula, const float h[4],
                              size_t n, cmi_view dy, cmi_view x, cmi_view y, cmi_view dx)
{
    char defines[DEFINES];
    cmi_kernel kernel = {.source = "pointwise", .name = "map_gradient", .defines = defines};
    size_t strip = 0;
    cmi_range range = cmi_strips(stream, n, &strip);

    write_defines(formula, defines);
    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(n), cmi_uint(strip), cmi_float((double)h[0]),
                      cmi_float((double)h[1]), cmi_float((double)h[2]), cmi_float((double)h[3]),
                      cmi_buf(dy), cmi_buf(x), cmi_buf(y), cmi_buf(dx));
}

cm_status cmi_op_from_uint8(cmi_stream *stream, size_t n, float scale, cmi_view x, cmi_view y)
{
    static const cmi_kernel kernel = {.source = "pointwise", .name = "from_uint8"};
    size_t strip = 0;
    cmi_range range = cmi_strips(stream, n, &strip);

    return CMI_LAUNCH(stream, &kernel, range, cmi_uint(n), cmi_uint(strip),
                      cmi_float((double)scale), cmi_buf(x), cmi_buf(y));
}
