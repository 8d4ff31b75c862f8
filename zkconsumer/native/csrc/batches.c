#include "batches.h"

#include <stdlib.h>
#include <string.h>

#include "sink.h"

enum { MAGIC_AT = 16 };

zk_reader *zk_reader_new(zk_buffer *set, const zk_set_limits *limits, zk_committed *committed) {
    zk_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->limits = *limits;
    reader->set = zk_buffer_share(set);
    reader->committed = committed;
    reader->last_leader_epoch = ZK_NO_LEADER_EPOCH;
    reader->walk = (zk_walker){.limits = &reader->limits,
                               .runs = &reader->runs,
                               .remaining_bytes = limits->bound_bytes,
                               .next_offset = limits->fetch_offset};
    return reader;
}

void zk_reader_free(zk_reader *reader) {
    if (!reader)
        return;
    zk_runs_free(&reader->runs);
    zk_committed_free(reader->committed);
    zk_buffer_drop(reader->set);
    free(reader);
}

/* A whole entry. */
typedef struct {
    const uint8_t *bytes;
    uint32_t size;
} entry;

/* Finds the entry at the position: ENDS if there is no whole one. */
static zk_set_status find_entry(const zk_reader *reader, entry *found) {
    const size_t left = reader->set->used - reader->position;
    *found = (entry){0};
    if (left < ZK_ENTRY_HEADER_BYTES)
        return ZK_SET_ENDS;
    const uint8_t *bytes = reader->set->data + reader->position;
    const int32_t size = zk_int32(bytes + 8);
    if (size < ZK_MIN_ENTRY_SIZE)
        return ZK_SET_REFUSED;
    if ((uint32_t)size <= left - ZK_ENTRY_HEADER_BYTES)
        *found = (entry){bytes, (uint32_t)size};
    return ZK_SET_ENDS;
}

/* Advances past a batch. */
static void pass(zk_reader *reader, const zk_batch *batch, uint32_t size) {
    reader->last_leader_epoch = batch->leader_epoch;
    zk_walker_advance(&reader->walk, batch->last_offset);
    reader->position += ZK_ENTRY_HEADER_BYTES + size;
}

/* Returns whether a batch is hidden from users. `is_sound` is false if its marker is invalid. */
static bool is_dropped(zk_reader *reader, const zk_batch *batch, uint32_t size, bool *is_sound) {
    const bool is_control = (batch->attributes & ZK_CONTROL_MASK) != 0;
    *is_sound = true;
    if (!reader->committed)
        return is_control;
    zk_marker marker = ZK_MARKER_NONE;
    const size_t body_bytes = size + ZK_ENTRY_HEADER_BYTES - ZK_BATCH_HEAD_BYTES;
    if (is_control)
        *is_sound = zk_batch_marker(batch, reader->set, reader->position + ZK_BATCH_HEAD_BYTES,
                                    body_bytes, &marker);
    return *is_sound && zk_committed_drops(reader->committed, batch->last_offset,
                                           batch->producer_id,
                                           (batch->attributes & ZK_TRANSACTIONAL_MASK) != 0, marker);
}

/* Adds the records of a batch in a buffer as a run. */
static zk_set_status take(zk_reader *reader, const zk_batch *batch, zk_buffer *buffer, size_t start,
                          size_t size) {
    zk_run run;
    if (!zk_batch_check(batch, buffer, start, size, reader->limits.fetch_offset, &run))
        return ZK_SET_REFUSED;
    if (run.count && !zk_runs_add(reader->walk.runs, &run, 0))
        return ZK_SET_NO_MEMORY;
    return ZK_SET_ENDS;
}

/* The size from which on it pays to write a batch as it arrived: a request holds one batch of each
 * partition, so many small ones cost more than compressing them again as one. Measured. */
static size_t least_kept(int codec) { return codec == ZK_GZIP ? 4096 : 65536; }

/* Returns the newest timestamp of a run. */
static int64_t newest(const zk_run *run) {
    zk_cursor cursor = zk_run_begin(run);
    zk_message message;
    int64_t offset, found = -1;
    while (zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE)
        if (message.timestamp > found)
            found = message.timestamp;
    return found;
}

/* Returns whether a producer could have sent this very batch: brokers accept no other, and look up
 * times and expire segments by the max timestamp in its header. */
static bool is_as_sent(const zk_batch *batch, const zk_run *run) {
    const int known = ZK_CODEC_MASK | ZK_TRANSACTIONAL_MASK;
    return run->count == (size_t)batch->record_count && batch->record_count > 1 &&
           batch->record_count - 1 == batch->last_delta && run->timestamps == run->count &&
           !(batch->attributes & ~known) && newest(run) == batch->max_time;
}

/* Keeps the compressed body of the batch that became the last run, after its records in their buffer. */
static void keep(zk_reader *reader, const zk_batch *batch, zk_buffer *buffer, size_t start,
                 size_t size) {
    zk_run *run = reader->walk.runs->items + reader->walk.runs->count - 1;
    if (!is_as_sent(batch, run) || !zk_buffer_reserve(buffer, size))
        return; /* without memory for it, it will be compressed again */
    memcpy(buffer->data + buffer->used, reader->set->data + start, size);
    run->packed_codec = zk_batch_codec(batch);
    run->packed_at = buffer->used;
    run->packed_size = size;
    buffer->used += size;
}

