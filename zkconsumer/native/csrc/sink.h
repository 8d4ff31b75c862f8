/* Where a decoder writes: behind what a buffer holds, and no further than its bound. */
#ifndef ZK_SINK_H
#define ZK_SINK_H

#include "buffer.h"

/* Why a decoder stopped. */
typedef enum {
    ZK_DECODED = 0,
    ZK_REFUSED, /* not sound, more than the bound, or not for us to read: `records.codecs` says which */
    ZK_NO_MEMORY,
} zk_decoded;

typedef struct {
    zk_buffer *buffer; /* its own; grows, and so moves */
    size_t limit;      /* `used` must not pass this */
} zk_sink;

/* A piece of a sink's buffer, to be written. */
typedef struct {
    uint8_t *data;
    size_t size;
} zk_piece;

static inline size_t zk_sink_free_bytes(const zk_sink *sink) { return sink->limit - sink->buffer->used; }

/* Makes space behind what the buffer holds: about `wanted` bytes, never more than there may be, and
 * none where the bound is reached. Where the buffer is full it doubles: so memory is taken for what
 * came. False without memory. */
static inline bool zk_sink_space(zk_sink *sink, size_t wanted, zk_piece *piece) {
    zk_buffer *buffer = sink->buffer;
    const size_t free_bytes = zk_sink_free_bytes(sink);
    if (!zk_buffer_reserve(buffer, wanted < free_bytes ? wanted : free_bytes))
        return false;
    const size_t there = buffer->capacity - ZK_SLACK_BYTES - buffer->used;
    *piece = (zk_piece){buffer->data + buffer->used, there < free_bytes ? there : free_bytes};
    return true;
}

/* Decoders, one for each codec: all of `data` becomes bytes behind those in the sink's buffer.
 * Whatever they return, the buffer's `used` never passes the limit. Those for which the core was
 * built without a library refuse everything. */
zk_decoded zk_gunzip(const uint8_t *data, size_t size, zk_sink *sink);
zk_decoded zk_unsnap(const uint8_t *data, size_t size, zk_sink *sink);
zk_decoded zk_unlz4(const uint8_t *data, size_t size, int magic, zk_sink *sink);
zk_decoded zk_unzstd(const uint8_t *data, size_t size, zk_sink *sink);

/* By the codec's number in the attributes of a message or a batch. */
enum { ZK_GZIP = 1, ZK_SNAPPY = 2, ZK_LZ4 = 3, ZK_ZSTD = 4 };
zk_decoded zk_decompress(int codec, const uint8_t *data, size_t size, int magic, zk_sink *sink);

/* Whether there is a decoder for a codec; 0, no codec, needs none. */
bool zk_can_decompress(int codec);

/* The version of the library that reads a codec; null where the core was built without it. */
const char *zk_zlib_version(void);
const char *zk_lz4_version(void);
const char *zk_zstd_version(void);

#endif
