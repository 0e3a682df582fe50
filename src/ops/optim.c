/* optim.c - the update of the parameters and the sums of squares; mirrors cl/optim.cl. */
#include <stdio.h>
#include "ops/ops.h"

enum { DEFINES = 2048 };

cm_status cmi_op_update(cmi_stream *stream, const cmi_update *u)
{
    char defines[DEFINES];
    cmi_kernel kernel = {.source = "optim", .name = "update", .defines = defines, .exact = true};
    cmi_view slot[3];

    int length = snprintf(defines, DEFINES, "#define CM_SLOTS %d\n#define CM_UPDATE %s\n", u->slots,
                          u->body);
    CM_ASSERT(length < DEFINES);
    for (int i = 0; i < 3; i++)
        slot[i] = i < u->slots ? u->slot[i] : u->params;
    return CMI_LAUNCH(
        stream, &kernel, ((cmi_range){.groups = u->blocks}), cmi_uint(u->blocks),
        cmi_uint(u->slot_begin), cmi_float((double)u->decay), cmi_float((double)u->limit),
        cmi_uint(u->factor.buffer != NULL), cmi_float((double)u->h[0]), cmi_float((double)u->h[1]),
        cmi_float((double)u->h[2]), cmi_float((double)u->h[3]), cmi_float((double)u->h[4]),
        cmi_float((double)u->h[5]), cmi_float((double)u->h[6]), cmi_float((double)u->h[7]),
        cmi_buf(u->table), cmi_buf(u->factor.buffer ? u->factor : u->grads), cmi_buf(u->grads),
        cmi_buf(u->params), cmi_buf(u->out.buffer ? u->out : u->params), cmi_buf(slot[0]),
        cmi_buf(slot[1]), cmi_buf(slot[2]));
}

cm_status cmi_op_square_sums(cmi_stream *stream, size_t blocks, cmi_view table, cmi_view grads,
                             cmi_view partial)
{
    static const cmi_kernel kernel = {.source = "optim", .name = "square_sums", .exact = true};

    return CMI_LAUNCH(stream, &kernel, ((cmi_range){.items = blocks}), cmi_uint(blocks),
                      cmi_buf(table), cmi_buf(grads), cmi_buf(partial));
}
