/* CRC-32 by tables ("slicing by eight"), and the choice of the fastest way.
 *
 * Most messages are short, so what counts is the cost of starting: zlib's own takes some 100 ns
 * before its first byte, more than all else that is done for a message of 100 bytes. */
#include "crc32.h"

#include "bytes.h"

static const uint32_t POLYNOMIAL = 0xEDB88320u;

/* TABLES[n][b]: the CRC of byte b with n zero bytes behind it. */
static uint32_t TABLES[8][256];

zk_crc_function zk_crc32 = zk_crc32_portable;
static const char *chosen_name = "portable";

static void fill_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        TABLES[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int zeros = 1; zeros < 8; zeros++) {
            uint32_t crc = TABLES[zeros - 1][byte];
            TABLES[zeros][byte] = crc >> 8 ^ TABLES[0][crc & 0xFF];
        }
}

static inline uint32_t four_bytes(uint32_t word, const uint32_t (*tables)[256]) {
    return tables[3][word & 0xFF] ^ tables[2][word >> 8 & 0xFF] ^ tables[1][word >> 16 & 0xFF] ^
           tables[0][word >> 24];
}

uint32_t zk_crc32_tables(uint32_t state, const uint8_t *data, size_t size) {
    const uint32_t(*tables)[256] = (const uint32_t(*)[256])TABLES;
    for (; size >= 8; size -= 8, data += 8)
        state = four_bytes(state ^ zk_le32(data), tables + 4) ^
                four_bytes(zk_le32(data + 4), tables);
    if (size >= 4) {
        state = four_bytes(state ^ zk_le32(data), tables);
        size -= 4;
        data += 4;
    }
    while (size--)
        state = state >> 8 ^ tables[0][(state ^ *data++) & 0xFF];
    return state;
}

uint32_t zk_crc32_portable(uint32_t crc, const uint8_t *data, size_t size) {
    return ~zk_crc32_tables(~crc, data, size);
}

void zk_crc32_choose(void) {
    fill_tables();
    zk_crc_function on_x86 = zk_crc32_x86(), on_arm = zk_crc32_arm();
    if (on_x86) {
        zk_crc32 = on_x86;
        chosen_name = "pclmul";
    } else if (on_arm) {
        zk_crc32 = on_arm;
        chosen_name = "armv8";
    }
}

const char *zk_crc32_name(void) { return chosen_name; }
