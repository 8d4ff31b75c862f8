#include "row_hash.h"

#include "bytes.h"

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu,
                      P3 = 0x165667B19E3779F9u, P4 = 0x85EBCA77C2B2AE63u,
                      P5 = 0x27D4EB2F165667C5u;
static const uint64_t SEED = 42; /* Spark's */
static const int32_t NO_TIME = -1;

static inline uint64_t rotated(uint64_t value, int bits) {
    return value << bits | value >> (64 - bits);
}

static inline uint64_t mixed(uint64_t lane, uint64_t word) {
    return rotated(lane + word * P2, 31) * P1;
}

static inline uint64_t merged(uint64_t value, uint64_t lane) {
    return (value ^ mixed(0, lane)) * P1 + P4;
}

static inline uint64_t finished(uint64_t value) {
    value = (value ^ value >> 33) * P2;
    value = (value ^ value >> 29) * P3;
    return value ^ value >> 32;
}

static inline uint64_t with_word(uint64_t value, uint64_t word) {
    return rotated(value ^ mixed(0, word), 27) * P1 + P4;
}

static inline uint64_t with_half(uint64_t value, uint32_t word) {
    return rotated(value ^ word * P1, 23) * P2 + P3;
}

uint64_t zk_xxh64(const uint8_t *data, size_t size, uint64_t seed) {
    const uint8_t *at = data, *const end = data + size;
    uint64_t value = seed + P5;
    if (size >= 32) {
        uint64_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
        for (; end - at >= 32; at += 32) {
            a = mixed(a, zk_le64(at));
            b = mixed(b, zk_le64(at + 8));
            c = mixed(c, zk_le64(at + 16));
            d = mixed(d, zk_le64(at + 24));
        }
        value = rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18);
        value = merged(merged(merged(merged(value, a), b), c), d);
    }
    value += size;
    for (; end - at >= 8; at += 8)
        value = with_word(value, zk_le64(at));
    if (end - at >= 4) {
        value = with_half(value, zk_le32(at));
        at += 4;
    }
    for (; at < end; at++)
        value = rotated(value ^ *at * P5, 11) * P1;
    return finished(value);
}

static inline uint64_t hashed_long(int64_t number, uint64_t seed) {
    return finished(with_word(seed + P5 + 8, (uint64_t)number));
}

static inline uint64_t hashed_int(int32_t number, uint64_t seed) {
    return finished(with_half(seed + P5 + 4, (uint32_t)number));
}

static inline bool is_set(const uint8_t *bits, size_t at) {
    return bits == NULL || (bits[at / 8] >> at % 8 & 1);
}

static bool add_binary(const zk_hashed_binaries *column, size_t at, uint64_t *hash) {
    bool is_there = is_set(column->bits, at);
    *hash = hashed_int(!is_there, *hash);
    if (!is_there)
        return true;
    int32_t begin = column->ends[at], end = column->ends[at + 1];
    if (begin < 0 || end < begin || (size_t)end > column->size)
        return false;
    if (end == begin) /* there may be no data at all */
        *hash = finished(*hash + P5);
    else
        *hash = zk_xxh64(column->data + begin, (size_t)(end - begin), *hash);
    return true;
}

bool zk_hash_rows(const zk_hashed_rows *rows, uint64_t *hashes) {
    for (size_t row = 0; row < rows->rows; row++) {
        size_t at = rows->first + row;
        uint64_t hash = hashed_long(rows->offsets[at], SEED);
        if (!add_binary(&rows->keys, at, &hash) || !add_binary(&rows->values, at, &hash))
            return false;
        if (rows->micros != NULL && is_set(rows->time_bits, at))
            hash = hashed_long(rows->micros[at], hash);
        hashes[row] = hashed_int(rows->micros == NULL ? NO_TIME : rows->timestamp_types[at], hash);
    }
    return true;
}
