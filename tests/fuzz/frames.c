#include "frames.h"

#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "batch_sets.h"
#include "bytes.h"
#include "fetch_versions.h"

/* More than a broker was asked for, and than a buffer has room for at first. */
enum { LARGE_SET_BYTES = (1 << 20) + 70000, PART_BYTES = 1024, MOST_TAG_BYTES = 40 };

static uint8_t *put_number(uint8_t *to, uint64_t value, size_t size) {
    for (size_t byte = 0; byte < size; byte++)
        *to++ = (uint8_t)(value >> (8 * (size - 1 - byte)));
    return to;
}

/* A length; in flexible versions one more than that, as a varint. Of null: -1. */
static uint8_t *put_length(uint8_t *to, int version, int64_t length) {
    if (version < ZK_FETCH_FLEXIBLE)
        return put_number(to, (uint64_t)length, 4);
    uint64_t left = (uint64_t)(length + 1);
    for (; left >= 0x80; left >>= 7)
        *to++ = (uint8_t)(left | 0x80);
    *to++ = (uint8_t)left;
    return to;
}

/* Tagged fields that nobody knows, sometimes. */
static uint8_t *put_tags(uint8_t *to, int version) {
    if (version < ZK_FETCH_FLEXIBLE)
        return to;
    const size_t count = below(8) ? 0 : below(3);
    *to++ = (uint8_t)count;
    for (size_t left = count; left; left--) {
        *to++ = (uint8_t)below(128);
        const size_t size = below(MOST_TAG_BYTES);
        *to++ = (uint8_t)size;
        memset(to, 0xFF, size);
        to += size;
    }
    return to;
}

static uint8_t *put_transactions(uint8_t *to, int version) {
    const size_t count = below(4) ? 0 : below(4);
    to = put_length(to, version, count || below(2) ? (int64_t)count : -1);
    for (size_t left = count; left; left--) {
        memset(to, 0x55, 16);
        to = put_tags(to + 16, version);
    }
    return to;
}

static int64_t last_offset(const uint8_t *entry, int32_t size) {
    const bool is_batch = entry[16] == ZK_BATCH_MAGIC && size >= ZK_BATCH_HEAD_BYTES;
    return (int64_t)(zk_be64(entry) + (is_batch ? zk_be32(entry + 23) : 0));
}

/* What a sound broker sends of a set: from the first entry on that reaches the offset. */
static size_t start_of(const bytes *set, int64_t offset) {
    size_t at = 0;
    while (set->size - at > ZK_ENTRY_HEADER_BYTES + ZK_MIN_ENTRY_SIZE) {
        const int32_t size = zk_int32(set->data + at + 8);
        if (size < ZK_MIN_ENTRY_SIZE || (size_t)size > set->size - at - ZK_ENTRY_HEADER_BYTES ||
            last_offset(set->data + at, size) >= offset)
            break;
        at += ZK_ENTRY_HEADER_BYTES + (size_t)size;
    }
    return at;
}

/* A set that a broker gives in this version. */
static bytes a_set(int version, bool is_sound) {
    const bool is_batch = version >= ZK_FETCH_TRANSACTIONS && below(2);
    bytes set = copy(is_batch ? a_batch_seed() : a_seed());
    if (is_batch && below(4) == 0)
        set = packed_batch(set);
    if (!is_sound && below(3) == 0) {
        set = is_batch ? damaged_batches(set) : damaged(set);
        repair(set);
    }
    return set;
}

static uint8_t *put_part_head(uint8_t *to, int version, const part *part, bool is_error,
                              int64_t high_watermark) {
    to = put_number(to, (uint32_t)part->partition, 4);
    to = put_number(to, is_error ? 6 : 0, 2);
    to = put_number(to, (uint64_t)high_watermark, 8);
    if (version >= ZK_FETCH_TRANSACTIONS)
        to = put_number(to, below(100), 8); /* the last stable offset */
    if (version >= ZK_FETCH_LOG_START)
        to = put_number(to, below(10), 8);
    if (version >= ZK_FETCH_TRANSACTIONS)
        to = put_transactions(to, version);
    return version >= ZK_FETCH_REPLICAS ? put_number(to, UINT64_MAX, 4) : to;
}

