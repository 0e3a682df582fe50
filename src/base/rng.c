/* rng.c - Philox4x32-10, and streams of numbers drawn from it.
 *
 * One idea: there is no state that has to be passed on.  Block number b of a stream is a pure
 * function of (seed, purpose, index, b), so any rank can compute any part of any stream, in any
 * order, and all get the same numbers.  The function is a block cipher in miniature: 10 rounds,
 * each two 32x32 -> 64 bit products whose halves are swapped and mixed with a key that moves on
 * by fixed amounts.
 *
 * Layout: key = seed (low word, high word); counter = {b, purpose, index low, index high}.  A
 * stream therefore has 2^32 blocks of 4 words.
 *
 * Any thread; a cmi_rng belongs to its caller. */
#include <math.h>
#include "base/rng.h"
#include "base/error.h"

/* Multipliers and key steps of the paper; the steps are the golden ratio and sqrt(3) - 1 as
 * fractions of 2^32. */
enum { ROUNDS = 10, BLOCK_WORDS = 4 };
#define MULTIPLIER_0 0xd2511f53u
#define MULTIPLIER_1 0xcd9e8d57u
#define KEY_STEP_0   0x9e3779b9u
#define KEY_STEP_1   0xbb67ae85u

void cmi_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)MULTIPLIER_0 * c0;
        uint64_t p1 = (uint64_t)MULTIPLIER_1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += KEY_STEP_0;
        k1 += KEY_STEP_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void cmi_rng_init(cmi_rng *rng, uint64_t seed, uint32_t purpose, uint64_t index)
{
    *rng = (cmi_rng){
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .counter = {0, purpose, (uint32_t)index, (uint32_t)(index >> 32)},
        .used = BLOCK_WORDS, /* the first draw makes block 0 */
    };
}

uint32_t cmi_rng_u32(cmi_rng *rng)
{
    if (rng->used == BLOCK_WORDS) {
        cmi_philox(rng->counter, rng->key, rng->block);
        rng->counter[0]++;
        rng->used = 0;
    }
    return rng->block[rng->used++];
}

float cmi_rng_float(cmi_rng *rng)
{
    /* 24 bits are what a float holds: every value is exact and 1 cannot appear by rounding. */
    return (float)(cmi_rng_u32(rng) >> 8) * 0x1p-24f;
}

double cmi_rng_normal(cmi_rng *rng)
{
    /* The sine of the pair is thrown away: a draw always takes two words, and nothing is kept
     * between draws. */
    const double two_pi = 6.283185307179586477;
    double radius = (cmi_rng_u32(rng) + 1.0) * 0x1p-32; /* (0,1]: its logarithm exists */
    double angle = cmi_rng_u32(rng) * 0x1p-32;
    return sqrt(-2.0 * log(radius)) * cos(two_pi * angle);
}

uint64_t cmi_rng_below(cmi_rng *rng, uint64_t n)
{
    CM_ASSERT(n > 0);
    /* 2^64 mod n numbers at the top would make small results likelier; draw again when one
     * comes. */
    uint64_t excess = (UINT64_MAX % n + 1) % n;
    uint64_t drawn;
    do {
        drawn = (uint64_t)cmi_rng_u32(rng) << 32;
        drawn |= cmi_rng_u32(rng);
    } while (drawn > UINT64_MAX - excess);
    return drawn % n;
}
