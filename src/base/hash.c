/* hash.c - FNV-1a, 64 bits.
 *
 * Two operations per byte: exclusive-or the byte in, multiply by a prime.  Small, the same on
 * every machine and good enough to tell cache keys and replicas apart; not a defence against
 * anyone who wants a collision. The state is an argument, so pieces can be hashed one after
 * another.  Any thread. */
#include "base/hash.h"

uint64_t cmi_hash(uint64_t state, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++) {
        state ^= byte[i];
        state *= 0x100000001b3u; /* the FNV prime, 2^40 + 2^8 + 0xb3 */
    }
    return state;
}
