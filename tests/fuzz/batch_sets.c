#include "batch_sets.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"

enum { FIELDS = 8, MAGIC_AT = 16 };

static const uint8_t ODD_BYTES[] = {0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFE, 0xFF};

/* A number in a head: offset, size, attributes, deltas, times, the producer, the count. */
static void change_head(bytes set) {
    static const uint8_t PLACES[FIELDS][2] = {{0, 8},  {11, 1}, {21, 2}, {23, 4},
                                              {27, 8}, {35, 8}, {43, 8}, {57, 4}};
    if (set.size < ZK_BATCH_HEAD_BYTES)
        return;
    const uint8_t *place = PLACES[below(FIELDS)];
    const size_t kind = below(3); /* the last byte, all of them, the largest number there is */
    for (size_t byte = 0; byte < place[1]; byte++) {
        uint8_t other = ODD_BYTES[below(sizeof ODD_BYTES)];
        if (kind == 2)
            other = byte ? 0xFF : 0x7F;
        if (kind || byte + 1 == place[1])
            set.data[place[0] + byte] = other;
    }
}

/* A byte among the records, as lengths and deltas are, or an integer that goes on and on. */
static void change_records(bytes set) {
    if (set.size <= ZK_BATCH_HEAD_BYTES)
        return;
    size_t at = ZK_BATCH_HEAD_BYTES + below(set.size - ZK_BATCH_HEAD_BYTES);
    if (below(2))
        at = ZK_BATCH_HEAD_BYTES + below(24);
    const size_t longer = below(4) ? 1 : 1 + below(11);
    for (size_t byte = 0; byte < longer && at + byte < set.size; byte++)
        set.data[at + byte] = longer > 1 ? 0xFF : ODD_BYTES[below(sizeof ODD_BYTES)];
}

bytes damaged_batches(bytes set) {
    for (size_t times = below(4); times && set.size; times--) {
        const size_t kind = below(3);
        if (kind == 0)
            change_head(set);
        else if (kind == 1)
            change_records(set);
        else
            set = damaged(set);
    }
    return set;
}

static void put32(uint8_t *at, uint32_t value) {
    for (int byte = 0; byte < 4; byte++)
        at[byte] = (uint8_t)(value >> (24 - 8 * byte));
}

bytes packed_batch(bytes set) {
    if (set.size < ZK_BATCH_HEAD_BYTES || set.data[MAGIC_AT] != ZK_BATCH_MAGIC ||
        set.data[22] & ZK_CODEC_MASK)
        return set;
    const size_t size = (size_t)zk_be32(set.data + 8) + ZK_ENTRY_HEADER_BYTES;
    if (size > set.size || size < ZK_BATCH_HEAD_BYTES)
        return set;
    bytes body = new_bytes(size - ZK_BATCH_HEAD_BYTES);
    memcpy(body.data, set.data + ZK_BATCH_HEAD_BYTES, body.size);
    const int codec = 1 + (int)below(4);
    bytes packed = compressed(codec, body);
    const size_t rest = set.size - size;
    bytes made = new_bytes(ZK_BATCH_HEAD_BYTES + packed.size + rest);
    memcpy(made.data, set.data, ZK_BATCH_HEAD_BYTES);
    memcpy(made.data + ZK_BATCH_HEAD_BYTES, packed.data, packed.size);
    memcpy(made.data + ZK_BATCH_HEAD_BYTES + packed.size, set.data + size, rest);
    put32(made.data + 8, (uint32_t)(ZK_BATCH_HEAD_BYTES + packed.size - ZK_ENTRY_HEADER_BYTES));
    made.data[22] |= (uint8_t)codec;
    free(packed.data);
    free(body.data);
    free(set.data);
    return made;
}
