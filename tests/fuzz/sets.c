#include "sets.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "crc32c.h"
#include "xxh32.h"

/* One call of chance() a statement: else the compiler chooses which comes first, and the same seed
 * would not give the same sets everywhere. */
static _Thread_local uint64_t state;

void begin_chance(uint64_t seed) { state = seed * 2 + 1; }

uint64_t chance(void) { /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1Dull;
}

size_t below(size_t bound) { return bound ? (size_t)(chance() >> 11) % bound : 0; }

bytes new_bytes(size_t size) {
    bytes made = {malloc(size ? size : 1), size};
    if (!made.data)
        abort();
    return made;
}

bytes copy(bytes from) {
    bytes made = new_bytes(from.size);
    if (from.size)
        memcpy(made.data, from.data, from.size);
    return made;
}

static void put32(uint8_t *at, uint32_t value) {
    for (int byte = 0; byte < 4; byte++)
        at[byte] = (uint8_t)(value >> (24 - 8 * byte));
}

static void put32_little(uint8_t *at, uint32_t value) {
    for (int byte = 0; byte < 4; byte++)
        at[byte] = (uint8_t)(value >> 8 * byte);
}

/* --- Damage ------------------------------------------------------------------------------------ */

static bytes spliced(bytes set) { /* a piece of another seed, or of this one, anywhere */
    const bytes other = a_seed();
    const size_t from = below(other.size), length = below(other.size - from) % 4096;
    const size_t at = below(set.size + 1);
    if (set.size + length > MAX_SET_BYTES)
        return set;
    bytes made = new_bytes(set.size + length);
    memcpy(made.data, set.data, at);
    memcpy(made.data + at, other.data + from, length);
    memcpy(made.data + at + length, set.data + at, set.size - at);
    free(set.data);
    return made;
}

static bytes shortened(bytes set) { /* a piece cut out, often the tail */
    const size_t at = below(set.size);
    const size_t length = below(2) ? set.size - at : below(set.size - at);
    bytes made = new_bytes(set.size - length);
    memcpy(made.data, set.data, at);
    memcpy(made.data + at, set.data + at + length, set.size - at - length);
    free(set.data);
    return made;
}

static void overwrite_number(bytes set) { /* what lengths and offsets are most likely to break on */
    static const uint32_t ODD[] = {0,          1,          13,         14,        0x7FFFFFFF,
                                   0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFF3};
    if (set.size < 4)
        return;
    const uint32_t size = (uint32_t)set.size;
    const uint32_t less = (uint32_t)below(64);
    const uint32_t near = size - less + (uint32_t)below(64);
    uint8_t *at = set.data + below(set.size - 3);
    put32(at, below(2) ? ODD[below(sizeof ODD / sizeof *ODD)] : near);
}

bytes damaged(bytes set) {
    for (size_t times = below(6); times && set.size; times--) {
        const size_t kind = below(7), at = below(set.size), field = below(3);
        switch (kind) {
        case 0:
            set = spliced(set);
            break;
        case 1:
            set = shortened(set);
            break;
        case 2:
            overwrite_number(set);
            break;
        case 3: /* the length in front of a key or value */
            if (set.size > 30)
                put32(set.data + 18 + 4 * field, (uint32_t)below(set.size + 20));
            break;
        case 4:
            set.data[at] = (uint8_t)chance();
            break;
        case 5:
            set.data[at] += (uint8_t)(field - 1);
            break;
        default:
            set.data[at] ^= (uint8_t)(1 << below(8));
        }
    }
    return set;
}

/* --- Repair ------------------------------------------------------------------------------------ */

void repair(bytes set) { /* the CRC of every whole entry */
    size_t at = 0;
    while (set.size - at >= ZK_ENTRY_HEADER_BYTES + ZK_MIN_ENTRY_SIZE) {
        const uint32_t size = zk_be32(set.data + at + 8);
        if (size < ZK_MIN_ENTRY_SIZE || size > set.size - at - ZK_ENTRY_HEADER_BYTES)
            return;
        if (set.data[at + 16] != ZK_BATCH_MAGIC)
            put32(set.data + at + 12, zk_crc32(0, set.data + at + 16, size - 4));
        else if (size >= ZK_BATCH_HEAD_BYTES - ZK_ENTRY_HEADER_BYTES)
            put32(set.data + at + 17, zk_crc32c(0, set.data + at + 21, size - 9));
        at += ZK_ENTRY_HEADER_BYTES + size;
    }
}

