/* One message of magic 0 or 1 as it lies in a set; the layout is described in `records.legacy`.
 * Records of magic 2 have the same parts, and headers: see record.h. */
#ifndef ZK_MESSAGE_H
#define ZK_MESSAGE_H

#include <stdbool.h>

#include "bytes.h"

enum {
    ZK_ENTRY_HEADER_BYTES = 12, /* offset and size, in front of every entry */
    ZK_MIN_ENTRY_SIZE = 14,     /* magic 0, null key and null value */
    ZK_CODEC_MASK = 7,
    ZK_LOG_APPEND_MASK = 8,
};

/* Where the parts of a message lie; a null key or value has no place and -1 bytes. */
typedef struct {
    const uint8_t *key;
    const uint8_t *value;
    int64_t timestamp; /* -1 in magic 0 */
    int32_t key_bytes;
    int32_t value_bytes;
    uint8_t magic;
    uint8_t attributes;          /* of magic 2: of its batch, and only who set the time */
    int32_t header_count;        /* 0 in magic 0 and 1 */
    const uint8_t *headers;      /* of magic 2: from the first one on */
    const uint8_t *headers_end;
} zk_message;

/* The offset behind one, as `records.entries` has it: behind the last one there is no other. */
static inline int64_t zk_behind(int64_t offset) {
    return offset < INT64_MAX ? offset + 1 : offset;
}

/* Takes a whole entry of magic 0 or 1 apart. Every length is held against the entry's size, so a
 * true answer means that all parts lie inside of it. The CRC is the caller's.
 * entry: its first byte; size: what its header says, at least ZK_MIN_ENTRY_SIZE. */
static inline bool zk_take_apart(const uint8_t *entry, uint32_t size, zk_message *message) {
    const uint8_t *const end = entry + ZK_ENTRY_HEADER_BYTES + size;
    const uint8_t *at = entry + 18;
    message->magic = entry[16];
    message->attributes = entry[17];
    message->timestamp = -1;
    message->header_count = 0;
    if (message->magic == 1) {
        if (size < ZK_MIN_ENTRY_SIZE + 8)
            return false;
        message->timestamp = zk_int64(at);
        at += 8;
    }
    const int32_t key_bytes = zk_int32(at);
    at += 4;
    message->key = at;
    message->key_bytes = key_bytes;
    if (key_bytes > 0) {
        if (key_bytes > end - at)
            return false;
        at += key_bytes;
    } else if (key_bytes < -1) {
        return false;
    }
    if (end - at < 4)
        return false;
    message->value = at + 4;
    message->value_bytes = zk_int32(at);
    const int64_t left = end - at - 4;
    return message->value_bytes == left || (message->value_bytes == -1 && left == 0);
}

#endif
