/* knobs_public.c - the table of knob.h as programs see it (clmirror/knobs.h).
 *
 * The public struct is one of its own, so that the internal table may change without breaking
 * programs.  Any thread. */
#include <clmirror/knobs.h>
#include "base/knob.h"

int cm_knob_count(void)
{
    return CMI_KNOB_COUNT;
}

cm_knob_info cm_knob_get(int index)
{
    cm_knob_info none = {0};
    if (index < 0 || index >= CMI_KNOB_COUNT) return none;
    cmi_knob_info info = cmi_knob_describe((cmi_knob)index);
    return (cm_knob_info){info.variable, info.fallback, info.help, info.value,
                          info.from_environment};
}
