/* calls.h - what the two halves of the fault layer, layer.c and enqueue.c, share. */
#ifndef TESTS_FAULT_CALLS_H
#define TESTS_FAULT_CALLS_H

#include <CL/cl_icd.h>
#include "fault/rules.h"

/* The table behind ours: the drivers', or the next layer's. */
extern const cl_icd_dispatch *layer_next;

/* The device of a context, queue, buffer, program, kernel or event; -1 when it was made past this layer. */
int layer_device(const void *handle);
/* fault_check for a call on such an object. */
fault layer_check(const char *call, const void *handle);
/* For calls that return an object: true when the rule refuses, with the code stored. */
bool layer_refused(fault rule, cl_int *code);
/* enqueue.c: its entries of our table. */
void layer_fill_enqueue(cl_icd_dispatch *table);

#endif
