/* One message of magic 0 or 1; the layout is described in `records.legacy`. Records of magic 2 have the
 * same parts, and headers: see record.h. */
#ifndef ZK_MESSAGE_H
#define ZK_MESSAGE_H

#include <stdbool.h>

#include "bytes.h"

enum {
    ZK_ENTRY_HEADER_BYTES = 12, /* offset and size of every entry */
    ZK_MIN_ENTRY_SIZE = 14,     /* magic 0, null key and null value */
    ZK_CODEC_MASK = 7,
    ZK_LOG_APPEND_MASK = 8,
};

/* The parts of a message; a null key or value has a size of -1. */
typedef struct {
    const uint8_t *key;
    const uint8_t *value;
    int64_t timestamp; /* -1 in magic 0 */
    int32_t key_bytes;
    int32_t value_bytes;
    uint8_t magic;
    uint8_t attributes;          /* of magic 2: only ZK_LOG_APPEND_MASK, from its batch */
    int32_t header_count;        /* 0 in magic 0 and 1 */
    const uint8_t *headers;      /* of magic 2: from the first one on */
    const uint8_t *headers_end;
} zk_message;

/* The next offset, as in `records.entries`: the largest one has none. */
static inline int64_t zk_behind(int64_t offset) {
    return offset < INT64_MAX ? offset + 1 : offset;
}

/* Parses a whole entry of magic 0 or 1. True: all parts lie within it; the CRC is left to the caller.
 * entry: its first byte; size: the size in its header, at least ZK_MIN_ENTRY_SIZE. */
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
