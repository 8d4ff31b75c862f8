/* The slots of a pump: the partitions that it reads, their state, and their lookup by name, or by the id
 * of their topic.
 *
 * A slot is a `partition_state.PartitionState` while its partition is supported. Its set has arrived, and
 * is not in a queue yet. `fetch_offset` moves with every chunk that a queue takes, and with nothing
 * else; `at` moves only when all records read from there are in the queue. So at any moment another reader
 * can continue with `fetch_offset` and the set from `at` on: records that were read but not queued are
 * dropped and read again, and those below `fetch_offset` are skipped.
 *
 * A slot that reads a range has an end, `until_offset`. It is at its end once `fetch_offset` is not below
 * that: then nothing is requested, kept or judged of what follows. What was queued in the same turn may lie
 * behind the end.
 *
 * Plain data, touched by the one thread that runs the pump. */
#ifndef ZK_SLOTS_H
#define ZK_SLOTS_H

#include "order.h"
#include "queue.h"
#include "walk.h"

/* The record set of one partition in a response. */
typedef struct {
    zk_buffer *bytes; /* the record set; null for none */
    int64_t offset;   /* the requested offset */
    size_t requested_bytes;
    zk_order headers; /* the end of its whole entries; position 0 while unknown */
} zk_set;

/* Why Python must reclaim a slot. */
typedef enum {
    ZK_NO_RECLAIM = 0,
    ZK_RECLAIM_ERROR,     /* the broker returned an error code for `set.offset` */
    ZK_RECLAIM_LEFT_OUT,  /* a response does not name it: a retry gets the same */
    ZK_RECLAIM_SET,       /* from `at` on the set can't be read here, or has no whole entry */
    ZK_RECLAIM_TOO_LARGE, /* its next entry needs more than a part of a response */
} zk_reclaim;

/* A queue, and the sets that wait for it. */
typedef struct {
    zk_queue *queue;
    size_t slots;       /* the number of slots that fill it */
    size_t waiting;     /* those of them that have a set */
    bool is_full;       /* in this pass over the slots */
    struct zk_slot *first; /* its chunk did not fit, and no other overtakes it */
    size_t early_bytes; /* of an early request: the bytes that arrived and that may arrive */
    size_t early_parts; /* the sum of the requested bytes */
    bool can_request_early;
} zk_outlet;

typedef struct zk_slot {
    zk_claim *claim; /* a reference */
    zk_outlet *outlet;
    uint32_t topic; /* its index */
    int32_t partition;
    int64_t fetch_offset; /* after all queued records */
    int64_t until_offset; /* where its range ends; -1: there is no end */
    size_t needed_bytes;  /* size of the next entry; 0: unknown */
    size_t grown_bytes;   /* max_bytes of the next request, as it filled the last one; 0: its part */
    double bytes_per_offset; /* of the last set in the log; 0: unknown */
    int32_t leader_epoch; /* sent with each request; -1: none is */
    bool is_behind;       /* the last set that was taken filled its request, or it was passed over and
                             has no end; not at its end */
    uint64_t turn;        /* the number of its last turn; 0: none since it was loaded */
    zk_reclaim reclaim;
    int16_t error_code;

    zk_set set;  /* its current set */
    zk_set next; /* the early set after it */
    size_t at;   /* the byte up to which the set is in the queue */

    /* Records read from `at` on, not all of which are queued. */
    bool is_read;
    zk_runs runs;     /* the first `runs_taken` are in chunks */
    size_t runs_taken;
    zk_chunk *chunk;  /* did not fit */
    size_t read_to;   /* the position where reading ended */
    int64_t read_next; /* the offset after it */
    int32_t read_epoch; /* the leader epoch of what is before that */
    zk_set_status read_status;

    /* The request and what arrives. */
    bool is_requested, has_response;
    bool names_replica; /* the response names another replica to read from, in place of records */
    bool is_passed_over; /* it has records, and the response brought none */
    int64_t early_offset; /* the offset of an early request; -1: unknown */
    int64_t requested_offset;
    size_t requested_bytes;
    int16_t arriving_error;
    int64_t arriving_high_watermark;
    int64_t arriving_log_start; /* -1 if the version has none */
    zk_buffer *arriving;

    struct zk_slot *next_waiting; /* in the list of slots that have a set */
} zk_slot;

typedef struct {
    uint8_t *name; /* or its id, for requests that have ids */
    uint32_t size;
} zk_topic;

typedef struct {
    zk_slot *slots; /* grouped by topic */
    size_t count, capacity;
    zk_topic *topics;
    size_t topic_count, topic_capacity;
    zk_outlet *outlets;
    size_t outlet_count, outlet_capacity;
    uint32_t *by_name;      /* topics, hashed; index + 1, 0 for none */
    uint32_t *by_partition; /* slots, hashed */
    size_t name_mask, partition_mask;
} zk_slots;

/* Clears the slots, and allocates for these counts: nothing moves after that. False without memory. */
bool zk_slots_begin(zk_slots *slots, size_t slot_count, size_t topic_count, size_t outlet_count);

/* Both add one; false without memory or beyond the capacity. */
bool zk_slots_add_topic(zk_slots *slots, const uint8_t *name, size_t size);
bool zk_slots_add_outlet(zk_slots *slots, zk_queue *queue);
/* Adds a slot of the last topic, without a leader epoch and without an end; shares the claim. Null beyond
 * the capacity. */
zk_slot *zk_slots_add(zk_slots *slots, size_t outlet, int32_t partition, zk_claim *claim);

/* Drops everything. */
void zk_slots_clear(zk_slots *slots);

/* The index of a topic, or -1. */
int64_t zk_slots_topic(const zk_slots *slots, const uint8_t *name, size_t size);
zk_slot *zk_slots_find(const zk_slots *slots, int64_t topic, int32_t partition);

static inline bool zk_slot_ends_by(const zk_slot *slot, int64_t offset) {
    return slot->until_offset >= 0 && offset >= slot->until_offset;
}

static inline bool zk_slot_is_at_end(const zk_slot *slot) {
    return zk_slot_ends_by(slot, slot->fetch_offset);
}

/* Returns whether its sets reach its end, or it is there: nothing more need arrive. */
bool zk_slot_is_complete(const zk_slot *slot);

/* Drops the set, and all records read of it. */
void zk_slot_drop_set(zk_slot *slot);
/* Drops the records that were read but are not queued. */
void zk_slot_drop_read(zk_slot *slot);
/* Drops the arriving set. */
void zk_slot_drop_arriving(zk_slot *slot);

#endif