static zk_set_status decompress(zk_reader *reader, const zk_batch *batch, size_t start,
                                size_t size) {
    zk_walker *walk = &reader->walk;
    const size_t left = reader->set->used - reader->position;
    zk_buffer *buffer = zk_walker_buffer(walk, 0, left);
    if (!buffer)
        return ZK_SET_NO_MEMORY;
    const size_t before = buffer->used, runs = walk->runs->count, most = SIZE_MAX / 8 - before;
    zk_sink sink = {buffer, before + (walk->remaining_bytes < most ? walk->remaining_bytes : most)};
    const zk_decoded decoded = zk_decompress(zk_batch_codec(batch), reader->set->data + start, size,
                                             ZK_BATCH_MAGIC, &sink);
    zk_set_status status = decoded == ZK_REFUSED ? ZK_SET_REFUSED : ZK_SET_NO_MEMORY;
    if (decoded == ZK_DECODED) {
        const size_t made = buffer->used - before;
        status = take(reader, batch, buffer, before, made);
        if (status == ZK_SET_ENDS)
            walk->remaining_bytes -= made;
        if (walk->runs->count > runs && zk_batch_codec(batch) == reader->kept_codec &&
            size >= least_kept(reader->kept_codec))
            keep(reader, batch, buffer, start, size);
    }
    if (walk->runs->count == runs)
        buffer->used = before; /* no run uses it */
    zk_buffer_drop(buffer);
    if (status == ZK_SET_ENDS)
        zk_walker_renew_arena(walk);
    return status;
}

static zk_set_status read_batch(zk_reader *reader, const entry *found) {
    zk_batch batch;
    bool is_sound;
    if (!zk_batch_begin(found->bytes, found->size, &batch))
        return ZK_SET_REFUSED;
    const bool dropped = is_dropped(reader, &batch, found->size, &is_sound);
    if (!is_sound)
        return ZK_SET_REFUSED;
    const size_t start = reader->position + ZK_BATCH_HEAD_BYTES;
    const size_t size = found->size + ZK_ENTRY_HEADER_BYTES - ZK_BATCH_HEAD_BYTES;
    const int codec = zk_batch_codec(&batch);
    zk_set_status status = ZK_SET_ENDS;
    if (!dropped && batch.last_offset >= reader->limits.fetch_offset && batch.record_count) {
        if (codec && zk_walker_has_enough(&reader->walk))
            return ZK_SET_FULL;
        status = codec ? decompress(reader, &batch, start, size)
                       : take(reader, &batch, reader->set, start, size);
    }
    if (status == ZK_SET_ENDS)
        pass(reader, &batch, found->size);
    return status;
}

/* Reads consecutive messages. */
static zk_set_status read_messages(zk_reader *reader) {
    const size_t before = reader->position;
    const zk_set_status status = zk_walk_messages(&reader->walk, reader->set, &reader->position);
    if (status == ZK_SET_REFUSED && reader->position == before)
        return status; /* nothing was read */
    reader->last_leader_epoch = ZK_NO_LEADER_EPOCH;
    return status == ZK_SET_REFUSED ? ZK_SET_ENDS : status; /* perhaps a batch follows */
}

static zk_set_status read_on(zk_reader *reader) {
    for (;;) {
        entry found;
        zk_set_status status = find_entry(reader, &found);
        if (status != ZK_SET_ENDS || !found.bytes)
            return status;
        if (found.bytes[MAGIC_AT] == ZK_BATCH_MAGIC) {
            status = read_batch(reader, &found);
        } else if (found.bytes[MAGIC_AT] < ZK_BATCH_MAGIC) {
            status = read_messages(reader);
        } else {
            status = ZK_SET_REFUSED;
        }
        if (status != ZK_SET_ENDS)
            return status;
    }
}

zk_set_status zk_reader_read(zk_reader *reader) {
    const zk_set_status status = read_on(reader);
    /* Unused memory of the arena is returned before it is charged. The caller that decides about a
     * refused entry needs it, too. */
    zk_walker_end(&reader->walk);
    return status;
}

zk_set_result zk_read_set(zk_buffer *set, size_t position, const zk_set_limits *limits,
                          zk_runs *runs) {
    zk_reader reader = {.limits = *limits,
                        .set = set,
                        .position = position,
                        .last_leader_epoch = ZK_NO_LEADER_EPOCH};
    reader.walk = (zk_walker){.limits = &reader.limits,
                              .runs = runs,
                              .remaining_bytes = limits->bound_bytes,
                              .next_offset = limits->fetch_offset};
    zk_set_status status = position <= set->used ? zk_reader_read(&reader) : ZK_SET_ENDS;
    return (zk_set_result){status, reader.position, reader.walk.next_offset,
                           reader.walk.remaining_bytes, reader.last_leader_epoch};
}
