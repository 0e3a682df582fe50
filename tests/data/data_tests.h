/* data_tests.h - the suites of test_data and what they share: where the files of tests/data/idx
 * are, and a folder of a test's own. */
#ifndef DATA_TESTS_H
#define DATA_TESTS_H

#include <stddef.h>
#include <stdint.h>
#include <check.h>
#include "support/cm_test.h"

Suite *rows_suite(void);
Suite *idx_suite(void);
Suite *file_suite(void);
Suite *dataset_suite(void);

/* Path of a file of tests/data/idx, in a ring of static buffers: two may stand in one call. */
const char *case_path(const char *name);
/* The whole file; the bytes are static and good until the next call. */
const unsigned char *case_bytes(const char *name, size_t *count);

/* A new empty folder, and a path in it (the same ring); folder_remove deletes all of it. */
const char *folder_make(void);
const char *folder_path(const char *name);
/* Writes a file there; the second form copies a case. */
void folder_write(const char *name, const void *bytes, size_t count);
void folder_copy(const char *name, const char *case_name);
void folder_remove(void);

/* fuzz_idx.c */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#endif
