/* CRC-32C (Castagnoli, reflected 0x82F63B78): the checksum of batches of magic 2. */
#ifndef ZK_CRC32C_H
#define ZK_CRC32C_H

#include "crc32.h"

/* The way chosen for this CPU by zk_crc32c_choose; calls go on from each other as those of
 * zk_crc32. */
extern zk_crc_function zk_crc32c;

/* Fills the tables and looks at the CPU. Call it once, before anything else of this library. */
void zk_crc32c_choose(void);

/* "sse4.2", "armv8" or "portable": what zk_crc32c runs. */
const char *zk_crc32c_name(void);

/* By tables. */
uint32_t zk_crc32c_portable(uint32_t crc, const uint8_t *data, size_t size);

#endif
