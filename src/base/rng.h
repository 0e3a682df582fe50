/* rng.h - counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3", 2011).  The same four words come out for the same counter and key on the host
 * and, through cl/cm_prelude.h, on every device; that is why a mask does not depend on the number
 * of replicas. */
#ifndef CMI_BASE_RNG_H
#define CMI_BASE_RNG_H

#include <stdint.h>

void cmi_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A stream of numbers for one purpose: (seed, purpose, index) name it; draws do not overlap between
 * names. */
typedef struct cmi_rng {
    uint32_t key[2], counter[4], block[4];
    int used;
} cmi_rng;

enum cmi_rng_purpose {
    CMI_RNG_WEIGHTS = 1,
    CMI_RNG_SHUFFLE = 2,
    CMI_RNG_DROPOUT = 3,
    CMI_RNG_DATA = 4
};

void cmi_rng_init(cmi_rng *rng, uint64_t seed, uint32_t purpose, uint64_t index);
uint32_t cmi_rng_u32(cmi_rng *rng);
/* Uniform on [0,1), 24 bits. */
float cmi_rng_float(cmi_rng *rng);
/* Standard normal by Box and Muller. */
double cmi_rng_normal(cmi_rng *rng);
/* Uniform on 0 ... n-1 without bias; n > 0. */
uint64_t cmi_rng_below(cmi_rng *rng, uint64_t n);

#endif
