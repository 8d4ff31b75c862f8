#include "sink.h"

enum { GZIP = 1, SNAPPY = 2, LZ4 = 3 };

zk_decoded zk_decompress(int codec, const uint8_t *data, size_t size, int magic, zk_sink *sink) {
    switch (codec) {
    case GZIP:
        return zk_gunzip(data, size, sink);
    case SNAPPY:
        return zk_unsnap(data, size, sink);
    case LZ4:
        return zk_unlz4(data, size, magic, sink);
    default:
        return ZK_REFUSED;
    }
}
