/* query.h - asks the drivers for platforms and devices, with a deadline; see query.c and
 * describe.c.  Used by platform.c only. */
#ifndef CMI_DEVICE_QUERY_H
#define CMI_DEVICE_QUERY_H

#include "device/cl.h"

#define CMI_MAX_PLATFORMS 64

/* One device as its driver describes it.  info.platform, info.device and info.duplicate_of are the
 * list's business: platform.c fills them. */
typedef struct cmi_found {
    cm_device_info info;
    cl_device_id id;
    bool has_pci, has_uuid;
    cl_uint pci[4]; /* domain, bus, device, function */
    cl_uchar uuid[16];
    bool certain; /* a duplicate by evidence, not only because it is a second CPU platform */
} cmi_found;

typedef struct cmi_answer {
    cm_platform_info info; /* reason: empty when all is well */
    int count;
    cmi_found *found; /* cmi_free it */
} cmi_answer;

/* Fills ids[0 ... count-1].  No platform is CM_OK with count 0 and the reason in `problem` (else
 * empty). CM_E_MEMORY. */
cm_status cmi_query_platforms(cl_platform_id ids[CMI_MAX_PLATFORMS], int *count, char *problem,
                              size_t problem_bytes);
/* A platform that fails or stays silent is CM_OK with the reason in answer->info.reason.
 * CM_E_MEMORY. */
cm_status cmi_query_platform(cl_platform_id id, cmi_answer *answer);

/* describe.c: fills the facts of found->id; false: not usable, found->info.reason says why. */
bool cmi_describe_device(cmi_found *found);
cl_int cmi_platform_text(cl_platform_id id, cl_platform_info param,
                         char text[CM_DEVICE_TEXT_BYTES]);

#endif
