/* cache_rig.h - a cache folder of its own and an open device for each case of test_choice.c and
 * test_cache.c.
 *
 * The end of a case finds every object and block released, and no line of log of level warning or
 * worse. */
#ifndef TESTS_DEVICE_CACHE_RIG_H
#define TESTS_DEVICE_CACHE_RIG_H

#include "device/choice.h"
#include "support/device_pick.h"

extern char cache_folder[64];
extern pick cache_pick;

void cache_setup(void);
void cache_teardown(void);
/* Closes the device and opens it again: nothing is remembered. */
void cache_reopen(void);
/* A file in the folder. */
void cache_write(const char *name, const char *bytes, size_t count);

typedef struct cache_product {
    size_t m, n, k;
    bool ta, tb;
    float beta;
    const char *activation;
} cache_product;

/* One of each class. */
extern const cache_product cache_products[CMI_GEMM_CLASS_COUNT];
/* The bits of a product of numbers that round; c has m*n places.  Any thread, with a device of its
 * own. */
cm_status cache_multiply(pick *on, const cache_product *of, float *c);

#endif
