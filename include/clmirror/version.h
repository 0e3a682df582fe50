/* version.h - the library's version, for the preprocessor and at run time. */
#ifndef CLMIRROR_VERSION_H
#define CLMIRROR_VERSION_H

#include <clmirror/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CM_VERSION_MAJOR 0
#define CM_VERSION_MINOR 1
#define CM_VERSION_PATCH 0
#define CM_VERSION       "0.1.0"

/* The version of the library that is running, "major.minor.patch"; static text. */
CM_API const char *cm_version(void);

#ifdef __cplusplus
}
#endif

#endif
