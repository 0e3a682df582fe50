/* gemm_packed.c - the product by our packed kernel, cl/gemm.cl, with the epilogue fused: one
 * launch.
 *
 * This file decides the cut: the tile from the choice table or the vector width, the blocks from
 * the caches of today's CPUs, the rectangles from the number of compute units.  The blocks of k are
 * not in the table: they give the order of the additions and so the bits, which the tile does not
 * touch.  Packed panels live in the stream's workspace, a part for each work-item.
 *
 * Called by the owner of the stream. */
#include <stdatomic.h>
#include <stdio.h>
#include "device/gemm_internal.h"
#include "device/internal.h"

/* KC is the largest block of k: a longer one saves passes over C.  A block of A has MC x KC floats
 * (384 KiB) and shares the second-level cache with a panel of B.  An operand that could be read in
 * place is packed all the same when it is used often (B from IN_PLACE_ROWS rows of C on) or when
 * its steps lie pages apart (A). */
enum { KC = 1024, MC = 96, IN_PLACE_ROWS = 512, IN_PLACE_STEPS = 256 };

typedef struct cut {
    size_t mr, nr;                  /* the tile */
    size_t kc, mc;                  /* the blocks */
    size_t rows_each, columns_each; /* the rectangle of a work-item */
    size_t items, part;             /* work-items, floats of workspace for each */
    bool pack_a, pack_b;
} cut;

enum { MOST_ROWS = 12 };
static _Atomic uint64_t products[MOST_ROWS + 1]; /* by rows of the tile */

uint64_t cmi_gemm_tile_count(size_t rows)
{
    return rows <= MOST_ROWS ? atomic_load(&products[rows]) : 0;
}

static size_t up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t divided(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* 16 registers of 8 or 4 floats hold 12 sums, 2 vectors of B and 1 of A.  32 registers of 16 would
 * hold 24 sums; 16 of them already hide the latency of the additions, and 8 rows divide the batches
 * that people use. */
size_t cmi_gemm_default_rows(size_t vector)
{
    return vector == 16 ? 8 : vector == 1 ? 4 : 6;
}

/* `rows` of the tile, 0: the default for the vector. */
static cut cut_product(const cmi_device_facts *facts, const cmi_gemm *g, size_t rows)
{
    cut c = {.mr = rows ? rows : cmi_gemm_default_rows(facts->vector), .nr = 2 * facts->vector};
    /* Blocks of k of equal length; a short rest would cost a pass over C for little. */
    c.kc = g->k ? divided(g->k, divided(g->k, KC)) : 1;
    c.rows_each = up(g->m, c.mr);
    c.columns_each = up(g->n, c.nr);
    size_t wanted = facts->serial ? 1 : facts->units;
    if (facts->shape == CMI_SHAPE_GPU) {
        /* Never chosen there but for k = 0 and by force; a few dozen work-items keep the workspace
         * small. */
        c.rows_each = up(divided(g->m, 8), c.mr);
        c.columns_each = up(divided(g->n, 8), c.nr);
    } else if (wanted > 1) {
        /* Along the longer side: what is packed twice is the other operand. */
        if (g->n >= g->m)
            c.columns_each = up(divided(g->n, wanted), c.nr);
        else
            c.rows_each = up(divided(g->m, wanted), c.mr);
    }
    c.mc =
        c.rows_each < MC ? c.rows_each : up(divided(c.rows_each, divided(c.rows_each, MC)), c.mr);
    c.pack_a = g->m > IN_PLACE_ROWS && c.kc > IN_PLACE_STEPS;
    c.pack_b = g->m > IN_PLACE_ROWS;
    c.items = divided(g->m, c.rows_each) * divided(g->n, c.columns_each);
    c.part = up(c.mc * c.kc + c.kc * c.columns_each + (c.mr + 1) * c.nr,
                16); /* A, B, the edge tile and its bias */
    return c;
}

cm_status cmi_gemm_packed(cmi_stream *stream, const cmi_gemm *g)
{
    char defines[512];
    const cmi_kernel kernel = {.source = "gemm", .name = "gemm", .defines = defines};
    cut c = cut_product(&stream->device->facts, g, cmi_choice_gemm(stream->device, g).rows);
    cmi_buffer *workspace = NULL;

    /* Compiling takes a second: products without an activation share the program of the first one
     * that had one. */
    char *shared = stream->device->epilogue;
    if (g->activation && !*shared)
        snprintf(shared, sizeof stream->device->epilogue, "%s", g->activation);
    snprintf(defines, sizeof defines, "#define CM_MR %zu\n#define CM_EPILOGUE(x) (%s)\n", c.mr,
             g->activation ? g->activation
             : *shared     ? shared
                           : "x");
    atomic_fetch_add(&products[c.mr], 1);
    CM_TRY(cmi_stream_workspace(stream, c.items * c.part * sizeof(float), &workspace));
    return CMI_LAUNCH(stream, &kernel, ((cmi_range){.items = c.items}), cmi_uint(g->m),
                      cmi_uint(g->n), cmi_uint(g->k), cmi_uint(g->transpose_a),
                      cmi_uint(g->transpose_b), cmi_uint(c.rows_each), cmi_uint(c.columns_each),
                      cmi_uint(c.mc), cmi_uint(c.kc), cmi_uint(c.pack_a), cmi_uint(c.pack_b),
                      cmi_float((double)g->beta), cmi_uint(g->bias.buffer != NULL),
                      cmi_uint(g->activation != NULL), cmi_uint(c.part), cmi_buf(g->a),
                      cmi_buf(g->b), cmi_buf(g->c), cmi_buf(g->bias.buffer ? g->bias : g->c),
                      cmi_buf((cmi_view){workspace, 0, 0}));
}
