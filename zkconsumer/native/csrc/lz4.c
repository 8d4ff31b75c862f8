/* LZ4 frames, with the header checksum that Kafka gets wrong in magic 0; see `records.lz4_header`.
 *
 * Written after lz4's frame and block format documents. It takes what the lz4 library takes, or
 * less: so it keeps the rules for a block's last bytes that only that library's speed asks for. */
#include <stdbool.h>
#include <string.h>

#include "bytes.h"
#include "copy.h"
#include "sink.h"
#include "xxh32.h"

static const uint32_t MAGIC = 0x184D2204u;
static const uint32_t IS_STORED = 0x80000000u;

/* The flags byte, and what of it and of the byte behind it must be so. */
enum { HAS_DICTIONARY = 1, HAS_CONTENT_SUM = 4, HAS_SIZE = 8, HAS_BLOCK_SUMS = 16, IS_LINKLESS = 32 };
enum { FIXED_FLAGS = 0xC2, VERSION_1 = 0x40, FIXED_SIZES = 0x8F };
enum { MIN_MATCH = 4, LAST_LITERALS = 5, LAST_MATCH_ROOM = 12, LAST_INPUT = 8 };
enum { MAX_EXPANSION = 256 };

typedef struct {
    int flags;
    size_t block_max;
    uint64_t content_size; /* 0: not told */
    size_t header_bytes;
} frame_head;

static bool read_head(const uint8_t *data, size_t size, int magic, frame_head *head) {
    if (size < 7 || zk_le32(data) != MAGIC)
        return false;
    head->flags = data[4];
    const int sizes = data[5];
    if ((head->flags & FIXED_FLAGS) != VERSION_1 || (head->flags & HAS_DICTIONARY) ||
        (sizes & FIXED_SIZES) || sizes >> 4 < 4)
        return false;
    head->block_max = (size_t)1 << (8 + 2 * (sizes >> 4));
    const size_t sum_at = head->flags & HAS_SIZE ? 14 : 6;
    if (size <= sum_at)
        return false;
    head->content_size = sum_at == 14 ? zk_le64(data + 6) : 0;
    head->header_bytes = sum_at + 1;
    const uint8_t found = data[sum_at];
    return found == (zk_xxh32(data + 4, sum_at - 4) >> 8 & 0xFF) ||
           (magic == 0 && found == (zk_xxh32(data, sum_at) >> 8 & 0xFF));
}

/* Adds the bytes that continue a length of 15. */
static inline bool read_more(const uint8_t **at, const uint8_t *end, size_t *length) {
    uint8_t byte;
    do {
        if (*at == end)
            return false;
        byte = *(*at)++;
        *length += byte; /* no overflow: the input has fewer than 2^32 bytes */
    } while (byte == 255);
    return true;
}

/* Decodes one block to `out`, where `room` bytes and the slack are; matches reach back to `floor`.
 * block_room: what the frame says a block may become. Returns its size, or SIZE_MAX. */
static size_t decode_block(const uint8_t *at, const uint8_t *end, const uint8_t *floor,
                           uint8_t *out, size_t room, size_t block_room) {
    const uint8_t *const start = out;
    while (at < end) {
        const uint8_t token = *at++;
        size_t literals = token >> 4, length = (token & 15) + MIN_MATCH;
        if (literals == 15 && !read_more(&at, end, &literals))
            break;
        const size_t made = (size_t)(out - start), left = (size_t)(end - at);
        if (literals > left || literals > room - made)
            break;
        zk_copy_literals(out, at, literals, left);
        out += literals;
        at += literals;
        if (at == end)
            return (size_t)(out - start);
        if (left - literals < LAST_INPUT || made + literals + LAST_MATCH_ROOM > block_room)
            break;
        const size_t offset = zk_le16(at);
        at += 2;
        if ((token & 15) == 15 && !read_more(&at, end, &length))
            break;
        const size_t done = (size_t)(out - start);
        if (offset == 0 || offset > (size_t)(out - floor) || length > room - done ||
            done + length + LAST_LITERALS > block_room)
            break;
        zk_copy_back(out, offset, length);
        out += length;
    }
    return SIZE_MAX;
}

/* Decodes the block whose size word lies at `data`, or stores it as it is. */
static zk_decoded take_block(const uint8_t *data, size_t size, bool stored, const frame_head *head,
                             zk_sink *sink, size_t frame_start) {
    zk_buffer *buffer = sink->buffer;
    const size_t densest = stored ? size : size * MAX_EXPANSION;
    size_t room = zk_sink_room(sink);
    if (room > head->block_max)
        room = head->block_max;
    if (room > densest)
        room = densest;
    if (stored && size > room)
        return ZK_REFUSED;
    if (!zk_buffer_reserve(buffer, room))
        return ZK_NO_MEMORY;
    uint8_t *out = buffer->data + buffer->used;
    if (stored) {
        memcpy(out, data, size);
        buffer->used += size;
        return ZK_DECODED;
    }
    const uint8_t *floor = head->flags & IS_LINKLESS ? out : buffer->data + frame_start;
    const size_t made = decode_block(data, data + size, floor, out, room, head->block_max);
    if (made == SIZE_MAX)
        return ZK_REFUSED;
    buffer->used += made;
    return ZK_DECODED;
}

/* What comes at the end mark. */
static bool is_complete(const uint8_t *data, size_t size, const frame_head *head,
                        const uint8_t *made, size_t length) {
    if (head->content_size && head->content_size != length)
        return false;
    if (!(head->flags & HAS_CONTENT_SUM))
        return true;
    return size >= 4 && zk_le32(data) == zk_xxh32(made, length);
}

zk_decoded zk_unlz4(const uint8_t *data, size_t size, int magic, zk_sink *sink) {
    frame_head head;
    if (size > UINT32_MAX || !read_head(data, size, magic, &head))
        return ZK_REFUSED;
    const size_t frame_start = sink->buffer->used;
    const size_t sum_bytes = head.flags & HAS_BLOCK_SUMS ? 4 : 0;
    data += head.header_bytes;
    size -= head.header_bytes;
    while (size >= 4) {
        const uint32_t word = zk_le32(data);
        data += 4;
        size -= 4;
        if (word == 0) {
            const uint8_t *made = sink->buffer->data + frame_start;
            const size_t length = sink->buffer->used - frame_start;
            return is_complete(data, size, &head, made, length) ? ZK_DECODED : ZK_REFUSED;
        }
        const size_t block = word & ~IS_STORED;
        if (block == 0 || block > head.block_max || size < block + sum_bytes)
            return ZK_REFUSED;
        if (sum_bytes && zk_le32(data + block) != zk_xxh32(data, block))
            return ZK_REFUSED;
        const zk_decoded outcome =
            take_block(data, block, word & IS_STORED, &head, sink, frame_start);
        if (outcome != ZK_DECODED)
            return outcome;
        data += block + sum_bytes;
        size -= block + sum_bytes;
    }
    return ZK_REFUSED; /* cut off */
}
