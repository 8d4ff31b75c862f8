/* Raw snappy blocks, and snappy-java's framing around them; see `records.xerial`.
 *
 * A block is its decoded size, then elements: literals, and copies of earlier output.
 * Written after snappy's format_description.txt. */
#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "copy.h"
#include "sink.h"

enum { MAX_EXPANSION = 32, FRAME_HEADER_BYTES = 16, MAGIC_BYTES = 8 };
static const uint8_t MAGIC[MAGIC_BYTES] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};

/* Reads the decoded size of a block; returns the length of that field, 0 if it is invalid. */
static size_t read_size(const uint8_t *block, size_t size, size_t *becomes) {
    uint64_t value = 0;
    for (size_t at = 0; at < 5 && at < size; at++) {
        value |= (uint64_t)(block[at] & 0x7F) << 7 * at;
        if (block[at] < 0x80) {
            *becomes = (size_t)value;
            return value <= (uint64_t)size * MAX_EXPANSION ? at + 1 : 0;
        }
    }
    return 0;
}

/* Reads a literal's length: in the tag, or in one to four bytes after it. */
static inline bool literal_length(uint8_t tag, const uint8_t **at, const uint8_t *end,
                                  size_t *length) {
    *length = (size_t)(tag >> 2) + 1;
    if (*length <= 60)
        return true;
    const size_t more = *length - 60;
    if ((size_t)(end - *at) < more)
        return false;
    uint32_t value = 0;
    for (size_t byte = 0; byte < more; byte++)
        value |= (uint32_t)(*at)[byte] << 8 * byte;
    *at += more;
    *length = (size_t)value + 1;
    return true;
}

/* Reads a copy's length and offset; the tag's low bits are 1, 2 or 3. */
static inline bool copy_parts(uint8_t tag, const uint8_t **at, const uint8_t *end, size_t *length,
                              size_t *offset) {
    const size_t kind = tag & 3, more = kind == 3 ? 4 : kind;
    if ((size_t)(end - *at) < more)
        return false;
    if (kind == 1) {
        *length = (size_t)(tag >> 2 & 7) + 4;
        *offset = (size_t)(tag >> 5) << 8 | **at;
    } else {
        *length = (size_t)(tag >> 2) + 1;
        *offset = kind == 2 ? zk_le16(*at) : zk_le32(*at);
    }
    *at += more;
    return true;
}

/* Decodes the elements; true if their output ends exactly at out_end. */
static bool decode_elements(const uint8_t *at, const uint8_t *end, uint8_t *out,
                            const uint8_t *out_end) {
    const uint8_t *const start = out;
    while (at < end) {
        const uint8_t tag = *at++;
        const size_t free_bytes = (size_t)(out_end - out);
        size_t length, offset;
        if ((tag & 3) == 0) {
            if (!literal_length(tag, &at, end, &length) || length > (size_t)(end - at) ||
                length > free_bytes)
                return false;
            if (length <= 16 && end - at >= 16)
                memcpy(out, at, 16); /* a fixed width: the output has slack */
            else
                memcpy(out, at, length);
            at += length;
        } else {
            if (!copy_parts(tag, &at, end, &length, &offset) || length > free_bytes || offset == 0 ||
                offset > (size_t)(out - start))
                return false;
            zk_copy_back(out, offset, length);
        }
        out += length;
    }
    return out == out_end;
}

static zk_decoded decode_block(const uint8_t *block, size_t size, zk_sink *sink) {
    size_t becomes = 0;
    const size_t head = read_size(block, size, &becomes);
    if (!head || becomes > zk_sink_free_bytes(sink))
        return ZK_REFUSED;
    zk_buffer *buffer = sink->buffer;
    if (!zk_buffer_reserve(buffer, becomes))
        return ZK_NO_MEMORY;
    uint8_t *out = buffer->data + buffer->used;
    if (!decode_elements(block + head, block + size, out, out + becomes))
        return ZK_REFUSED;
    buffer->used += becomes;
    return ZK_DECODED;
}

static bool begins_frame(const uint8_t *data, size_t size) {
    return size >= MAGIC_BYTES && memcmp(data, MAGIC, MAGIC_BYTES) == 0;
}

zk_decoded zk_unsnap(const uint8_t *data, size_t size, zk_sink *sink) {
    if (!begins_frame(data, size))
        return decode_block(data, size, sink);
    while (size) {
        if (begins_frame(data, size)) { /* streams may follow each other */
            if (size < FRAME_HEADER_BYTES)
                return ZK_REFUSED;
            data += FRAME_HEADER_BYTES;
            size -= FRAME_HEADER_BYTES;
            continue;
        }
        if (size < 4)
            return ZK_REFUSED;
        const uint32_t length = zk_be32(data);
        if (length > INT32_MAX || length > size - 4)
            return ZK_REFUSED;
        const zk_decoded outcome = decode_block(data + 4, length, sink);
        if (outcome != ZK_DECODED)
            return outcome;
        data += 4 + (size_t)length;
        size -= 4 + (size_t)length;
    }
    return ZK_DECODED;
}
