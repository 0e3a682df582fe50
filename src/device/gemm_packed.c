/* gemm_packed.c - the product by our packed kernel, cl/gemm.cl, with the epilogue fused.
 *
 * Three launches: pack A, pack B, multiply.  The panels live in the stream's workspace.  The tile follows the
 * vector width: CM_MR x 2 vectors of sums fill the registers of the machine that has vectors so wide.
 *
 * Called by the owner of the stream. */
#include <stdio.h>
#include "device/gemm_internal.h"
#include "device/internal.h"

enum { KC = 384 };

typedef struct tile_shape {
    size_t rows, columns;
} tile_shape;

static tile_shape tile_of(const cmi_stream *stream)
{
    size_t v = stream->device->facts.vector;

    /* 32 registers of 16 floats: 24 sums, 2 of B, 1 of A; 16 registers of 8 or 4: 12 sums. */
    return (tile_shape){.rows = v == 16 ? 12 : v == 1 ? 4 : 6, .columns = 2 * v};
}

static size_t rounded(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static cm_status pack(cmi_stream *stream, const char *defines, bool along, size_t extent, size_t k, size_t width,
                      cmi_view from, cmi_view to)
{
    const cmi_kernel kernel = {.source = "gemm", .name = "pack", .defines = defines};
    size_t panels = (extent + width - 1) / width, blocks = (k + KC - 1) / KC;
    /* `along`: elements along the panel's width lie next to each other in memory. */
    size_t stride_e = along ? 1 : k, stride_s = along ? extent : 1;

    return CMI_LAUNCH(stream, &kernel, ((cmi_range){.items = panels * blocks}), cmi_uint(extent), cmi_uint(k),
                      cmi_uint(width), cmi_uint(stride_e), cmi_uint(stride_s), cmi_buf(from), cmi_buf(to));
}

/* How many panels a work-item takes each way: a rectangle whose share of A stays in the second-level cache, but
 * no fewer than a few work-items per compute unit. */
static void cut(const cmi_stream *stream, size_t row_panels, size_t column_panels, size_t *rows_each,
                size_t *columns_each)
{
    size_t wanted = stream->device->facts.serial ? 1 : (size_t)stream->device->facts.units * 4;

    *rows_each = row_panels < 16 ? row_panels : 16;
    *columns_each = column_panels;
    size_t down = (row_panels + *rows_each - 1) / *rows_each;
    if (stream->device->facts.shape == CMI_SHAPE_GPU) {
        *rows_each = *columns_each = 1;
    } else if (down < wanted) {
        size_t across = (wanted + down - 1) / down;
        *columns_each = (column_panels + across - 1) / across;
    }
}

cm_status cmi_gemm_packed(cmi_stream *stream, const cmi_gemm *g)
{
    char defines[64], fused[512];
    const cmi_kernel kernel = {.source = "gemm", .name = "gemm", .defines = g->activation ? fused : defines};
    tile_shape tile = tile_of(stream);
    size_t align = (size_t)stream->device->facts.info.align_bytes / sizeof(float);
    size_t a_count = rounded(rounded(g->m, tile.rows) * g->k + 1, align), b_count = rounded(g->n, tile.columns) * g->k + 1;
    size_t row_panels = (g->m + tile.rows - 1) / tile.rows, column_panels = (g->n + tile.columns - 1) / tile.columns;
    size_t rows_each = 1, columns_each = 1;
    cmi_buffer *workspace = NULL;

    snprintf(defines, sizeof defines, "#define CM_MR %zu\n#define CM_KC %d\n", tile.rows, KC);
    if (g->activation) snprintf(fused, sizeof fused, "%s#define CM_EPILOGUE(x) (%s)\n", defines, g->activation);
    CM_TRY(cmi_stream_workspace(stream, (a_count + b_count) * sizeof(float), &workspace));
    cmi_view a = {workspace, 0, a_count}, b = {workspace, a_count, b_count};
    if (g->k) {
        CM_TRY(pack(stream, defines, g->transpose_a, g->m, g->k, tile.rows, g->a, a));
        CM_TRY(pack(stream, defines, !g->transpose_b, g->n, g->k, tile.columns, g->b, b));
    }
    cut(stream, row_panels, column_panels, &rows_each, &columns_each);
    size_t down = (row_panels + rows_each - 1) / rows_each, across = (column_panels + columns_each - 1) / columns_each;
    return CMI_LAUNCH(stream, &kernel, ((cmi_range){.items = down * across}), cmi_uint(g->m), cmi_uint(g->n),
                      cmi_uint(g->k), cmi_uint(rows_each), cmi_uint(columns_each), cmi_uint(g->n), cmi_float(g->beta),
                      cmi_uint(g->bias.buffer != NULL), cmi_buf(a), cmi_buf(b), cmi_buf(g->c),
                      cmi_buf(g->bias.buffer ? g->bias : g->c));
}
