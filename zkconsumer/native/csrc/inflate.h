/* DEFLATE (RFC 1951), whole input in memory. */
#ifndef ZK_INFLATE_H
#define ZK_INFLATE_H

#include "sink.h"

/* Decodes one stream behind what the sink holds; matches reach back to there and no further.
 * consumed: how many bytes of data the stream took, its last one rounded up. */
zk_decoded zk_inflate(const uint8_t *data, size_t size, zk_sink *sink, size_t *consumed);

#endif
