#include "build.h"

#include "batch.h"
#include "crc32.h"
#include "crc32c.h"

enum {
    ENTRY_BYTES = 26,  /* overhead of magic 0 */
    HEADER_BYTES = 10, /* overhead of a header, as `produce.outgoing` counts it */
    MAX_OVERHEAD = 36, /* of a record of any magic, without its headers */
    CRC_AT = 12,
    MAGIC_AT = 16,
    BATCH_CRC_AT = 17,
    BATCH_CHECKED_FROM = 21,
};

static inline void put32(uint8_t *at, uint32_t value) {
    for (int byte = 0; byte < 4; byte++)
        at[byte] = (uint8_t)(value >> (24 - 8 * byte));
}

static inline void put64(uint8_t *at, uint64_t value) {
    put32(at, (uint32_t)(value >> 32));
    put32(at + 4, (uint32_t)value);
}

static inline uint64_t zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (0 - ((uint64_t)value >> 63));
}

static inline uint8_t *put_varint(uint8_t *at, int64_t value) {
    uint64_t left = zigzag(value);
    for (; left >= 0x80; left >>= 7)
        *at++ = (uint8_t)(left | 0x80);
    *at++ = (uint8_t)left;
    return at;
}

static inline size_t varint_bytes(int64_t value) {
    size_t bytes = 1;
    for (uint64_t left = zigzag(value) >> 7; left; left >>= 7)
        bytes++;
    return bytes;
}

static inline size_t length_of(int32_t size) { return size > 0 ? (size_t)size : 0; }

static inline size_t header_bytes(const zk_message *message) {
    return message->header_count > 0 ? (size_t)(message->headers_end - message->headers) : 0;
}

size_t zk_build_max_bytes(const zk_run *run) { return run->size + run->count * MAX_OVERHEAD; }

/* The time of a record as its producer would have set it. */
static int64_t time_of(const zk_build *build, const zk_run *run, const zk_message *message) {
    const bool is_appended = run->has_append_time && message->magic == 1;
    const int64_t time = is_appended ? run->append_time : message->timestamp;
    return time == -1 ? build->terms.now_ms : time;
}

static inline uint8_t *put_sized32(uint8_t *at, const uint8_t *data, int32_t size) {
    put32(at, (uint32_t)size);
    const size_t length = length_of(size);
    if (length)
        memcpy(at + 4, data, length);
    return at + 4 + length;
}

/* A message of magic 0 or 1. `entry`: as it lies in its set; null where it is another format. */
static zk_build_status add_message(zk_build *build, const zk_message *message, int64_t time,
                                   const uint8_t *entry) {
    uint8_t *const start = build->data + build->used;
    const size_t time_bytes = build->terms.magic ? 8 : 0;
    const size_t size = ENTRY_BYTES - ZK_ENTRY_HEADER_BYTES + time_bytes +
                        length_of(message->key_bytes) + length_of(message->value_bytes);
    if (message->header_count > 0 && build->terms.with_headers)
        return ZK_BUILD_HEADERS;
    if (size > INT32_MAX)
        return ZK_BUILD_TOO_LARGE;
    if (ZK_ENTRY_HEADER_BYTES + size > build->capacity - build->used)
        return ZK_BUILD_BROKEN;
    put64(start, build->count);
    put32(start + 8, (uint32_t)size);
    if (entry && entry[MAGIC_AT] == build->terms.magic && message->attributes == 0 &&
        (!time_bytes || time == message->timestamp)) {
        memcpy(start + CRC_AT, entry + CRC_AT, size); /* as it lies, its CRC too */
    } else {
        start[MAGIC_AT] = (uint8_t)build->terms.magic;
        start[MAGIC_AT + 1] = 0;
        if (time_bytes)
            put64(start + MAGIC_AT + 2, (uint64_t)time);
        uint8_t *at = start + MAGIC_AT + 2 + time_bytes;
        at = put_sized32(at, message->key, message->key_bytes);
        put_sized32(at, message->value, message->value_bytes);
        put32(start + CRC_AT, zk_crc32(0, start + MAGIC_AT, size - 4));
    }
    build->used += ZK_ENTRY_HEADER_BYTES + size;
    return ZK_BUILT;
}

static inline uint8_t *put_sized(uint8_t *at, const uint8_t *data, int32_t size) {
    at = put_varint(at, size < 0 ? -1 : size);
    const size_t length = length_of(size);
    if (length)
        memcpy(at, data, length);
    return at + length;
}

