/* mem.h - allocation with overflow-checked sizes, counted, with a fault countdown for tests.
 *
 * All host memory of the library comes from here.  Failures are CM_E_MEMORY with the size. */
#ifndef CMI_BASE_MEM_H
#define CMI_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

/* Zeroed memory for count elements of `size` bytes; count*size == 0 gives a unique pointer. */
cm_status cmi_alloc(size_t count, size_t size, void **out);
/* Grows or shrinks *memory to count elements; new bytes are not cleared; on failure *memory is
 * unchanged. */
cm_status cmi_realloc(size_t count, size_t size, void **memory);
cm_status cmi_strdup(const char *text, char **out);
void cmi_free(void *memory);

#define CMI_NEW(count, out) cmi_alloc((size_t)(count), sizeof **(out), (void **)(out))

/* a*b and a+b; false when the result does not fit. */
bool cmi_size_mul(size_t a, size_t b, size_t *out);
bool cmi_size_add(size_t a, size_t b, size_t *out);

/* Tests: the n-th allocation from now fails (0: none does); live blocks and all allocations so far.
 */
void cmi_mem_fail_at(uint64_t n);
uint64_t cmi_mem_live(void);
uint64_t cmi_mem_total(void);

#endif
