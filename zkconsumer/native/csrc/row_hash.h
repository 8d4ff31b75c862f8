/* Spark's 64 bit xxHash over the columns of a message: what a drain's checksum is a sum of.
 *
 * Spark hashes one column after the other, each with the hash so far as its seed, and passes nulls
 * over. Source: Spark's XXH64 and HashExpression; xxHash's own specification for XXH64. */
#ifndef ZK_ROW_HASH_H
#define ZK_ROW_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A column of binaries as Arrow lays it out; `bits` is null where no row is null. */
typedef struct {
    const uint8_t *bits;
    const int32_t *ends; /* a slot more than there are rows */
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
    const uint8_t *time_bits; /* null where no timestamp is null */
    const int64_t *micros;    /* null where none counts: all rows are hashed as without one */
    const int32_t *timestamp_types;
} zk_hashed_rows;

uint64_t zk_xxh64(const uint8_t *data, size_t size, uint64_t seed);

/* One hash for each row; false where a binary does not lie within its data. */
bool zk_hash_rows(const zk_hashed_rows *rows, uint64_t *hashes);

#endif
