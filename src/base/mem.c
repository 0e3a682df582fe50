/* mem.c - the library's only door to malloc.
 *
 * One idea: every allocation can be counted and can be made to fail.  `live` is how tests find
 * leaks, `total` how they prove that a training step allocates nothing, and the countdown lets a
 * test fail the first, second, third ... allocation of an operation until it succeeds.
 *
 * Any thread; the counters are atomic and need no order among each other. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

static atomic_uint_fast64_t live, total, countdown;

bool cmi_size_mul(size_t a, size_t b, size_t *out)
{
    if (a != 0 && b > SIZE_MAX / a) return false;
    *out = a * b;
    return true;
}

bool cmi_size_add(size_t a, size_t b, size_t *out)
{
    if (b > SIZE_MAX - a) return false;
    *out = a + b;
    return true;
}

/* Takes one from the countdown; true for exactly the caller that takes the last. */
static bool fault_due(void)
{
    uint_fast64_t left = atomic_load_explicit(&countdown, memory_order_relaxed);
    while (left > 0) {
        if (atomic_compare_exchange_weak(&countdown, &left, left - 1)) return left == 1;
    }
    return false;
}

/* Bytes to ask for: at least 1, so that an empty array has a pointer of its own. */
static cm_status checked_bytes(size_t count, size_t size, size_t *bytes)
{
    if (!cmi_size_mul(count, size, bytes)) {
        return cmi_error(CM_E_MEMORY,
                         "out of memory: %zu elements of %zu bytes are more than a size can hold",
                         count, size);
    }
    if (*bytes == 0) *bytes = 1;
    return CM_OK;
}

static cm_status no_memory(size_t bytes)
{
    return cmi_error(CM_E_MEMORY, "out of memory: %zu bytes of host memory could not be allocated",
                     bytes);
}

cm_status cmi_alloc(size_t count, size_t size, void **out)
{
    size_t bytes = 0;
    *out = NULL;
    CM_TRY(checked_bytes(count, size, &bytes));
    void *memory = fault_due() ? NULL : calloc(1, bytes);
    if (!memory) return no_memory(bytes);
    atomic_fetch_add(&live, 1);
    atomic_fetch_add(&total, 1);
    *out = memory;
    return CM_OK;
}

cm_status cmi_realloc(size_t count, size_t size, void **memory)
{
    size_t bytes = 0;
    CM_TRY(checked_bytes(count, size, &bytes));
    bool is_new = *memory == NULL;
    void *moved = fault_due() ? NULL : realloc(*memory, bytes);
    if (!moved) return no_memory(bytes);
    if (is_new) atomic_fetch_add(&live, 1);
    atomic_fetch_add(&total, 1);
    *memory = moved;
    return CM_OK;
}

cm_status cmi_strdup(const char *text, char **out)
{
    size_t bytes = strlen(text) + 1;
    CM_TRY(CMI_NEW(bytes, out));
    memcpy(*out, text, bytes);
    return CM_OK;
}

void cmi_free(void *memory)
{
    if (!memory) return;
    atomic_fetch_sub(&live, 1);
    free(memory);
}

void cmi_mem_fail_at(uint64_t n)
{
    atomic_store(&countdown, n);
}

uint64_t cmi_mem_live(void)
{
    return atomic_load(&live);
}

uint64_t cmi_mem_total(void)
{
    return atomic_load(&total);
}
