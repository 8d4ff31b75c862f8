/* CRC-32 by tables, and the choice of the fastest way.
 *
 * Most messages are short, so what counts is the cost of starting: zlib's own takes some 100 ns
 * before its first byte, more than all else that is done for a message of 100 bytes. */
#include "crc32.h"

#include "crc_tables.h"

static const uint32_t POLYNOMIAL = 0xEDB88320u;
static zk_crc_tables tables;

zk_crc_function zk_crc32 = zk_crc32_portable;
static const char *chosen_name = "portable";

uint32_t zk_crc32_tables(uint32_t state, const uint8_t *data, size_t size) {
    return zk_crc_by_tables((const uint32_t(*)[256])tables, state, data, size);
}

uint32_t zk_crc32_portable(uint32_t crc, const uint8_t *data, size_t size) {
    return ~zk_crc32_tables(~crc, data, size);
}

void zk_crc32_choose(void) {
    zk_crc_fill(tables, POLYNOMIAL);
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
