/* Runs: consecutive checked, uncompressed messages in one buffer; or the records of one batch of magic 2,
 * or the wanted ones of them.
 *
 * A decoded set consists of runs only. There is no table of positions: readers walk a run again by the
 * lengths in it, which costs less than the memory of a table. */
#ifndef ZK_RUN_H
#define ZK_RUN_H

#include "buffer.h"
#include "record.h"

enum { ZK_NO_LEADER_EPOCH = -1 };

typedef struct {
    zk_buffer *buffer;    /* a reference */
    size_t start;         /* of the first entry in the buffer */
    size_t size;          /* of all entries, with their headers */
    int64_t base_offset;  /* add it to the offsets in the bytes */
    int64_t append_time;  /* with has_append_time: in place of the timestamps of magic 1 and 2 */
    int64_t base_time;    /* of a batch: add it to the times in the bytes */
    int32_t leader_epoch; /* of the leader that wrote it; -1 if unknown */
    bool has_append_time; /* the broker set the time of the wrapper, or of the batch */
    bool is_batch;        /* records of magic 2 */
    int64_t first_offset;
    int64_t last_offset;
    size_t count;
    size_t key_bytes;
    size_t value_bytes;
    size_t null_keys;
    size_t null_values;
    size_t timestamps;   /* messages with a timestamp that is not negative */
    size_t with_headers; /* messages with headers */
    int packed_codec;    /* the codec of a whole batch that can be written as it arrived; 0: it can't */
    size_t packed_at;    /* its compressed body, in the same buffer */
    size_t packed_size;
} zk_run;

typedef struct {
    zk_run *items;
    size_t count;
    size_t capacity;
} zk_runs;

/* A position in a run. */
typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    int64_t base_offset;
    int64_t base_time; /* of a batch */
    bool is_batch, has_append_time;
} zk_cursor;

zk_cursor zk_run_begin(const zk_run *run);

/* Adds a run, with a reference to its buffer; false without memory.
 * It is merged into the last one if it directly follows that, is of the same kind (as small compressed
 * sets in an arena are), and both together have at most `max_bytes`. */
bool zk_runs_add(zk_runs *runs, const zk_run *run, size_t max_bytes);

/* Drops all runs but the first `count`. */
void zk_runs_cut(zk_runs *runs, size_t count);

/* Drops all. */
void zk_runs_free(zk_runs *runs);

/* Counts a message as one of the run. */
void zk_run_note(zk_run *run, int64_t offset, const zk_message *message);

/* Moves messages from the front to `head`, which gets a reference of its own: at least one, then more
 * while they have at most `max_bytes` and `max_count`. The rest may be empty.
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

/* Reads the next message. All bounds are checked again: that costs next to nothing, and bytes of another
 * owner may have changed. */
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
