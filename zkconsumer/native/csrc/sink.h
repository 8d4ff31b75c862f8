/* Where a decoder writes: behind what a buffer holds, and no further than its bound. */
#ifndef ZK_SINK_H
#define ZK_SINK_H

#include "buffer.h"

/* Why a decoder stopped. */
typedef enum {
    ZK_DECODED = 0,
    ZK_REFUSED,  /* not sound, or more than the bound: `records.codecs` says which */
    ZK_NO_MEMORY,
} zk_decoded;

typedef struct {
    zk_buffer *buffer; /* its own; grows, and so moves */
    size_t limit;      /* `used` must not pass this */
} zk_sink;

static inline size_t zk_sink_room(const zk_sink *sink) { return sink->limit - sink->buffer->used; }

/* Decoders, one for each codec: all of `data` becomes bytes behind those in the sink's buffer.
 * Whatever they return, the buffer's `used` never passes the limit. */
zk_decoded zk_gunzip(const uint8_t *data, size_t size, zk_sink *sink);
zk_decoded zk_unsnap(const uint8_t *data, size_t size, zk_sink *sink);
zk_decoded zk_unlz4(const uint8_t *data, size_t size, int magic, zk_sink *sink);

/* By the codec's number in a message's attributes: 1 gzip, 2 snappy, 3 lz4. */
zk_decoded zk_decompress(int codec, const uint8_t *data, size_t size, int magic, zk_sink *sink);

#endif
