/* export.h - visibility of the public functions.
 *
 * The library is compiled with hidden visibility; only what carries CM_API can be linked from
 * outside. CM_CHECK marks functions whose status must not be dropped, CM_PRINTF lets the compiler
 * check formats. */
#ifndef CLMIRROR_EXPORT_H
#define CLMIRROR_EXPORT_H

#if defined(__GNUC__)
#define CM_API                __attribute__((visibility("default")))
#define CM_CHECK              __attribute__((warn_unused_result))
#define CM_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define CM_API
#define CM_CHECK
#define CM_PRINTF(fmt, first)
#endif

#endif
