/* gzip (RFC 1952): one member or several; what follows the last one is ignored, as Java does. */
#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "crc32.h"
#include "inflate.h"

enum { HEADER_BYTES = 10, TRAILER_BYTES = 8, DEFLATED = 8 };
enum { HAS_HEADER_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16, RESERVED = 0xE0 };

static bool begins_member(const uint8_t *data, size_t size) {
    return size >= 2 && data[0] == 0x1F && data[1] == 0x8B;
}

/* Passes over a text that ends with a zero byte. */
static bool skip_text(const uint8_t *data, size_t size, size_t *at) {
    const uint8_t *end = *at < size ? memchr(data + *at, 0, size - *at) : NULL;
    if (!end)
        return false;
    *at = (size_t)(end - data) + 1;
    return true;
}

/* Returns the size of a member's header, or 0: not one, or one with a checksum of its own, which
 * nobody writes. */
static size_t header_size(const uint8_t *data, size_t size) {
    if (size < HEADER_BYTES || !begins_member(data, size) || data[2] != DEFLATED)
        return 0;
    const int flags = data[3];
    size_t at = HEADER_BYTES;
    if (flags & (RESERVED | HAS_HEADER_CRC))
        return 0;
    if (flags & HAS_EXTRA) {
        if (size - at < 2)
            return 0;
        const uint32_t extra = zk_le16(data + at); /* once: see `zk_run_next` about changing bytes */
        at += 2;
        if (size - at < extra)
            return 0;
        at += extra;
    }
    if ((flags & HAS_NAME) && !skip_text(data, size, &at))
        return 0;
    if ((flags & HAS_COMMENT) && !skip_text(data, size, &at))
        return 0;
    return at;
}

/* Room for what the last member says it becomes, if that is believable. */
static bool reserve(const uint8_t *data, size_t size, zk_sink *sink) {
    const size_t promised = zk_le32(data + size - 4), likely = size * 20;
    size_t wanted = promised < likely ? promised : likely;
    if (wanted > zk_sink_room(sink))
        wanted = zk_sink_room(sink);
    return zk_buffer_reserve(sink->buffer, wanted + ZK_SLACK_BYTES);
}

zk_decoded zk_gunzip(const uint8_t *data, size_t size, zk_sink *sink) {
    if (size < HEADER_BYTES + TRAILER_BYTES)
        return ZK_REFUSED;
    if (!reserve(data, size, sink))
        return ZK_NO_MEMORY;
    do {
        const size_t header = header_size(data, size);
        const size_t start = sink->buffer->used;
        size_t consumed = 0;
        if (!header)
            return ZK_REFUSED;
        const zk_decoded outcome = zk_inflate(data + header, size - header, sink, &consumed);
        if (outcome != ZK_DECODED)
            return outcome;
        data += header + consumed;
        size -= header + consumed;
        const uint8_t *made = sink->buffer->data + start;
        const size_t length = sink->buffer->used - start;
        if (size < TRAILER_BYTES || zk_le32(data) != zk_crc32(0, made, length) ||
            zk_le32(data + 4) != (uint32_t)length)
            return ZK_REFUSED;
        data += TRAILER_BYTES;
        size -= TRAILER_BYTES;
    } while (begins_member(data, size));
    return ZK_DECODED;
}
