/* kernels.h - the OpenCL sources inside the library.
 *
 * tools/cmake/EmbedKernels.cmake writes the table at build time, one entry per file of cl/, sorted
 * by name; the text is the file's, unchanged.  The entry "cm_prelude" is cl/cm_prelude.h: program.c
 * puts it in front of a kernel's text and drops the line that includes it. */
#ifndef CMI_DEVICE_KERNELS_H
#define CMI_DEVICE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef struct cmi_kernel_source {
    const char *name; /* the file's name without folder and ending: "bias" for cl/bias.cl */
    const unsigned char *text; /* followed by a zero byte that `bytes` does not count */
    size_t bytes;
    uint64_t hash; /* first 64 bits of the text's SHA-256: a key for caches */
} cmi_kernel_source;

extern const cmi_kernel_source
    cmi_kernel_sources[]; /* one more entry, all NULL and 0, follows the last */
extern const size_t cmi_kernel_source_count;

#endif
