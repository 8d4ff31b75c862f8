/* Reads numbers from unaligned bytes. */
#ifndef ZK_BYTES_H
#define ZK_BYTES_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* Sums of 32-bit sizes from the wire must not overflow. */
static_assert(sizeof(size_t) >= 8, "the native core is for 64-bit machines");

static inline uint64_t zk_raw64(const uint8_t *at) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t zk_raw32(const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline uint64_t zk_le64(const uint8_t *at) { return zk_raw64(at); }
static inline uint32_t zk_le32(const uint8_t *at) { return zk_raw32(at); }
static inline uint64_t zk_be64(const uint8_t *at) { return __builtin_bswap64(zk_raw64(at)); }
static inline uint32_t zk_be32(const uint8_t *at) { return __builtin_bswap32(zk_raw32(at)); }
#else
static inline uint64_t zk_le64(const uint8_t *at) { return __builtin_bswap64(zk_raw64(at)); }
static inline uint32_t zk_le32(const uint8_t *at) { return __builtin_bswap32(zk_raw32(at)); }
static inline uint64_t zk_be64(const uint8_t *at) { return zk_raw64(at); }
static inline uint32_t zk_be32(const uint8_t *at) { return zk_raw32(at); }
#endif

static inline uint32_t zk_le16(const uint8_t *at) { return at[0] | (uint32_t)at[1] << 8; }

/* Two's complement, as on the wire; every compiler defines the cast of a large value. */
static inline int32_t zk_int32(const uint8_t *at) { return (int32_t)zk_be32(at); }
static inline int64_t zk_int64(const uint8_t *at) { return (int64_t)zk_be64(at); }

#endif
