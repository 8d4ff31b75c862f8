#include "run.h"

#include <stdlib.h>

zk_cursor zk_run_begin(const zk_run *run) {
    const uint8_t *start = run->buffer->data + run->start;
    return (zk_cursor){.at = start,
                       .end = start + run->size,
                       .base_offset = run->base_offset,
                       .base_time = run->has_append_time ? run->append_time : run->base_time,
                       .is_batch = run->is_batch,
                       .has_append_time = run->has_append_time};
}

static bool continues(const zk_run *last, const zk_run *run, size_t max_bytes) {
    return last->buffer == run->buffer && last->start + last->size == run->start &&
           !last->is_batch && !run->is_batch && last->base_offset == run->base_offset &&
           last->has_append_time == run->has_append_time &&
           last->append_time == run->append_time && last->size + run->size <= max_bytes;
}

static void append(zk_run *last, const zk_run *run) {
    last->size += run->size;
    last->last_offset = run->last_offset;
    last->count += run->count;
    last->key_bytes += run->key_bytes;
    last->value_bytes += run->value_bytes;
    last->null_keys += run->null_keys;
    last->null_values += run->null_values;
    last->timestamps += run->timestamps;
}

bool zk_runs_add(zk_runs *runs, const zk_run *run, size_t max_bytes) {
    if (runs->count && continues(runs->items + runs->count - 1, run, max_bytes)) {
        append(runs->items + runs->count - 1, run);
        return true;
    }
    if (runs->count == runs->capacity) {
        const size_t capacity = runs->capacity ? runs->capacity * 2 : 8;
        if (capacity > SIZE_MAX / sizeof *runs->items)
            return false;
        zk_run *items = realloc(runs->items, capacity * sizeof *items);
        if (!items)
            return false;
        runs->items = items;
        runs->capacity = capacity;
    }
    zk_buffer_share(run->buffer);
    runs->items[runs->count++] = *run;
    return true;
}

void zk_runs_cut(zk_runs *runs, size_t count) {
    while (runs->count > count)
        zk_buffer_drop(runs->items[--runs->count].buffer);
}

void zk_runs_free(zk_runs *runs) {
    zk_runs_cut(runs, 0);
    free(runs->items);
    *runs = (zk_runs){0};
}

void zk_run_note(zk_run *run, int64_t offset, const zk_message *message) {
    if (run->count == 0)
        run->first_offset = offset;
    run->last_offset = offset;
    run->count++;
    if (message->key_bytes >= 0)
        run->key_bytes += (size_t)message->key_bytes;
    else
        run->null_keys++;
    if (message->value_bytes >= 0)
        run->value_bytes += (size_t)message->value_bytes;
    else
        run->null_values++;
    const bool is_appended = run->has_append_time && message->magic == 1;
    run->timestamps += (is_appended ? run->append_time : message->timestamp) >= 0;
    run->with_headers += message->header_count > 0;
}

/* The run without its messages: from `start` on, nothing yet. */
static zk_run emptied(const zk_run *run, size_t start) {
    return (zk_run){.buffer = run->buffer,
                    .start = start,
                    .base_offset = run->base_offset,
                    .append_time = run->append_time,
                    .base_time = run->base_time,
                    .leader_epoch = run->leader_epoch,
                    .is_batch = run->is_batch,
                    .has_append_time = run->has_append_time};
}

bool zk_run_split(zk_run *run, size_t max_bytes, size_t max_count, zk_run *head) {
    zk_cursor cursor = zk_run_begin(run);
    const uint8_t *const start = cursor.at;
    zk_run front = emptied(run, run->start);
    for (;;) {
        zk_cursor tried = cursor;
        zk_message message;
        int64_t offset;
        const zk_step step = zk_run_next(&tried, &offset, &message);
        if (step == ZK_RUN_BROKEN)
            return false;
        const size_t size = (size_t)(tried.at - start);
        if (step == ZK_RUN_ENDS || (front.count && (size > max_bytes || front.count >= max_count)))
            break;
        zk_run_note(&front, offset, &message);
        front.size = size;
        cursor = tried;
    }
    zk_run rest = emptied(run, run->start + front.size);
    rest.size = run->size - front.size;
    rest.count = run->count - front.count;
    rest.key_bytes = run->key_bytes - front.key_bytes;
    rest.value_bytes = run->value_bytes - front.value_bytes;
    rest.null_keys = run->null_keys - front.null_keys;
    rest.null_values = run->null_values - front.null_values;
    rest.timestamps = run->timestamps - front.timestamps;
    rest.with_headers = run->with_headers - front.with_headers;
    rest.last_offset = run->last_offset;
    zk_message message;
    if (rest.count && zk_run_next(&cursor, &rest.first_offset, &message) != ZK_MESSAGE)
        return false;
    zk_buffer_share(front.buffer);
    *head = front;
    *run = rest;
    return true;
}
