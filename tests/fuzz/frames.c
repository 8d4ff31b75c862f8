#include "frames.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "message.h"

/* More than a broker was asked for, and than a buffer has room for at first. */
enum { LARGE_SET_BYTES = (1 << 20) + 70000, PART_HEAD_BYTES = 18 };

static uint8_t *put_number(uint8_t *to, uint64_t value, size_t size) {
    for (size_t byte = 0; byte < size; byte++)
        *to++ = (uint8_t)(value >> (8 * (size - 1 - byte)));
    return to;
}

/* What a sound broker sends of a set: from the first entry on that reaches the offset. */
static size_t start_of(const bytes *set, int64_t offset) {
    size_t at = 0;
    while (set->size - at > ZK_ENTRY_HEADER_BYTES + ZK_MIN_ENTRY_SIZE) {
        const int32_t size = zk_int32(set->data + at + 8);
        if (size < ZK_MIN_ENTRY_SIZE || (size_t)size > set->size - at - ZK_ENTRY_HEADER_BYTES ||
            zk_int64(set->data + at) >= offset)
            break;
        at += ZK_ENTRY_HEADER_BYTES + (size_t)size;
    }
    return at;
}

static uint8_t *put_part(uint8_t *to, const part *part, bool is_sound, bool *may_be_large) {
    bytes set = copy(a_seed());
    if (!is_sound && below(3) == 0) {
        set = damaged(set);
        repair(set);
    }
    const bool is_error = below(40) == 0;
    const size_t start = below(8) ? start_of(&set, part->offset) : 0;
    size_t size = below(8) ? set.size - start : below(set.size - start + 1);
    if (size > part->most_bytes)
        size = part->most_bytes;
    const bool is_large = *may_be_large && below(500) == 0;
    *may_be_large &= !is_large;
    const size_t more = is_large ? LARGE_SET_BYTES - size : 0;
    to = put_number(to, (uint32_t)part->partition, 4);
    to = put_number(to, is_error ? 6 : 0, 2);
    to = put_number(to, below(8) ? INT64_MAX : below(100), 8); /* the high watermark */
    to = put_number(to, size + more, 4);
    memcpy(to, set.data + start, size);
    memset(to + size, 0, more);
    free(set.data);
    return to + size + more;
}

static bool is_same_topic(const part *one, const part *other) {
    return one->topic_bytes == other->topic_bytes &&
           memcmp(one->topic, other->topic, one->topic_bytes) == 0;
}

bytes make_response(int32_t correlation_id, const part *parts, size_t count, bool is_sound) {
    bool may_be_large = true; /* one set of each response */
    size_t most_bytes = 12 + LARGE_SET_BYTES;
    for (const part *part = parts; part < parts + count; part++)
        most_bytes += 6 + part->topic_bytes + PART_HEAD_BYTES + MAX_SET_BYTES * 2;
    bytes made = room(most_bytes);
    uint8_t *to = put_number(made.data + 4, (uint32_t)correlation_id, 4);
    uint8_t *const topics_at = to;
    size_t topics = 0;
    to += 4;
    for (size_t at = 0; at < count; topics++) {
        const part *first = parts + at;
        to = put_number(to, first->topic_bytes, 2);
        memcpy(to, first->topic, first->topic_bytes);
        uint8_t *const count_at = to += first->topic_bytes;
        size_t here = 0;
        to += 4;
        for (; at < count && is_same_topic(first, parts + at); at++, here++)
            to = put_part(to, parts + at, is_sound, &may_be_large);
        put_number(count_at, here, 4);
    }
    put_number(topics_at, topics, 4);
    made.size = (size_t)(to - made.data);
    put_number(made.data, made.size - 4, 4);
    return made;
}

void damage_frame(bytes frame) {
    const size_t near = frame.size < 80 ? frame.size : 80;
    for (size_t times = below(3); times; times--)
        frame.data[below(below(2) ? near : frame.size)] ^= (uint8_t)(1 << below(8));
}
