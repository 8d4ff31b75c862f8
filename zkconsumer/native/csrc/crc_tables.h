/* A CRC of 32 bits by tables ("slicing by eight"), for any polynomial. */
#ifndef ZK_CRC_TABLES_H
#define ZK_CRC_TABLES_H

#include <stddef.h>

#include "bytes.h"

/* tables[n][b]: the CRC of byte b followed by n zero bytes. */
typedef uint32_t zk_crc_tables[8][256];

/* polynomial: reflected. */
static inline void zk_crc_fill(zk_crc_tables tables, uint32_t polynomial) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ polynomial : crc >> 1;
        tables[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int zeros = 1; zeros < 8; zeros++) {
            uint32_t crc = tables[zeros - 1][byte];
            tables[zeros][byte] = crc >> 8 ^ tables[0][crc & 0xFF];
        }
}

static inline uint32_t zk_crc_of_four(uint32_t word, const uint32_t (*tables)[256]) {
    return tables[3][word & 0xFF] ^ tables[2][word >> 8 & 0xFF] ^ tables[1][word >> 16 & 0xFF] ^
           tables[0][word >> 24];
}

/* Goes on from a state, without the inversions at both ends. */
static inline uint32_t zk_crc_by_tables(const uint32_t (*tables)[256], uint32_t state,
                                        const uint8_t *data, size_t size) {
    for (; size >= 8; size -= 8, data += 8)
        state = zk_crc_of_four(state ^ zk_le32(data), tables + 4) ^
                zk_crc_of_four(zk_le32(data + 4), tables);
    if (size >= 4) {
        state = zk_crc_of_four(state ^ zk_le32(data), tables);
        size -= 4;
        data += 4;
    }
    while (size--)
        state = state >> 8 ^ tables[0][(state ^ *data++) & 0xFF];
    return state;
}

#endif
