/* move.h - the faults that touch data: flipped bits, shadow maps, poisoned buffers; see move.c. */
#ifndef TESTS_FAULT_MOVE_H
#define TESTS_FAULT_MOVE_H

#include <CL/cl_icd.h>

/* Inverts one bit, in the middle, where it changes a float by much. */
void move_flip(void *data, size_t bytes);
/* The same inside a buffer, after what the queue already holds; blocks. */
void move_flip_buffer(const cl_icd_dispatch *next, cl_command_queue queue, cl_mem buffer,
                      size_t offset, size_t bytes);
/* Fills the buffer with 0xFF bytes through a queue of its own; blocks. */
void move_poison(const cl_icd_dispatch *next, cl_context context, cl_mem buffer, size_t bytes);
/* A copy to hand out instead of the mapped bytes; NULL without memory. */
void *move_shadow(void *mapped, size_t bytes, cl_map_flags flags);
/* Ends the copy (written back if it was mapped for writing) and returns the mapped bytes; any other
 * pointer unchanged. */
void *move_unshadow(void *copy);

#endif
