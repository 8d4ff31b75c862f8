/* Spark's 64-bit xxHash over the columns of a message; a drain's checksum is the sum of these.
 *
 * Spark hashes one column after the other, each with the hash so far as its seed, and skips nulls.
 * Source: Spark's XXH64 and HashExpression; xxHash's own specification for XXH64. */
#ifndef ZK_ROW_HASH_H
#define ZK_ROW_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A column of binaries in Arrow's layout; `bits` is null if no row is null. */
typedef struct {
    const uint8_t *bits;
    const int32_t *ends; /* one entry more than there are rows */
    const uint8_t *data;
    size_t size; /* of data */
} zk_hashed_binaries;

/* Rows begin at `first` in every buffer. */
typedef struct {
    size_t first;
    size_t rows;
    const int64_t *offsets;
    zk_hashed_binaries keys;
    zk_hashed_binaries values;
    const uint8_t *time_bits; /* null if no timestamp is null */
    const int64_t *micros;    /* null: all rows are hashed without timestamp */
    const int32_t *timestamp_types;
} zk_hashed_rows;

uint64_t zk_xxh64(const uint8_t *data, size_t size, uint64_t seed);

/* Computes one hash per row; false if a binary does not lie within its data. */
bool zk_hash_rows(const zk_hashed_rows *rows, uint64_t *hashes);

#endif
