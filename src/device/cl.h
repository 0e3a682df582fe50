/* cl.h - the one place that includes OpenCL; inside device/ only.  Every call's failure goes
 * through CL_TRY, which records name, code and meaning (cl_error.c). */
#ifndef CMI_DEVICE_CL_H
#define CMI_DEVICE_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include "base/error.h"
#include "device/device.h"

/* "CL_OUT_OF_RESOURCES"; static text, also for CLBlast's own codes and unknown ones. */
const char *cmi_cl_name(int code);
/* Maps a code to a status: -4 -5 -6 -61 CM_E_MEMORY, -11 CM_E_BUILD, -1 -2 -1001 CM_E_NO_DEVICE,
 * else CM_E_OPENCL. */
cm_status cmi_cl_status(int code);
/* Records "call: CL_NAME (code)[; advice]" and returns the status. */
cm_status cmi_cl_error(int code, const char *call);

#define CL_TRY(call_name, expr)                                                                    \
    do {                                                                                           \
        cl_int cl_try_code = (expr);                                                               \
        if (cl_try_code != CL_SUCCESS) return cmi_cl_error(cl_try_code, call_name);                \
    } while (0)

/* platform.c: the handle behind an entry of the list. */
cl_device_id cmi_device_list_id(const cm_device_list *list, int index);
/* Whether a duplicate is one by evidence (handle, PCI address, UUID, or name, units and memory) and
 * not only because it is a CPU of a second platform. */
bool cmi_device_list_certain(const cm_device_list *list, int index);

#endif