static uint8_t *put_part(uint8_t *to, int version, const part *part, bool is_sound,
                         bool *may_be_large) {
    bytes set = a_set(version, is_sound);
    const size_t start = below(8) ? start_of(&set, part->offset) : 0;
    size_t size = below(8) ? set.size - start : below(set.size - start + 1);
    if (size > part->most_bytes)
        size = part->most_bytes;
    const bool is_large = *may_be_large && below(500) == 0;
    *may_be_large &= !is_large;
    const size_t more = is_large ? LARGE_SET_BYTES - size : 0;
    const bool is_null = size + more == 0 && below(2);
    const bool is_error = below(40) == 0;
    const int64_t high_watermark = below(8) ? INT64_MAX : (int64_t)below(100);
    to = put_part_head(to, version, part, is_error, high_watermark);
    to = put_length(to, version, is_null ? -1 : (int64_t)(size + more));
    memcpy(to, set.data + start, size);
    memset(to + size, 0, more);
    free(set.data);
    return put_tags(to + size + more, version);
}

static bool is_same_topic(const part *one, const part *other) {
    return one->topic_bytes == other->topic_bytes &&
           memcmp(one->topic, other->topic, one->topic_bytes) == 0;
}

/* How many of the parts, from the first on, are of its topic. */
static size_t of_one_topic(const part *parts, size_t count) {
    size_t here = 0;
    while (here < count && is_same_topic(parts, parts + here))
        here++;
    return here;
}

static uint8_t *put_topic_head(uint8_t *to, int version, const part *part, size_t count) {
    if (version < ZK_FETCH_FLEXIBLE)
        to = put_number(to, part->topic_bytes, 2);
    else if (version < ZK_FETCH_TOPIC_IDS)
        to = put_length(to, version, (int64_t)part->topic_bytes);
    memcpy(to, part->topic, part->topic_bytes);
    return put_length(to + part->topic_bytes, version, (int64_t)count);
}

static uint8_t *put_topic(uint8_t *to, int version, const part *parts, size_t count, bool is_sound,
                          bool *may_be_large) {
    to = put_topic_head(to, version, parts, count);
    for (const part *part = parts; part < parts + count; part++)
        to = put_part(to, version, part, is_sound, may_be_large);
    return put_tags(to, version);
}

static uint8_t *put_head(uint8_t *to, int version, int32_t correlation_id, bool is_sound) {
    to = put_tags(put_number(to, (uint32_t)correlation_id, 4), version);
    if (version >= ZK_FETCH_THROTTLE)
        to = put_number(to, below(8) ? 0 : below(4), 4);
    if (version < ZK_FETCH_SESSIONS)
        return to;
    to = put_number(to, is_sound || below(30) ? 0 : 1, 2);
    return put_number(to, below(3), 4); /* a session */
}

bytes make_response(int version, int32_t correlation_id, const part *parts, size_t count,
                    bool is_sound) {
    bool may_be_large = true; /* one set of each response */
    size_t most_bytes = PART_BYTES + LARGE_SET_BYTES, topics = 0;
    for (const part *part = parts; part < parts + count; part++)
        most_bytes += PART_BYTES + part->topic_bytes + MAX_SET_BYTES * 2;
    for (size_t at = 0; at < count; at += of_one_topic(parts + at, count - at))
        topics++;
    bytes made = new_bytes(most_bytes);
    uint8_t *to = put_head(made.data + 4, version, correlation_id, is_sound);
    to = put_length(to, version, (int64_t)topics);
    for (size_t at = 0; at < count;) {
        const size_t here = of_one_topic(parts + at, count - at);
        to = put_topic(to, version, parts + at, here, is_sound, &may_be_large);
        at += here;
    }
    to = put_tags(to, version);
    made.size = (size_t)(to - made.data);
    put_number(made.data, made.size - 4, 4);
    return made;
}

bytes make_response_of(int version, int32_t correlation_id, const part *part, bytes set,
                       int64_t high_watermark) {
    bytes made = new_bytes(2 * PART_BYTES + part->topic_bytes + set.size);
    uint8_t *to = put_head(made.data + 4, version, correlation_id, true);
    to = put_topic_head(put_length(to, version, 1), version, part, 1);
    to = put_part_head(to, version, part, false, high_watermark);
    to = put_length(to, version, (int64_t)set.size);
    memcpy(to, set.data, set.size);
    to = put_tags(to + set.size, version);
    to = put_tags(put_tags(to, version), version);
    made.size = (size_t)(to - made.data);
    put_number(made.data, made.size - 4, 4);
    return made;
}

void damage_frame(bytes frame) {
    const size_t near = frame.size < 80 ? frame.size : 80;
    for (size_t times = below(3); times; times--)
        frame.data[below(below(2) ? near : frame.size)] ^= (uint8_t)(1 << below(8));
}
