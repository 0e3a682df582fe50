/* choice.h - what was found to be fastest on a device: the choice table.
 *
 * `clmirror-bench tune` measures and writes it, one line per device and class of products, into
 * the file `choices` of the cache folder (base/cachefile.h):
 *
 *     gemm <class> <packed|clblast> <tile rows, 0: the default> <device>
 *
 * <device> is name, driver version, vector width and library version, so a line that is stale or
 * another device's is not taken.  Neither is one that cannot be read or names what does not exist.
 * What no line says is a built-in default. Every line that is taken gives right results, so a
 * damaged table can cost time only.
 *
 * Tiles of any number of rows give the same bits: each element is summed over k in the order that
 * the blocks of k give (cl/gemm.cl).  The length of those blocks would change the order, so it is
 * not in the table; nor is anything else that does.  Packed and CLBlast differ in rounding. */
#ifndef CMI_DEVICE_CHOICE_H
#define CMI_DEVICE_CHOICE_H

#include "device/gemm.h"

/* Classes of products C [m,n] over k, the first that fits.
 *   small   m n k < 2^20: what a call costs counts as much as its arithmetic
 *   tall    m >= 4 n: few columns, as of a gradient of the first layer's weights
 *   wide    n >= 4 m: few rows, as of small batches
 *   square  the rest */
typedef enum cmi_gemm_class {
    CMI_GEMM_SMALL,
    CMI_GEMM_TALL,
    CMI_GEMM_WIDE,
    CMI_GEMM_SQUARE,
    CMI_GEMM_CLASS_COUNT
} cmi_gemm_class;

typedef struct cmi_gemm_entry {
    cmi_gemm_choice implementation; /* AUTO: the default, and so are 0 rows */
    size_t rows;                    /* of the packed kernel's tile */
} cmi_gemm_entry;

/* Of one device; part of it. */
typedef struct cmi_choices {
    bool known; /* the file was read, or replaced by cmi_choice_set */
    cmi_gemm_entry gemm[CMI_GEMM_CLASS_COUNT];
} cmi_choices;

/* The numbers of rows that a table may name. */
enum { CMI_TILE_ROW_COUNT = 4 };
extern const size_t cmi_tile_rows[CMI_TILE_ROW_COUNT];

cmi_gemm_class cmi_gemm_class_of(const cmi_gemm *gemm);
const char *cmi_gemm_class_name(cmi_gemm_class of);

/* What the table says of a product; the file is read at the first question.  By the owner of the
 * device's stream, as the following. */
cmi_gemm_entry cmi_choice_gemm(cmi_device *device, const cmi_gemm *gemm);
/* For tuning and tests: all choices of the device from now on, in place of the file's. */
void cmi_choice_set(cmi_device *device, const cmi_gemm_entry entries[CMI_GEMM_CLASS_COUNT]);
/* Reads the file again at the next question. */
void cmi_choice_forget(cmi_device *device);
/* Puts the choices in force into the file, in place of the device's lines; those of other devices
 * stay.  CM_E_STATE when the cache is off, CM_E_IO. */
cm_status cmi_choice_save(cmi_device *device);

/* What <device> in a line is. */
enum { CMI_CHOICE_KEY_BYTES = 2 * CM_DEVICE_TEXT_BYTES + 64 };
void cmi_choice_key(const cmi_device *device, char key[CMI_CHOICE_KEY_BYTES]);

#endif
