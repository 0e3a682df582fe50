/* knob.h - the environment variables, in one table.
 *
 * Read once, at the first use, and frozen; tests may override.  `clmirror-info --knobs` prints the table. */
#ifndef CMI_BASE_KNOB_H
#define CMI_BASE_KNOB_H

#include <stdbool.h>
#include <stdint.h>

/* X(id, variable, default text, help) */
#define CMI_KNOB_LIST(X)                                                                           \
    X(LOG, "CLMIRROR_LOG", "warning", "level, or category:level list: error, warning, info, debug") \
    X(DEVICES, "CLMIRROR_DEVICES", "", "devices to use: gpu, cpu, all, /GPU:0, 0.1, name, cpu*4, ...") \
    X(COLLECTIVE, "CLMIRROR_COLLECTIVE", "auto", "how gradients are summed: auto, direct, ring, naive") \
    X(UPDATE, "CLMIRROR_UPDATE", "auto", "how parameters are updated: auto, replicated, sharded")  \
    X(BUCKET_BYTES, "CLMIRROR_BUCKET_BYTES", "0", "limit of a gradient bucket; 0: 1 MiB, then 25 MiB") \
    X(TIMEOUT_MS, "CLMIRROR_TIMEOUT_MS", "60000", "how long a rank or device may stay silent")     \
    X(SEED, "CLMIRROR_SEED", "0", "default seed of weights, shuffling and dropout; or: random")    \
    X(CHECK, "CLMIRROR_CHECK", "", "extra checks, a list of: replicas, nan")                       \
    X(CL_DIR, "CLMIRROR_CL_DIR", "", "folder to read the kernels from instead of the built-in ones") \
    X(CL_OPTIONS, "CLMIRROR_CL_OPTIONS", "", "further build options for every kernel")             \
    X(KERNEL_SHAPE, "CLMIRROR_KERNEL_SHAPE", "auto", "shape of the kernels: auto, cpu, cpu4, cpu8, cpu16, gpu")       \
    X(GEMM, "CLMIRROR_GEMM", "auto", "matrix product: auto, packed, clblast")                      \
    X(CACHE, "CLMIRROR_CACHE", "", "folder for tuned choices and compiled kernels, or off; default ~/.cache/clmirror")

typedef enum cmi_knob {
#define X(id, variable, fallback, help) CMI_KNOB_##id,
    CMI_KNOB_LIST(X)
#undef X
        CMI_KNOB_COUNT
} cmi_knob;

typedef struct cmi_knob_info {
    const char *variable, *fallback, *help;
    const char *value; /* what is in force */
    bool from_environment;
} cmi_knob_info;

/* Text in force; never NULL, owned by the table. */
const char *cmi_knob_text(cmi_knob knob);
/* Number in force; a value that is not a whole number >= 0 is warned about once and the default taken. */
int64_t cmi_knob_number(cmi_knob knob);
/* Whether `word` stands in a knob that is a list with commas. */
bool cmi_knob_has(cmi_knob knob, const char *word);
cmi_knob_info cmi_knob_describe(cmi_knob knob);
/* For tests: replaces a value (copied); NULL goes back to what the environment says now. */
void cmi_knob_override(cmi_knob knob, const char *value);

#endif
