/* CRC-32C (Castagnoli, reflected 0x82F63B78): the checksum of batches of magic 2. */
#ifndef ZK_CRC32C_H
#define ZK_CRC32C_H

#include "crc32.h"

/* The fastest function for this CPU, set by zk_crc32c_choose; calls continue each other like those of
 * zk_crc32. */
extern zk_crc_function zk_crc32c;

/* Fills the tables and checks the CPU. Call it once, before any other function of this library. */
void zk_crc32c_choose(void);

/* The name of that function: "sse4.2", "armv8" or "portable". */
const char *zk_crc32c_name(void);

/* By tables. */
uint32_t zk_crc32c_portable(uint32_t crc, const uint8_t *data, size_t size);

#endif
