#include "xxh32.h"

#include "bytes.h"

static const uint32_t P1 = 0x9E3779B1u, P2 = 0x85EBCA77u, P3 = 0xC2B2AE3Du, P4 = 0x27D4EB2Fu,
                      P5 = 0x165667B1u;

static inline uint32_t rotated(uint32_t value, int bits) {
    return value << bits | value >> (32 - bits);
}

static inline uint32_t mixed(uint32_t lane, const uint8_t *at) {
    return rotated(lane + zk_le32(at) * P2, 13) * P1;
}

uint32_t zk_xxh32(const uint8_t *data, size_t size) {
    const uint8_t *at = data, *const end = data + size;
    uint32_t value = P5;
    if (size >= 16) {
        uint32_t a = P1 + P2, b = P2, c = 0, d = 0u - P1;
        for (; end - at >= 16; at += 16) {
            a = mixed(a, at);
            b = mixed(b, at + 4);
            c = mixed(c, at + 8);
            d = mixed(d, at + 12);
        }
        value = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18);
    }
    value += (uint32_t)size;
    for (; end - at >= 4; at += 4)
        value = rotated(value + zk_le32(at) * P3, 17) * P4;
    for (; at < end; at++)
        value = rotated(value + *at * P5, 11) * P1;
    value = (value ^ value >> 15) * P2;
    value = (value ^ value >> 13) * P3;
    return value ^ value >> 16;
}
