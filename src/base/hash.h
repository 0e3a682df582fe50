/* hash.h - a 64-bit hash for cache keys and replica check sums; not for security. */
#ifndef CMI_BASE_HASH_H
#define CMI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a of the bytes, continued from `state`; start with CMI_HASH_START. */
#define CMI_HASH_START 0xcbf29ce484222325u
uint64_t cmi_hash(uint64_t state, const void *bytes, size_t count);

#endif
