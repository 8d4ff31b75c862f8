/* A pump, the queues it fills and the partitions it reads, with the loans that Python would make. */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include "pump.h"

enum { MOST_SLOTS = 12, MOST_QUEUES = 3, MOST_TOPICS = 3, MAX_ANSWER_BYTES = 1 << 22 };

typedef struct {
    zk_claim *claim;
    size_t topic, queue;
    int64_t expected; /* where the next chunk out of the queue must begin */
    int64_t until;    /* where its range ends; -1: it has no end */
} partition;

typedef struct {
    zk_pump *pump;
    zk_queue *queues[MOST_QUEUES];
    size_t queue_count, topic_count, partition_count;
    partition partitions[MOST_SLOTS]; /* as their slots, topic by topic */
    bool is_sound;
} world;

/* A world by chance, whose partitions stand where they begin. */
void begin_world(world *self);
void end_world(world *self);

/* As Python does when a run has ended: what is odd is dropped, and its partition goes on behind it. */
void lend_again(world *self);

/* As a stream does. False: nothing was there. What comes out of a queue must follow what came out before,
 * to the offset; anything else aborts. */
bool take_chunk(world *self, zk_queue *queue);

/* Looks at what is requested: nothing from an end on, and no more than of a partition without one. */
void check_requests(const world *self);

/* Empties the queues. Where they end, the slots must begin. */
void check_end(world *self);

/* The leader's epoch that is sent with a partition; of the first one none is. */
static inline int32_t epoch_of(int32_t partition) { return partition - 1; }

/* How many chunks came out so far, and how often a partition with an end was requested. */
extern uint64_t chunks_taken, ends_requested;

#endif
