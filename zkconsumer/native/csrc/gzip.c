/* gzip, by zlib: one or more members. Trailing bytes are ignored, as in Java. */
#include "sink.h"

#ifdef ZK_WITH_ZLIB

#include <stdlib.h>

#define ZLIB_CONST
#include <zlib.h>

#include "bytes.h"
#include "crc32.h"

/* zlib's `windowBits` for a gzip wrapper around a window of 32 KiB. */
enum { GZIP_WINDOW = 31 };
enum { HEADER_BYTES = 10, TRAILER_BYTES = 8, HAS_HEADER_CRC = 2, LIKELY_EXPANSION = 20 };

static bool begins_member(const uint8_t *data, size_t size) {
    return size >= 2 && data[0] == 0x1F && data[1] == 0x8B;
}

static voidpf get_memory(voidpf unused, uInt count, uInt size) {
    (void)unused;
    return malloc((size_t)count * size);
}

static void give_back(voidpf unused, voidpf memory) {
    (void)unused;
    free(memory);
}

/* Runs zlib to the end of one member. */
static zk_decoded inflate_member(z_stream *stream, size_t likely, zk_sink *sink) {
    for (size_t wanted = likely;; wanted = 1) {
        zk_piece piece;
        if (!zk_sink_space(sink, wanted, &piece))
            return ZK_NO_MEMORY;
        const size_t most = piece.size < UINT32_MAX ? piece.size : UINT32_MAX;
        stream->next_out = piece.data;
        stream->avail_out = (uInt)most;
        /* "Finish": if the space suffices for all, zlib allocates no window. */
        const int outcome = inflate(stream, Z_FINISH);
        sink->buffer->used += most - stream->avail_out;
        if (outcome == Z_STREAM_END)
            return ZK_DECODED;
        if (outcome == Z_MEM_ERROR)
            return ZK_NO_MEMORY;
        /* Truncated input, if space is left; without any, more output than allowed. */
        if ((outcome != Z_OK && outcome != Z_BUF_ERROR) || stream->avail_out || !most)
            return ZK_REFUSED;
    }
}

/* Decodes all members. We compute the checksums, which is faster than by zlib; a member with a checksum
 * of its header, which no producer writes, is left to Python. */
static zk_decoded inflate_members(z_stream *stream, zk_sink *sink) {
    do {
        const uint8_t *member = stream->next_in;
        const size_t size = stream->avail_in, start = sink->buffer->used;
        if (size < HEADER_BYTES + TRAILER_BYTES || member[3] & HAS_HEADER_CRC ||
            inflateReset(stream) != Z_OK || inflateValidate(stream, 0) != Z_OK)
            return ZK_REFUSED;
        const size_t announced = zk_le32(member + size - 4), likely = size * LIKELY_EXPANSION;
        const zk_decoded outcome =
            inflate_member(stream, announced < likely ? announced : likely, sink);
        if (outcome != ZK_DECODED)
            return outcome;
        const uint8_t *trailer = stream->next_in - TRAILER_BYTES;
        const size_t length = sink->buffer->used - start;
        if (zk_le32(trailer) != zk_crc32(0, sink->buffer->data + start, length) ||
            zk_le32(trailer + 4) != (uint32_t)length)
            return ZK_REFUSED;
    } while (begins_member(stream->next_in, stream->avail_in));
    return ZK_DECODED;
}

zk_decoded zk_gunzip(const uint8_t *data, size_t size, zk_sink *sink) {
    z_stream stream = {.zalloc = get_memory, .zfree = give_back};
    if (size > UINT32_MAX)
        return ZK_REFUSED;
    const int outcome = inflateInit2(&stream, GZIP_WINDOW);
    if (outcome != Z_OK)
        return outcome == Z_MEM_ERROR ? ZK_NO_MEMORY : ZK_REFUSED;
    stream.next_in = data;
    stream.avail_in = (uInt)size;
    const zk_decoded decoded = inflate_members(&stream, sink);
    inflateEnd(&stream);
    return decoded;
}

const char *zk_zlib_version(void) { return zlibVersion(); }

#else

zk_decoded zk_gunzip(const uint8_t *data, size_t size, zk_sink *sink) {
    (void)data, (void)size, (void)sink;
    return ZK_REFUSED;
}

const char *zk_zlib_version(void) { return NULL; }

#endif
