#include "columns.h"

#include <stdlib.h>
#include <string.h>

#include "arrow.h"
#include "sets.h"

uint64_t rows_filled, columns_refused;

static void require(bool holds) {
    if (!holds)
        abort();
}

/* What runs announce about the columns they make. */
typedef struct {
    size_t rows, key_bytes, value_bytes, null_keys, null_values;
} shape;

static shape shape_of(const zk_runs *runs) {
    shape sum = {0};
    for (size_t at = 0; at < runs->count; at++) {
        const zk_run *run = runs->items + at;
        sum.rows += run->count;
        sum.key_bytes += run->key_bytes;
        sum.value_bytes += run->value_bytes;
        sum.null_keys += run->null_keys;
        sum.null_values += run->null_values;
    }
    return sum;
}

/* Blocks of exactly their size, so that the sanitizer sees one byte too far. */
static void *block(size_t size) { return new_bytes(size).data; }

static zk_binaries new_binaries(size_t rows, size_t capacity, bool has_nulls) {
    zk_binaries column = {.ends = block((rows + 1) * sizeof(int32_t)),
                          .data = block(capacity),
                          .capacity = capacity};
    column.ends[0] = 0;
    if (has_nulls) {
        column.bits = block((rows + 7) / 8);
        memset(column.bits, 0, (rows + 7) / 8);
    }
    return column;
}

static zk_columns new_columns(const shape *size) {
    return (zk_columns){
        .rows = size->rows,
        .keys = new_binaries(size->rows, size->key_bytes, size->null_keys > 0),
        .values = new_binaries(size->rows, size->value_bytes, size->null_values > 0),
        .offsets = block(size->rows * sizeof(int64_t)),
        .micros = block(size->rows * sizeof(int64_t)),
        .timestamp_types = block(size->rows * sizeof(int32_t)),
    };
}

static void free_binaries(zk_binaries *column) {
    free(column->ends);
    free(column->bits);
    free(column->data);
}

static void free_columns(zk_columns *columns) {
    free_binaries(&columns->keys);
    free_binaries(&columns->values);
    free(columns->offsets);
    free(columns->micros);
    free(columns->timestamp_types);
}

static bool fill(zk_columns *columns, const zk_runs *runs) {
    for (size_t at = 0; at < runs->count; at++)
        if (!zk_columns_add(columns, runs->items + at))
            return false;
    return true;
}

static void compare_binary(const zk_binaries *column, size_t row, const uint8_t *data,
                           int32_t size) {
    if (!column->ends)
        return;
    const int32_t start = column->ends[row], length = column->ends[row + 1] - start;
    require(length == (size > 0 ? size : 0));
    require(length == 0 || memcmp(column->data + start, data, (size_t)length) == 0);
    const bool is_there = !column->bits || column->bits[row / 8] >> row % 8 & 1;
    require(is_there == (size >= 0));
}

static void compare(const zk_columns *columns, const zk_runs *runs) {
    size_t row = 0;
    for (size_t at = 0; at < runs->count; at++) {
        zk_cursor cursor = zk_run_begin(runs->items + at);
        zk_message message;
        int64_t offset;
        for (; zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE; row++) {
            require(!columns->offsets || columns->offsets[row] == offset);
            require(!columns->timestamp_types ||
                    (columns->timestamp_types[row] == -1) == (message.magic == 0));
            compare_binary(&columns->keys, row, message.key, message.key_bytes);
            compare_binary(&columns->values, row, message.value, message.value_bytes);
        }
    }
    require(row == columns->row && row == columns->rows);
}

/* One thing less than the runs need: they must be refused. */
static void refuse(const zk_runs *runs, shape size) {
    switch (below(4)) {
    case 0:
        size.rows--;
        break;
    case 1:
        if (!size.key_bytes)
            return;
        size.key_bytes = below(size.key_bytes);
        break;
    case 2:
        if (!size.value_bytes)
            return;
        size.value_bytes = below(size.value_bytes);
        break;
    default:
        if (!size.null_values)
            return;
        size.null_values = 0;
    }
    zk_columns columns = new_columns(&size);
    require(!fill(&columns, runs));
    columns_refused++;
    free_columns(&columns);
}

/* Some of the columns are not wanted. */
static void leave_out(zk_columns *columns) {
    if (below(2)) {
        free_binaries(&columns->keys);
        columns->keys = (zk_binaries){0};
    }
    if (below(2)) {
        free_binaries(&columns->values);
        columns->values = (zk_binaries){0};
    }
    if (below(2)) {
        free(columns->offsets);
        columns->offsets = NULL;
    }
    if (below(2)) {
        free(columns->micros);
        columns->micros = NULL;
    }
    if (below(2)) {
        free(columns->timestamp_types);
        columns->timestamp_types = NULL;
    }
}

void fill_columns(const zk_runs *runs) {
    const shape size = shape_of(runs);
    zk_columns columns = new_columns(&size);
    if (below(2))
        leave_out(&columns);
    require(fill(&columns, runs));
    compare(&columns, runs);
    rows_filled += columns.row;
    free_columns(&columns);
    if (size.rows)
        refuse(runs, size);
}
