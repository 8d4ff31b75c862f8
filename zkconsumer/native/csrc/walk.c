#include "walk.h"

#include "batch.h"
#include "crc32.h"
#include "sink.h"
#include "walk_inside.h"

/* The entries of one set: the fetched one, or one inside a wrapper. */
typedef struct {
    zk_buffer *buffer;
    size_t start, stop;
    zk_run pattern; /* the fields that its runs have in common */
    int depth;
} message_set;

/* A whole entry of a set. */
typedef struct {
    const uint8_t *bytes;
    uint32_t size;
    int64_t offset; /* absolute */
    zk_message message;
} entry;

static zk_set_status read_entries(zk_walker *self, const message_set *set, size_t *position);

/* Adds the current run, and begins the next one at `position`. */
static bool close_run(zk_walker *self, const message_set *set, zk_run *run, size_t position) {
    const bool added = run->count == 0 || zk_runs_add(self->runs, run, self->limits->piece_bytes);
    *run = set->pattern;
    run->start = position;
    return added;
}

/* Finds the base of the relative offsets inside a wrapper of magic 1, whose last message has the wrapper's
 * offset (see `records.legacy`). False: they are invalid. */
static bool find_base(const uint8_t *data, size_t size, int64_t wrapper_offset, int64_t *base) {
    int64_t last = 0;
    for (size_t at = 0; at <= size && size - at >= ZK_ENTRY_HEADER_BYTES;) {
        const int64_t offset = zk_int64(data + at);
        const int32_t entry_size = zk_int32(data + at + 8);
        if (entry_size < ZK_MIN_ENTRY_SIZE || offset < last)
            return false;
        last = offset;
        at += ZK_ENTRY_HEADER_BYTES + (size_t)entry_size;
    }
    if (wrapper_offset == 0) { /* some versions of librdkafka produced that */
        *base = 0;
        return true;
    }
    *base = wrapper_offset - last; /* neither is negative */
    return last <= wrapper_offset;
}

/* Returns whether a nested set begins after the messages before it, if any. See `records.legacy`. */
static bool starts_behind(const zk_walker *self, const uint8_t *data, size_t size, int64_t base) {
    int64_t first;
    if (size < ZK_ENTRY_HEADER_BYTES || self->next_offset == self->limits->fetch_offset)
        return true;
    return !__builtin_add_overflow(zk_int64(data), base, &first) && first >= self->next_offset;
}

/* Reads a set that was decompressed to `inside.start` of its buffer. */
static zk_set_status read_inside(zk_walker *self, message_set *inside, const entry *wrapper) {
    inside->stop = inside->buffer->used;
    const uint8_t *data = inside->buffer->data + inside->start;
    int64_t base = 0;
    if (wrapper->message.magic == 1 &&
        !find_base(data, inside->stop - inside->start, wrapper->offset, &base))
        return ZK_SET_REFUSED;
    if (!starts_behind(self, data, inside->stop - inside->start, base))
        return ZK_SET_REFUSED;
    inside->pattern.buffer = inside->buffer;
    inside->pattern.base_offset = base;
    const int is_appended = wrapper->message.attributes & ZK_LOG_APPEND_MASK;
    if (wrapper->message.magic == 1 && is_appended && !inside->pattern.has_append_time) {
        inside->pattern.has_append_time = true; /* the outermost wrapper's counts */
        inside->pattern.append_time = wrapper->message.timestamp;
    }
    size_t position = inside->start;
    const zk_set_status status = read_entries(self, inside, &position);
    /* A truncated entry in a wrapper would be lost. */
    return status == ZK_SET_ENDS && position != inside->stop ? ZK_SET_REFUSED : status;
}

static zk_set_status decompress(zk_walker *self, const message_set *set, const entry *wrapper) {
    const zk_message *message = &wrapper->message;
    const uint8_t *end = set->buffer->data + set->stop; /* of all further entries */
    zk_buffer *buffer = zk_walker_buffer(self, set->depth, (size_t)(end - wrapper->bytes));
    if (!buffer)
        return ZK_SET_NO_MEMORY;
    const zk_mark before = zk_mark_runs(self->runs);
    const size_t start = buffer->used, most = SIZE_MAX / 8 - start;
    zk_sink sink = {buffer, start + (self->remaining_bytes < most ? self->remaining_bytes : most)};
    const zk_decoded decoded =
        zk_decompress(message->attributes & ZK_CODEC_MASK, message->value,
                      (size_t)message->value_bytes, message->magic, &sink);
    zk_set_status status = decoded == ZK_REFUSED ? ZK_SET_REFUSED : ZK_SET_NO_MEMORY;
    if (decoded == ZK_DECODED) {
        self->remaining_bytes -= buffer->used - start;
        message_set inside = {buffer, start, 0, set->pattern, set->depth + 1};
        status = read_inside(self, &inside, wrapper);
    }
    if (status != ZK_SET_ENDS)
        zk_undo_runs(self->runs, &before);
    if (zk_nothing_added(self->runs, &before))
        buffer->used = start; /* no run uses it */
    if (set->depth) /* there may be a million of them */
        zk_buffer_trim(buffer);
    zk_buffer_drop(buffer);
    return status;
}

