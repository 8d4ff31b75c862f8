#include "sink.h"

zk_decoded zk_decompress(int codec, const uint8_t *data, size_t size, int magic, zk_sink *sink) {
    switch (codec) {
    case ZK_GZIP:
        return zk_gunzip(data, size, sink);
    case ZK_SNAPPY:
        return zk_unsnap(data, size, sink);
    case ZK_LZ4:
        return zk_unlz4(data, size, magic, sink);
    case ZK_ZSTD:
        return zk_unzstd(data, size, sink);
    default:
        return ZK_REFUSED;
    }
}

bool zk_can_decompress(int codec) {
    switch (codec) {
    case 0: /* nothing to decompress */
    case ZK_SNAPPY:
        return true;
    case ZK_GZIP:
        return zk_zlib_version() != NULL;
    case ZK_LZ4:
        return zk_lz4_version() != NULL;
    case ZK_ZSTD:
        return zk_zstd_version() != NULL;
    default:
        return false;
    }
}

bool zk_can_decompress_all(uint32_t codecs) {
    for (int codec = 0; codecs >> codec; codec++)
        if (codecs >> codec & 1 && !zk_can_decompress(codec))
            return false;
    return true;
}
