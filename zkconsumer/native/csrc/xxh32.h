/* xxHash32 with seed 0, the checksum of LZ4 frames. */
#ifndef ZK_XXH32_H
#define ZK_XXH32_H

#include <stddef.h>
#include <stdint.h>

uint32_t zk_xxh32(const uint8_t *data, size_t size);

#endif
