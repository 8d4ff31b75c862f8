/* Columns of an Arrow record batch, filled from runs: one copy of every key and value.
 *
 * Layout: Apache Arrow columnar format, variable-size binary with 32 bit offsets. */
#ifndef ZK_ARROW_H
#define ZK_ARROW_H

#include "run.h"

/* One column of binaries. `ends` has one entry more than there are rows, and begins with 0; null if the
 * column is not wanted. `bits` is the validity bitmap, zeroed; null if no row is null. */
typedef struct {
    int32_t *ends;
    uint8_t *bits;
    uint8_t *data;
    size_t capacity; /* of data; at most INT32_MAX */
} zk_binaries;

/* The last three are null if they are not wanted. */
typedef struct {
    size_t rows; /* capacity */
    size_t row;  /* the number of rows so far */
    zk_binaries keys;
    zk_binaries values;
    int64_t *offsets;
    int64_t *micros; /* timestamps, -1000 where there is none */
    int32_t *timestamp_types;
} zk_columns;

/* Adds all messages of a run; false if they don't fit: then the bytes have changed. */
bool zk_columns_add(zk_columns *columns, const zk_run *run);

#endif
