/* Runs: rows of checked, plain messages that lie back to back in one buffer; or the records of one
 * batch of magic 2, or what is wanted of them.
 *
 * A run is all that is kept of a decoded set. There is no table of positions: whoever reads it walks
 * it again, by the lengths in it, which costs less than memory for a table would. */
#ifndef ZK_RUN_H
#define ZK_RUN_H

#include "buffer.h"
#include "record.h"

typedef struct {
    zk_buffer *buffer;    /* one reference is this run's */
    size_t start;         /* of the first entry in the buffer */
    size_t size;          /* of all entries, with their headers */
    int64_t base_offset;  /* to be added to the offsets in the bytes */
    int64_t append_time;  /* with has_append_time: stands for the timestamps of magic 1 and 2 */
    int64_t base_time;    /* of a batch: to be added to the times in the bytes */
    int32_t leader_epoch; /* of the leader that wrote it; -1 if not known */
    bool has_append_time; /* the broker set the time of the set around it, or of the batch */
    bool is_batch;        /* records of magic 2 */
    int64_t first_offset;
    int64_t last_offset;
    size_t count;
    size_t key_bytes;
    size_t value_bytes;
    size_t null_keys;
    size_t null_values;
    size_t timestamps;   /* messages that have one that is not negative */
    size_t with_headers; /* messages that have headers */
    int packed_codec;    /* of a whole batch that can be written as it came; 0: it can't */
    size_t packed_at;    /* its body as it came, compressed, in the same buffer */
    size_t packed_size;
} zk_run;

typedef struct {
    zk_run *items;
    size_t count;
    size_t capacity;
} zk_runs;

/* A place in a run. */
typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    int64_t base_offset;
    int64_t base_time; /* of a batch; and so for the others */
    bool is_batch, has_append_time;
} zk_cursor;

zk_cursor zk_run_begin(const zk_run *run);

/* Adds a run, with its reference to the buffer; false without memory.
 * It becomes a part of the last one where it lies right behind it and differs in nothing, as small
 * compressed sets do in their arena, as long as the two take at most `max_bytes`. */
bool zk_runs_add(zk_runs *runs, const zk_run *run, size_t max_bytes);

/* Drops the runs behind the first `count`, and their references. */
void zk_runs_cut(zk_runs *runs, size_t count);

/* Drops all. */
void zk_runs_free(zk_runs *runs);

/* Adds one message to what a run knows of its messages. */
void zk_run_note(zk_run *run, int64_t offset, const zk_message *message);

/* Takes messages off the front: at least one, then more as long as they need at most `max_bytes`
 * and `max_count`. `head` gets a reference of its own. What is left may be empty.
 * False if the bytes have changed since they were checked. */
bool zk_run_split(zk_run *run, size_t max_bytes, size_t max_count, zk_run *head);

typedef enum { ZK_MESSAGE, ZK_RUN_ENDS, ZK_RUN_BROKEN } zk_step;

/* The next record of a batch. */
static inline zk_step zk_record_next(zk_cursor *cursor, int64_t *offset, zk_message *message) {
    zk_record_front front;
    if (!zk_record_begin(cursor->at, cursor->end, &front) || !zk_record_parts(&front, message))
        return ZK_RUN_BROKEN;
    /* Unsigned, so that changed bytes can't overflow them. */
    const uint64_t time_delta = cursor->has_append_time ? 0 : (uint64_t)front.time_delta;
    *offset = (int64_t)((uint64_t)cursor->base_offset + (uint64_t)(int64_t)front.offset_delta);
    message->timestamp = (int64_t)((uint64_t)cursor->base_time + time_delta);
    message->magic = 2;
    message->attributes = cursor->has_append_time ? ZK_LOG_APPEND_MASK : 0;
    cursor->at = front.end;
    return ZK_MESSAGE;
}

/* Reads the next message. All bounds are checked again: it costs next to nothing, and bytes that
 * belong to somebody else might not be what they were. */
static inline zk_step zk_run_next(zk_cursor *cursor, int64_t *offset, zk_message *message) {
    const int64_t left = cursor->end - cursor->at;
    if (left == 0)
        return ZK_RUN_ENDS;
    if (cursor->is_batch)
        return zk_record_next(cursor, offset, message);
    if (left < ZK_ENTRY_HEADER_BYTES + ZK_MIN_ENTRY_SIZE)
        return ZK_RUN_BROKEN;
    const int32_t size = zk_int32(cursor->at + 8);
    if (size < ZK_MIN_ENTRY_SIZE || size > left - ZK_ENTRY_HEADER_BYTES ||
        !zk_take_apart(cursor->at, (uint32_t)size, message))
        return ZK_RUN_BROKEN;
    /* Unsigned, so that changed bytes can't overflow it. */
    *offset = (int64_t)((uint64_t)cursor->base_offset + zk_be64(cursor->at));
    cursor->at += ZK_ENTRY_HEADER_BYTES + size;
    return ZK_MESSAGE;
}

#endif
