/* fuzz_idx.c - entry point for libFuzzer: any bytes must give an array or an error, never more.
 *
 * The reader takes its bytes from memory, so nothing touches the disk.  Build it alone with clang
 * -fsanitize=fuzzer,address,undefined together with src/base and src/data; test_data calls the same
 * function with every file of idx/ and with mutations of them. */
#include <stdlib.h>
#include "base/mem.h"
#include "data/format.h"
#include "data_tests.h"

/* Reads every element, so that memory that was promised but not filled shows under a sanitizer, and
 * checks what a caller may rely on. */
static void use(const cmi_file_array *array, size_t stored)
{
    const cm_tensor *tensor = &array->tensor;
    unsigned sum = 0;
    if (cmi_tensor_check(tensor, "array")) abort();
    size_t bytes = (size_t)cmi_tensor_rows(tensor) * cmi_tensor_row_bytes(tensor);
    if (bytes / 4 > stored * 1040 + 4096) abort();
    for (size_t i = 0; i < bytes; i++)
        sum = sum * 31 + ((const unsigned char *)array->memory)[i];
    if (sum == 0 && bytes > (size_t)-2) abort(); /* a use of the sum, so that it is computed */
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const uint64_t live = cmi_mem_live();
    cmi_file *file = NULL;
    cmi_file_array array;
    if (!cmi_file_open_memory("fuzz", bytes, count, &file)) {
        if (!cmi_format_read_file(cmi_format_find("idx", 3), file, &array))
            use(&array, count);
        else if (array.memory || !cm_last_message()[0])
            abort();
        cmi_free(array.memory);
    }
    cmi_file_close(file);
    if (cmi_mem_live() != live) abort();
    return 0;
}
