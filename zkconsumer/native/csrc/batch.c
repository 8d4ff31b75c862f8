#include "batch.h"

#include "crc32c.h"

enum { MIN_BATCH_SIZE = ZK_BATCH_HEAD_BYTES - ZK_ENTRY_HEADER_BYTES, CHECKED_FROM = 21 };
enum { MARKER_KEY_BYTES = 4, ABORT = 0, COMMIT = 1 };

bool zk_batch_begin(const uint8_t *entry, uint32_t size, zk_batch *batch) {
    if (size < MIN_BATCH_SIZE)
        return false;
    *batch = (zk_batch){
        .base_offset = zk_int64(entry),
        .leader_epoch = zk_int32(entry + 12),
        .attributes = (uint16_t)(entry[21] << 8 | entry[22]),
        .last_delta = zk_int32(entry + 23),
        .base_time = zk_int64(entry + 27),
        .max_time = zk_int64(entry + 35),
        .producer_id = zk_int64(entry + 43),
        .record_count = zk_int32(entry + 57),
    };
    if (batch->base_offset < 0 || batch->last_delta < 0 || batch->record_count < 0 ||
        batch->base_offset >= INT64_MAX - batch->last_delta)
        return false;
    batch->last_offset = batch->base_offset + batch->last_delta;
    const size_t checked = ZK_ENTRY_HEADER_BYTES + (size_t)size - CHECKED_FROM;
    return zk_crc32c(0, entry + CHECKED_FROM, checked) == zk_be32(entry + 17);
}

/* Returns an empty run at `start`. */
static zk_run begin_run(const zk_batch *batch, zk_buffer *buffer, size_t start) {
    return (zk_run){.buffer = buffer,
                    .start = start,
                    .base_offset = batch->base_offset,
                    .base_time = batch->base_time,
                    .append_time = batch->max_time,
                    .leader_epoch = batch->leader_epoch,
                    .has_append_time = (batch->attributes & ZK_LOG_APPEND_MASK) != 0,
                    .is_batch = true};
}

/* Parses a wanted record. */
static bool check_record(const zk_run *run, const zk_record_front *front, zk_message *message) {
    message->magic = ZK_BATCH_MAGIC;
    message->timestamp = run->append_time;
    if (!run->has_append_time &&
        __builtin_add_overflow(run->base_time, front->time_delta, &message->timestamp))
        return false;
    return zk_record_parts(front, message) &&
           (!message->header_count || zk_headers_are_sound(message));
}

bool zk_batch_check(const zk_batch *batch, zk_buffer *buffer, size_t start, size_t size,
                    int64_t fetch_offset, zk_run *run) {
    const uint8_t *const first = buffer->data + start, *const end = first + size;
    const uint8_t *at = first;
    int32_t last = -1;
    *run = begin_run(batch, buffer, start);
    for (int32_t left = batch->record_count; left; left--) {
        zk_record_front front;
        if (!zk_record_begin(at, end, &front) || front.offset_delta <= last ||
            front.offset_delta > batch->last_delta)
            return false;
        last = front.offset_delta;
        const int64_t offset = batch->base_offset + last;
        if (offset >= fetch_offset) {
            zk_message message;
            if (!check_record(run, &front, &message))
                return false;
            if (run->count == 0)
                run->start = start + (size_t)(at - first);
            zk_run_note(run, offset, &message);
        }
        at = front.end;
    }
    run->size = run->count ? start + size - run->start : 0;
    return at == end;
}

bool zk_batch_marker(const zk_batch *batch, zk_buffer *buffer, size_t start, size_t size,
                     zk_marker *marker) {
    *marker = ZK_MARKER_OTHER;
    if (!batch->record_count)
        return true; /* compacted away */
    zk_run run;
    if (zk_batch_codec(batch) || !zk_batch_check(batch, buffer, start, size, 0, &run))
        return false;
    zk_cursor cursor = zk_run_begin(&run);
    zk_message message = {0};
    int64_t offset;
    if (zk_run_next(&cursor, &offset, &message) != ZK_MESSAGE ||
        message.key_bytes < MARKER_KEY_BYTES || message.key[0] & 0x80)
        return false;
    if (message.key[2] == 0 && message.key[3] <= COMMIT)
        *marker = message.key[3] == ABORT ? ZK_MARKER_ABORT : ZK_MARKER_COMMIT;
    return true;
}
