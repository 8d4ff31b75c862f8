/* The bits of a DEFLATE stream, and the codes that its blocks use. */
#ifndef ZK_INFLATE_CODES_H
#define ZK_INFLATE_CODES_H

#include "bytes.h"
#include "huffman.h"

typedef struct {
    const uint8_t *at, *end;
    uint64_t bits;   /* the next bit of the stream is the lowest */
    unsigned count;  /* how many of them count */
    unsigned made_up; /* zero bytes that were put in because the input had ended */
} zk_bits;

/* Makes at least 56 bits count. Behind the end come zeros, eight bytes of them at most: more can't
 * be part of a sound stream, and an endless one must end. */
static inline bool zk_refill(zk_bits *in) {
    if (in->end - in->at >= 8) {
        in->bits |= zk_le64(in->at) << in->count;
        in->at += (63 - in->count) >> 3;
        in->count |= 56;
        return true;
    }
    while (in->count < 56) {
        if (in->at < in->end)
            in->bits |= (uint64_t)*in->at++ << in->count;
        else if (++in->made_up > 8)
            return false;
        in->count += 8;
    }
    return true;
}

static inline uint32_t zk_take(zk_bits *in, unsigned count) {
    const uint32_t value = (uint32_t)(in->bits & (((uint64_t)1 << count) - 1));
    in->bits >>= count;
    in->count -= count;
    return value;
}

static inline uint32_t zk_look_up(const uint32_t *table, unsigned first_bits, zk_bits *in) {
    uint32_t entry = table[in->bits & ((1u << first_bits) - 1)];
    if (entry & ZK_SUBTABLE) {
        zk_take(in, first_bits);
        entry = table[(entry >> 16) + (in->bits & ((1u << (entry >> 8 & 0xF)) - 1))];
    }
    zk_take(in, entry & 0xFF);
    return entry;
}

/* The two codes of a block. */
typedef struct {
    uint32_t literals[ZK_LITERAL_ENTRIES];
    uint32_t distances[ZK_DISTANCE_ENTRIES];
} zk_codes;

/* The codes that need no description. */
bool zk_fixed_codes(zk_codes *codes);

/* Reads the description of a block's codes; false where zlib would refuse it. */
bool zk_read_codes(zk_codes *codes, zk_bits *in);

#endif
