/* say.h - false answers of info queries; see say.c. */
#ifndef TESTS_FAULT_SAY_H
#define TESTS_FAULT_SAY_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

/* "CL_DEVICE_TYPE" for the parameter of a device, platform or kernel work-group query; NULL for one
 * that no rule can name. */
const char *say_name(const char *call, cl_uint param);
/* Answers the query with `text` in the parameter's own type, by OpenCL's rules for sizes. */
cl_int say_answer(const char *call, cl_uint param, const char *text, size_t bytes, void *value,
                  size_t *needed);

#endif
