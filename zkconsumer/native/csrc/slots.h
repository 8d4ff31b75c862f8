/* The partitions that a pump reads, its slots: where each stands, and how to find one by name.
 *
 * A slot is what `fetch.position.FetchPosition` is as long as nothing odd happens to a partition. Its
 * set is what came and is not in a queue yet. `fetch_offset` moves with every chunk that a queue takes,
 * and with nothing else; `at` moves only when all that was read from there is in the queue. So at any
 * moment (`fetch_offset`, the set from `at` on) is all that another reader needs to go on: what was
 * read and not taken is dropped, and read again, and what is below `fetch_offset` is passed over.
 *
 * Plain data, touched by the one thread that runs the pump. */
#ifndef ZK_SLOTS_H
#define ZK_SLOTS_H

#include "queue.h"
#include "walk.h"

/* What a broker answered to one question about one partition. */
typedef struct {
    zk_buffer *bytes; /* the record set; null for none */
    int64_t offset;   /* that was asked for */
    size_t asked_bytes;
} zk_set;

/* Why a slot is for Python to deal with. */
typedef enum {
    ZK_NOT_ODD = 0,
    ZK_ODD_ERROR,   /* the broker answered with an error code, to a question at `set.offset` */
    ZK_ODD_SET,     /* from `at` on the set can't be read here, or holds nothing whole */
    ZK_ODD_TO_FIT,  /* its next entry needs more than a part of a response */
} zk_odd;

/* A queue, and what waits for it. */
typedef struct {
    zk_queue *queue;
    size_t slots;       /* how many fill it */
    size_t waiting;     /* slots of it that have a set */
    bool is_full;       /* in this pass over the slots */
    struct zk_slot *first; /* its chunk found no room: nothing passes it */
    size_t early_bytes; /* of an early request: what came and what may come */
    size_t early_parts; /* what is asked for, all together */
    bool can_ask_early;
} zk_outlet;

typedef struct zk_slot {
    zk_claim *claim; /* a reference */
    zk_outlet *outlet;
    uint32_t topic; /* its number */
    int32_t partition;
    int64_t fetch_offset; /* behind all that queues took */
    size_t needed_bytes;  /* what the next entry is known to need; 0: nothing is known */
    size_t grown_bytes;   /* what it may be asked for, since it filled what it was asked for; 0: its part */
    uint64_t turn;        /* when it last had its turn; 0: not since it was loaded */
    zk_odd odd;
    int16_t error_code;

    zk_set set;  /* what it has */
    zk_set next; /* what came early, behind it */
    size_t at;   /* how far the set is in the queue */

    /* What was read from `at` on and is not all in the queue. */
    bool is_read;
    zk_runs runs;     /* the first `runs_taken` of them are in chunks */
    size_t runs_taken;
    zk_chunk *chunk;  /* found no room */
    size_t read_to;   /* the byte where reading ended */
    int64_t read_next; /* the offset behind it */
    zk_set_status read_status;

    /* What is asked and what arrives. */
    bool is_asked, is_answered;
    bool is_passed_over; /* there was something for it, and the answer brought nothing of it */
    int64_t early_offset; /* where an early request would go on; -1: not known */
    int64_t asked_offset;
    size_t asked_bytes;
    int16_t arriving_error;
    int64_t arriving_high_watermark;
    zk_buffer *arriving;

    struct zk_slot *next_waiting; /* in the line of those that have a set */
} zk_slot;

typedef struct {
    uint8_t *name;
    uint32_t size;
} zk_topic;

typedef struct {
    zk_slot *slots; /* those of a topic together */
    size_t count, capacity;
    zk_topic *topics;
    size_t topic_count, topic_capacity;
    zk_outlet *outlets;
    size_t outlet_count, outlet_capacity;
    uint32_t *by_name;      /* topics, hashed; number + 1, 0 for none */
    uint32_t *by_partition; /* slots, hashed */
    size_t name_mask, partition_mask;
} zk_slots;

/* Makes room for so many of each, before any is added: nothing moves after that. What was there is
 * dropped. False without memory. */
bool zk_slots_begin(zk_slots *slots, size_t slot_count, size_t topic_count, size_t outlet_count);

/* Adds one; null without memory or beyond the room made. */
bool zk_slots_add_topic(zk_slots *slots, const uint8_t *name, size_t size);
bool zk_slots_add_outlet(zk_slots *slots, zk_queue *queue);
/* Of the topic added last; shares the claim. */
zk_slot *zk_slots_add(zk_slots *slots, size_t outlet, int32_t partition, zk_claim *claim);

/* Drops everything. */
void zk_slots_clear(zk_slots *slots);

/* The number of a topic, or -1. */
int64_t zk_slots_topic(const zk_slots *slots, const uint8_t *name, size_t size);
zk_slot *zk_slots_find(const zk_slots *slots, int64_t topic, int32_t partition);

/* Forgets a set, and what was read of it. */
void zk_slot_drop_set(zk_slot *slot);
/* Forgets what was read of the set and is not in the queue. */
void zk_slot_drop_read(zk_slot *slot);
/* Forgets what arrives. */
void zk_slot_drop_arriving(zk_slot *slot);

#endif
