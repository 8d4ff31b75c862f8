/* LZ4 frames, by the library, with the wrong header checksum that Kafka writes in magic 0 corrected; see
 * `records.lz4_header`. Bytes after the end mark of the frame are ignored, as in Java. */
#include "sink.h"

#ifdef ZK_WITH_LZ4

#include <lz4.h>
#include <lz4frame.h>
#include <string.h>

#include "bytes.h"
#include "xxh32.h"

enum { MAGIC_BYTES = 4, MIN_HEADER_BYTES = 7, MOST_HEADER_BYTES = 15, MAX_EXPANSION = 255 };
enum { HAS_DICTIONARY = 1, HAS_SIZE = 8 };
static const char NO_MEMORY[] = "ERROR_allocation_failed"; /* every version has this name */
static const uint32_t MAGIC = 0x184D2204u;

/* Copies the frame's header with the checksum that the library expects; returns its size, 0 if it is
 * invalid. */
static size_t sound_header(const uint8_t *data, size_t size, int magic, uint8_t *header) {
    if (size < MIN_HEADER_BYTES || zk_le32(data) != MAGIC || data[4] & HAS_DICTIONARY)
        return 0;
    const size_t sum_at = data[4] & HAS_SIZE ? MOST_HEADER_BYTES - 1 : MIN_HEADER_BYTES - 1;
    if (size <= sum_at)
        return 0;
    memcpy(header, data, sum_at);
    header[sum_at] = (uint8_t)(zk_xxh32(header + MAGIC_BYTES, sum_at - MAGIC_BYTES) >> 8);
    const uint8_t found = data[sum_at];
    const bool is_kafkas = magic == 0 && found == (uint8_t)(zk_xxh32(header, sum_at) >> 8);
    return found == header[sum_at] || is_kafkas ? sum_at + 1 : 0;
}

/* The maximum size of a decompressed block, by a header that the library has accepted. */
static size_t block_bytes(const uint8_t *header) {
    return (size_t)1 << (8 + 2 * (header[5] >> 4 & 7));
}

static zk_decoded failure(size_t outcome) {
    return strcmp(LZ4F_getErrorName(outcome), NO_MEMORY) == 0 ? ZK_NO_MEMORY : ZK_REFUSED;
}

static zk_decoded decode_blocks(LZ4F_dctx *context, const uint8_t *data, size_t size,
                                size_t block_max, zk_sink *sink) {
    /* With space for a whole block, the library decodes in place. */
    const size_t densest = size * MAX_EXPANSION, wanted = block_max < densest ? block_max : densest;
    for (;;) {
        zk_piece piece;
        if (!zk_sink_space(sink, wanted, &piece))
            return ZK_NO_MEMORY;
        size_t made = piece.size, taken = size;
        const size_t outcome = LZ4F_decompress(context, piece.data, &made, data, &taken, NULL);
        if (LZ4F_isError(outcome))
            return failure(outcome);
        sink->buffer->used += made;
        data += taken;
        size -= taken;
        if (outcome == 0)
            return ZK_DECODED;
        if (!made && !taken)
            return ZK_REFUSED; /* truncated, or more output than allowed */
    }
}

zk_decoded zk_unlz4(const uint8_t *data, size_t size, int magic, zk_sink *sink) {
    uint8_t header[MOST_HEADER_BYTES];
    const size_t header_bytes = sound_header(data, size, magic, header);
    LZ4F_dctx *context;
    if (!header_bytes)
        return ZK_REFUSED;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return ZK_NO_MEMORY;
    zk_decoded decoded = ZK_REFUSED;
    size_t made = 0, taken = header_bytes;
    const size_t outcome = LZ4F_decompress(context, header, &made, header, &taken, NULL);
    if (LZ4F_isError(outcome))
        decoded = failure(outcome);
    else if (outcome && taken == header_bytes)
        decoded = decode_blocks(context, data + header_bytes, size - header_bytes,
                                block_bytes(header), sink);
    LZ4F_freeDecompressionContext(context);
    return decoded;
}

const char *zk_lz4_version(void) { return LZ4_versionString(); }

#else

zk_decoded zk_unlz4(const uint8_t *data, size_t size, int magic, zk_sink *sink) {
    (void)data, (void)size, (void)magic, (void)sink;
    return ZK_REFUSED;
}

const char *zk_lz4_version(void) { return NULL; }

#endif
