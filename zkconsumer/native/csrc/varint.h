/* Varints of batches of magic 2; see `records.varint`. */
#ifndef ZK_VARINT_H
#define ZK_VARINT_H

#include <stddef.h>
#include <stdint.h>

/* Reads an unsigned varint of at most `bits` bits; returns its end, null if it is truncated or larger. */
const uint8_t *zk_varint_slow(const uint8_t *at, const uint8_t *end, int bits, uint64_t *found);

static inline int64_t zk_unzigzag(uint64_t found) {
    return (int64_t)(found >> 1 ^ (0 - (found & 1)));
}

/* Reads a zigzag varint of at most `bits` bits; returns as above. Nearly all have one or two bytes. */
static inline const uint8_t *zk_zigzag(const uint8_t *at, const uint8_t *end, int bits,
                                       int64_t *value) {
    uint64_t found;
    if (at < end && at[0] < 0x80) {
        *value = zk_unzigzag(at[0]);
        return at + 1;
    }
    if (end - at >= 2 && at[1] < 0x80) {
        *value = zk_unzigzag((uint64_t)(at[0] & 0x7F) | (uint64_t)at[1] << 7);
        return at + 2;
    }
    at = zk_varint_slow(at, end, bits, &found);
    if (at)
        *value = zk_unzigzag(found);
    return at;
}

static inline const uint8_t *zk_varlong(const uint8_t *at, const uint8_t *end, int64_t *value) {
    return zk_zigzag(at, end, 64, value);
}

static inline const uint8_t *zk_varint(const uint8_t *at, const uint8_t *end, int32_t *value) {
    int64_t found;
    at = zk_zigzag(at, end, 32, &found);
    if (at)
        *value = (int32_t)found;
    return at;
}

#endif
