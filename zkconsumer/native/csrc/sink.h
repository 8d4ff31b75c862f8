/* The output of a decoder: the end of a buffer, up to a limit. */
#ifndef ZK_SINK_H
#define ZK_SINK_H

#include "buffer.h"

/* Why a decoder stopped. */
typedef enum {
    ZK_DECODED = 0,
    ZK_REFUSED, /* invalid, beyond the limit, or unsupported: `records.codecs` finds out which */
    ZK_NO_MEMORY,
} zk_decoded;

typedef struct {
    zk_buffer *buffer; /* grows, and may move */
    size_t limit;      /* the maximum of its `used` */
} zk_sink;

/* A piece of a sink's buffer to write to. */
typedef struct {
    uint8_t *data;
    size_t size;
} zk_piece;

static inline size_t zk_sink_free_bytes(const zk_sink *sink) { return sink->limit - sink->buffer->used; }

/* Makes space at the end of the buffer: about `wanted` bytes, never beyond the limit. A full buffer
 * doubles, so that memory grows with the output. False without memory. */
static inline bool zk_sink_space(zk_sink *sink, size_t wanted, zk_piece *piece) {
    zk_buffer *buffer = sink->buffer;
    const size_t free_bytes = zk_sink_free_bytes(sink);
    if (!zk_buffer_reserve(buffer, wanted < free_bytes ? wanted : free_bytes))
        return false;
    const size_t there = buffer->capacity - ZK_SLACK_BYTES - buffer->used;
    *piece = (zk_piece){buffer->data + buffer->used, there < free_bytes ? there : free_bytes};
    return true;
}

/* Decoders, one per codec: they append the decoded `data` to the sink's buffer, never beyond the limit,
 * whatever they return. One whose library was missing at build time refuses everything. */
zk_decoded zk_gunzip(const uint8_t *data, size_t size, zk_sink *sink);
zk_decoded zk_unsnap(const uint8_t *data, size_t size, zk_sink *sink);
zk_decoded zk_unlz4(const uint8_t *data, size_t size, int magic, zk_sink *sink);
zk_decoded zk_unzstd(const uint8_t *data, size_t size, zk_sink *sink);

/* By the codec's number in the attributes of a message or a batch. */
enum { ZK_GZIP = 1, ZK_SNAPPY = 2, ZK_LZ4 = 3, ZK_ZSTD = 4 };
zk_decoded zk_decompress(int codec, const uint8_t *data, size_t size, int magic, zk_sink *sink);

/* Whether there is a decoder for a codec; 0, no codec, needs none. */
bool zk_can_decompress(int codec);

/* The same for several codecs, a bit for each. */
bool zk_can_decompress_all(uint32_t codecs);

/* The version of a codec's library; null if the core was built without it. */
const char *zk_zlib_version(void);
const char *zk_lz4_version(void);
const char *zk_zstd_version(void);

#endif
