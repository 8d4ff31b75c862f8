/* CRC-32 with the polynomial of zlib, gzip and message formats 0 and 1 (reflected 0xEDB88320). */
#ifndef ZK_CRC32_H
#define ZK_CRC32_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t (*zk_crc_function)(uint32_t crc, const uint8_t *data, size_t size);

/* The fastest function for this CPU, set by zk_crc32_choose. A call continues a CRC like zlib's crc32():
 * 0 begins a new one. */
extern zk_crc_function zk_crc32;

/* Fills the tables and checks the CPU. Call it once, before any other function of this library. */
void zk_crc32_choose(void);

/* The name of that function: "pclmul", "armv8" or "portable". */
const char *zk_crc32_name(void);

/* Portable: by tables, eight bytes at a time. */
uint32_t zk_crc32_portable(uint32_t crc, const uint8_t *data, size_t size);

/* The same without the inversions at both ends: for callers that fold first. */
uint32_t zk_crc32_tables(uint32_t state, const uint8_t *data, size_t size);

/* Null if this CPU (or this build) has no such instruction. */
zk_crc_function zk_crc32_x86(void);
zk_crc_function zk_crc32_arm(void);

#endif
