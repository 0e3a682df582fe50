/* link.c - the table of links, and which of them joins a pair of ranks.
 *
 * A link says how bytes get from one rank to another: shared host memory, a peer copy, another
 * machine.  The links stand in registry.def in order of preference; each may refuse a pair
 * (CM_E_UNSUPPORTED), and the first that accepts wins.  Called while a communicator is made, on the
 * thread that makes it. */
#include "comm/collective.h"

#define CM_COLLECTIVE(name)
#define CM_LINK(name) extern const cmi_link cmi_link_##name;
#include "comm/registry.def"
#undef CM_LINK

#define CM_LINK(name) &cmi_link_##name.entry,
static const cmi_entry *const entries[] = {
#include "comm/registry.def"
};
#undef CM_LINK
#undef CM_COLLECTIVE

const cmi_registry cmi_link_registry = {
    .kind = "link", .entries = entries, .count = sizeof entries / sizeof entries[0]};

cm_status cmi_link_connect(cmi_comm *comm, int from, int to, cmi_edge **edge, const cmi_link **link)
{
    for (size_t i = 0; i < cmi_link_registry.count; i++) {
        /* The entry is the first member of its descriptor. */
        const cmi_link *candidate = (const cmi_link *)(const void *)entries[i];
        cm_status status = candidate->connect(comm, from, to, edge);
        if (status == CM_E_UNSUPPORTED) continue;
        *link = status ? NULL : candidate;
        return status;
    }
    *edge = NULL;
    *link = NULL;
    return cmi_error(CM_E_UNSUPPORTED, "no link joins rank %d to rank %d", from, to);
}