/* Reads a compressed message: ENDS if it was read, FULL if it is left to another call. */
static zk_set_status read_wrapper(zk_walker *self, const message_set *set, const entry *wrapper) {
    if (wrapper->message.value_bytes < 0 || set->depth == ZK_MAX_DEPTH)
        return ZK_SET_REFUSED;
    const int codec = wrapper->message.attributes & ZK_CODEC_MASK;
    if (codec > ZK_LZ4)
        return ZK_SET_REFUSED;
    if (wrapper->message.value_bytes == 0)
        return ZK_SET_ENDS;
    if (set->depth == 0 && zk_walker_has_enough(self))
        return ZK_SET_FULL;
    const size_t before = self->remaining_bytes;
    const int64_t next_offset = self->next_offset;
    const zk_set_status status = decompress(self, set, wrapper);
    if (status != ZK_SET_ENDS) {
        self->remaining_bytes = before;
        self->next_offset = next_offset;
    } else if (set->depth == 0) {
        zk_walker_renew_arena(self);
    }
    return status;
}

/* Checks the entry at a position: ENDS if it is valid or to be skipped. */
static zk_set_status check(const zk_walker *self, const message_set *set, entry *found) {
    const int64_t offset = zk_int64(found->bytes);
    const uint8_t magic = found->bytes[16];
    if (offset < 0 || __builtin_add_overflow(offset, set->pattern.base_offset, &found->offset))
        return ZK_SET_REFUSED;
    if (magic > 1 && set->depth == 0)
        return ZK_SET_REFUSED;
    if (found->offset < self->limits->fetch_offset)
        return ZK_SET_ENDS;
    const uint32_t crc = zk_crc32(0, found->bytes + 16, found->size - 4);
    if (magic > 1 || crc != zk_be32(found->bytes + ZK_ENTRY_HEADER_BYTES) ||
        !zk_take_apart(found->bytes, found->size, &found->message))
        return ZK_SET_REFUSED;
    return ZK_SET_ENDS;
}

/* Adds a checked, wanted entry to the run; decompresses a wrapper. */
static zk_set_status take(zk_walker *self, const message_set *set, const entry *found, zk_run *run,
                          size_t position) {
    if (found->message.attributes & ZK_CODEC_MASK) {
        if (!close_run(self, set, run, position))
            return ZK_SET_NO_MEMORY;
        const zk_set_status status = read_wrapper(self, set, found);
        if (status == ZK_SET_ENDS)
            zk_walker_advance(self, found->offset);
        return status;
    }
    if (run->count == 0)
        run->start = position;
    else if (run->size >= self->limits->piece_bytes && !close_run(self, set, run, position))
        return ZK_SET_NO_MEMORY;
    zk_run_note(run, found->offset, &found->message);
    run->size += ZK_ENTRY_HEADER_BYTES + found->size;
    zk_walker_advance(self, found->offset);
    return ZK_SET_ENDS;
}

static zk_set_status read_entries(zk_walker *self, const message_set *set, size_t *position) {
    const uint8_t *data = set->buffer->data; /* does not move: see zk_walker_buffer */
    zk_run run = set->pattern;
    zk_set_status status = ZK_SET_ENDS;
    while (set->stop - *position >= ZK_ENTRY_HEADER_BYTES) {
        entry found = {.bytes = data + *position};
        const int32_t size = zk_int32(found.bytes + 8);
        if (size < ZK_MIN_ENTRY_SIZE) {
            status = ZK_SET_REFUSED;
            break;
        }
        found.size = (uint32_t)size;
        if (found.size > set->stop - *position - ZK_ENTRY_HEADER_BYTES)
            break; /* cut off */
        status = check(self, set, &found);
        if (status == ZK_SET_ENDS) {
            if (found.offset >= self->limits->fetch_offset)
                status = take(self, set, &found, &run, *position);
            else if (!close_run(self, set, &run, *position))
                status = ZK_SET_NO_MEMORY;
        }
        if (status != ZK_SET_ENDS)
            break;
        *position += ZK_ENTRY_HEADER_BYTES + found.size;
    }
    return close_run(self, set, &run, *position) ? status : ZK_SET_NO_MEMORY;
}

zk_set_status zk_walk_messages(zk_walker *self, zk_buffer *set, size_t *position) {
    const zk_run pattern = {.buffer = set, .leader_epoch = ZK_NO_LEADER_EPOCH};
    const message_set whole = {set, *position, set->used, pattern, 0};
    return read_entries(self, &whole, position);
}