static zk_build_status add_record(zk_build *build, const zk_message *message, int64_t time) {
    int64_t time_delta;
    if (__builtin_sub_overflow(time, build->base_time, &time_delta))
        return ZK_BUILD_TIMES;
    if (build->count > INT32_MAX)
        return ZK_BUILD_TOO_LARGE;
    const bool has_headers = build->terms.with_headers && message->header_count > 0;
    const int32_t header_count = has_headers ? message->header_count : 0;
    const size_t headers = has_headers ? header_bytes(message) : 0;
    const size_t key = length_of(message->key_bytes), value = length_of(message->value_bytes);
    const size_t size = 1 + varint_bytes(time_delta) + varint_bytes((int64_t)build->count) +
                        varint_bytes(key ? message->key_bytes : -1) + key +
                        varint_bytes(value ? message->value_bytes : -1) + value +
                        varint_bytes(header_count) + headers;
    if (size > INT32_MAX)
        return ZK_BUILD_TOO_LARGE;
    if (size + 5 > build->capacity - build->used)
        return ZK_BUILD_BROKEN;
    uint8_t *at = put_varint(build->data + build->used, (int64_t)size);
    *at++ = 0;
    at = put_varint(at, time_delta);
    at = put_varint(at, (int64_t)build->count);
    at = put_sized(at, message->key, message->key_bytes);
    at = put_sized(at, message->value, message->value_bytes);
    at = put_varint(at, header_count);
    if (headers)
        memcpy(at, message->headers, headers);
    build->used = (size_t)(at + headers - build->data);
    return ZK_BUILT;
}

zk_build_status zk_build_add(zk_build *build, const zk_run *run) {
    zk_cursor cursor = zk_run_begin(run);
    for (;;) {
        zk_message message = {.headers = NULL};
        int64_t offset;
        const uint8_t *const entry = run->is_batch ? NULL : cursor.at;
        const zk_step step = zk_run_next(&cursor, &offset, &message);
        if (step == ZK_RUN_ENDS)
            return ZK_BUILT;
        if (step == ZK_RUN_BROKEN)
            return ZK_BUILD_BROKEN;
        const int64_t time = time_of(build, run, &message);
        if (!build->count) {
            build->base_time = time;
            build->max_time = time;
        }
        const zk_build_status status = build->terms.magic == ZK_BATCH_MAGIC
                                           ? add_record(build, &message, time)
                                           : add_message(build, &message, time, entry);
        if (status != ZK_BUILT)
            return status;
        build->count++;
        if (time > build->max_time)
            build->max_time = time;
    }
}

void zk_build_seal(uint8_t *batch, size_t size, const zk_build_head *head) {
    put64(batch, 0); /* the broker gives offsets */
    put32(batch + 8, (uint32_t)(size - ZK_ENTRY_HEADER_BYTES));
    put32(batch + 12, (uint32_t)-1); /* no leader yet */
    batch[MAGIC_AT] = ZK_BATCH_MAGIC;
    batch[21] = (uint8_t)(head->attributes >> 8);
    batch[22] = (uint8_t)head->attributes;
    put32(batch + 23, head->record_count - 1);
    put64(batch + 27, (uint64_t)head->base_time);
    put64(batch + 35, (uint64_t)head->max_time);
    put64(batch + 43, (uint64_t)head->producer_id);
    batch[51] = (uint8_t)((uint16_t)head->producer_epoch >> 8);
    batch[52] = (uint8_t)head->producer_epoch;
    put32(batch + 53, (uint32_t)head->base_sequence);
    put32(batch + 57, head->record_count);
    const size_t checked = size - BATCH_CHECKED_FROM;
    put32(batch + BATCH_CRC_AT, zk_crc32c(0, batch + BATCH_CHECKED_FROM, checked));
}

bool zk_build_fits(const zk_run *run, size_t max_bytes, size_t max_count, size_t *count,
                   size_t *taken) {
    zk_cursor cursor = zk_run_begin(run);
    *count = *taken = 0;
    while (*count < max_count) {
        zk_message message;
        int64_t offset;
        const zk_step step = zk_run_next(&cursor, &offset, &message);
        if (step != ZK_MESSAGE)
            return step == ZK_RUN_ENDS;
        size_t size = ENTRY_BYTES + length_of(message.key_bytes) + length_of(message.value_bytes);
        if (message.header_count > 0)
            size += header_bytes(&message) + (size_t)message.header_count * HEADER_BYTES;
        if (size > max_bytes - *taken)
            return true;
        *taken += size;
        ++*count;
    }
    return true;
}