/* How much more an encoder claims than there is. */
static uint32_t lie(void) { return below(8) ? 0 : (uint32_t)below(300); }

static bytes as_gzip(bytes inner) { /* one stored block */
    const size_t length = inner.size > 65535 ? 65535 : inner.size;
    static const uint8_t HEAD[] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0, 1};
    bytes made = new_bytes(sizeof HEAD + 4 + length + 8);
    memcpy(made.data, HEAD, sizeof HEAD);
    if (below(8) == 0)
        made.data[3] = (uint8_t)(1 << below(8)); /* a header that goes on */
    uint8_t *at = made.data + sizeof HEAD;
    const uint32_t claimed = (uint32_t)length + lie();
    put32_little(at, claimed | ~claimed << 16);
    memcpy(at + 4, inner.data, length);
    put32_little(at + 4 + length, zk_crc32(0, inner.data, length));
    put32_little(at + 8 + length, (uint32_t)length);
    return made;
}

static bytes as_snappy(bytes inner) { /* one literal */
    const uint32_t length = (uint32_t)inner.size;
    bytes made = new_bytes(8 + inner.size);
    for (int byte = 0; byte < 3; byte++)
        made.data[byte] = (uint8_t)(length >> 7 * byte & 0x7F) | (byte < 2 ? 0x80 : 0);
    made.data[3] = 63 << 2;
    put32_little(made.data + 4, length - 1 + lie());
    memcpy(made.data + 8, inner.data, inner.size);
    return made;
}

static bytes as_lz4(bytes inner) { /* one stored block */
    bytes made = new_bytes(7 + 4 + inner.size + 4);
    put32_little(made.data, 0x184D2204u);
    made.data[4] = 0x60;
    made.data[5] = 0x70;
    made.data[6] = (uint8_t)(zk_xxh32(made.data + 4, 2) >> 8);
    put32_little(made.data + 7, ((uint32_t)inner.size + lie()) | 0x80000000u);
    memcpy(made.data + 11, inner.data, inner.size);
    put32_little(made.data + 11 + inner.size, 0);
    return made;
}

static bytes as_zstd(bytes inner) { /* one raw block, in a window of 2 MiB or of any size */
    static const uint8_t HEAD[] = {0x28, 0xB5, 0x2F, 0xFD, 0, 0x58};
    const size_t length = inner.size > 131072 ? 131072 : inner.size;
    bytes made = new_bytes(sizeof HEAD + 3 + length);
    memcpy(made.data, HEAD, sizeof HEAD);
    if (below(8) == 0)
        made.data[5] = (uint8_t)(below(32) << 3);
    const uint32_t claimed = (uint32_t)length + lie();
    for (int byte = 0; byte < 3; byte++)
        made.data[sizeof HEAD + (size_t)byte] = (uint8_t)((claimed << 3 | 1) >> 8 * byte);
    memcpy(made.data + sizeof HEAD + 3, inner.data, length);
    return made;
}

bytes compressed(int codec, bytes inner) {
    switch (codec) {
    case 1:
        return as_gzip(inner);
    case 2:
        return as_snappy(inner);
    case 3:
        return as_lz4(inner);
    default:
        return as_zstd(inner);
    }
}

bytes wrapped(bytes inner) {
    const int codec = 1 + (int)below(3), magic = (int)below(2);
    bytes value = compressed(codec, inner);
    const size_t front = 26 + 8 * (size_t)magic;
    bytes made = new_bytes(front + value.size);
    memset(made.data, 0, front);
    put32(made.data + 4, (uint32_t)below(1000));
    put32(made.data + 8, (uint32_t)(made.size - ZK_ENTRY_HEADER_BYTES));
    made.data[16] = (uint8_t)magic;
    made.data[17] = (uint8_t)(codec | (below(2) ? ZK_LOG_APPEND_MASK : 0));
    put32(made.data + front - 8, 0xFFFFFFFFu);
    put32(made.data + front - 4, (uint32_t)value.size);
    memcpy(made.data + front, value.data, value.size);
    free(value.data);
    free(inner.data);
    return made;
}
