#include "order.h"

#include "batch.h"

enum {
    SIZE_AT = 8,
    LEADER_EPOCH_AT = 12,
    MAGIC_AT = 16,
    MESSAGE_CODEC_AT = 17,
    BATCH_CODEC_AT = 22,
    LAST_DELTA_AT = 23,
};

static uint32_t codec_bit(const uint8_t *entry) {
    const int at = entry[MAGIC_AT] == ZK_BATCH_MAGIC ? BATCH_CODEC_AT : MESSAGE_CODEC_AT;
    return 1u << (entry[at] & ZK_CODEC_MASK);
}

/* The last offset of a whole entry; false: no reader would take it for an entry. */
static bool last_offset(const uint8_t *entry, int32_t size, int64_t *last) {
    *last = zk_int64(entry);
    if (entry[MAGIC_AT] < ZK_BATCH_MAGIC)
        return true;
    if (entry[MAGIC_AT] > ZK_BATCH_MAGIC || size < ZK_BATCH_HEAD_BYTES - ZK_ENTRY_HEADER_BYTES)
        return false;
    const int32_t delta = zk_int32(entry + LAST_DELTA_AT);
    return delta >= 0 && !__builtin_add_overflow(*last, (int64_t)delta, last);
}

static int32_t leader_epoch(const uint8_t *entry) {
    const bool is_batch = entry[MAGIC_AT] == ZK_BATCH_MAGIC;
    return is_batch ? zk_int32(entry + LEADER_EPOCH_AT) : ZK_NO_LEADER_EPOCH;
}

size_t zk_cut_off_bytes(const uint8_t *data, size_t size, size_t position) {
    if (position > size || size - position < ZK_ENTRY_HEADER_BYTES)
        return 0;
    const int32_t entry_size = zk_int32(data + position + SIZE_AT);
    const size_t left = size - position - ZK_ENTRY_HEADER_BYTES;
    if (entry_size < ZK_MIN_ENTRY_SIZE || left >= (size_t)entry_size)
        return 0;
    return ZK_ENTRY_HEADER_BYTES + (size_t)entry_size;
}

bool zk_offsets_rise(const uint8_t *data, size_t size, int64_t end, zk_order *order) {
    zk_order before = *order, here = *order;
    while (here.position <= size && size - here.position >= ZK_ENTRY_HEADER_BYTES) {
        const uint8_t *entry = data + here.position;
        const int64_t first = zk_int64(entry);
        const int32_t entry_size = zk_int32(entry + SIZE_AT);
        const size_t left = size - here.position - ZK_ENTRY_HEADER_BYTES;
        if (entry_size < ZK_MIN_ENTRY_SIZE || first < 0)
            break;
        const bool is_whole = (size_t)entry_size <= left;
        int64_t last = first;
        if (is_whole && !last_offset(entry, entry_size, &last))
            break;
        /* The first one may begin below the requested offset, but not end there. */
        const int64_t lowest = here.is_first ? last : first;
        if (lowest < here.low && !(here.is_first && !is_whole)) {
            *order = before;
            return false;
        }
        if (!is_whole) {
            if (left > BATCH_CODEC_AT - ZK_ENTRY_HEADER_BYTES)
                here.codecs |= codec_bit(entry);
            break;
        }
        if (last >= end) {
            *order = here;
            return false;
        }
        before = here;
        here = (zk_order){here.position + ZK_ENTRY_HEADER_BYTES + (size_t)entry_size, last + 1,
                          false, here.codecs | codec_bit(entry), leader_epoch(entry)};
    }
    *order = here;
    return true;
}
