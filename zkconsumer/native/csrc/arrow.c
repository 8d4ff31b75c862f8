#include "arrow.h"

#include <string.h>

static bool add_binary(zk_binaries *column, size_t row, const uint8_t *data, int32_t size) {
    if (!column->ends)
        return true;
    const size_t at = (size_t)column->ends[row];
    const size_t bytes = size > 0 ? (size_t)size : 0;
    if (bytes > column->capacity - at || (size < 0 && !column->bits))
        return false;
    if (bytes)
        memcpy(column->data + at, data, bytes);
    if (size >= 0 && column->bits)
        column->bits[row / 8] |= (uint8_t)(1u << row % 8);
    column->ends[row + 1] = (int32_t)(at + bytes);
    return true;
}

/* Clamps a time that microseconds can't represent. */
static int64_t micros_of(int64_t millis) {
    const int64_t most = INT64_MAX / 1000;
    return (millis > most ? most : millis < -most ? -most : millis) * 1000;
}

bool zk_columns_add(zk_columns *columns, const zk_run *run) {
    zk_cursor cursor = zk_run_begin(run);
    for (;;) {
        zk_message message;
        int64_t offset;
        const zk_step step = zk_run_next(&cursor, &offset, &message);
        if (step == ZK_RUN_ENDS)
            return true;
        const size_t row = columns->row;
        if (step != ZK_MESSAGE || row == columns->rows ||
            !add_binary(&columns->keys, row, message.key, message.key_bytes) ||
            !add_binary(&columns->values, row, message.value, message.value_bytes))
            return false;
        const bool is_appended = message.magic == 1 && run->has_append_time;
        const bool by_broker = is_appended || message.attributes & ZK_LOG_APPEND_MASK;
        if (columns->offsets)
            columns->offsets[row] = offset;
        if (columns->micros)
            columns->micros[row] = micros_of(is_appended ? run->append_time : message.timestamp);
        if (columns->timestamp_types)
            columns->timestamp_types[row] = message.magic == 0 ? -1 : by_broker;
        columns->row = row + 1;
    }
}
