#include "world.h"

#include <stdlib.h>

#include "sets.h"

uint64_t chunks_taken, ends_requested;

/* Reads all of a chunk. Where nothing is damaged, its offsets are between the two. */
static void read_chunk(const zk_runs *runs, bool is_sound, int64_t from, int64_t to) {
    for (size_t at = 0; at < runs->count; at++) {
        zk_cursor cursor = zk_run_begin(runs->items + at);
        zk_message message;
        int64_t offset;
        while (zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE) {
            if (is_sound && (offset < from || offset >= to))
                abort();
        }
        if (cursor.at != cursor.end)
            abort();
    }
}

/* --- loans --------------------------------------------------------------------------------------- */

typedef struct {
    int64_t fetch_offset;
    zk_set set;
    size_t at;
    bool is_behind;
} state;

/* Names, and ids of versions that have them. */
static bool add_topic(zk_pump *pump, size_t topic) {
    static const uint8_t NAMES[ZK_TOPIC_ID_BYTES + MOST_TOPICS] = "topics";
    const bool has_ids = pump->head.version >= ZK_FETCH_TOPIC_IDS;
    return zk_slots_add_topic(&pump->slots, NAMES + topic, has_ids ? ZK_TOPIC_ID_BYTES : 1 + topic);
}

static void load(world *self, state *states) {
    zk_pump *pump = self->pump;
    zk_pump_clear(pump);
    pump->ends_at_head = below(4) == 0;
    if (!zk_slots_begin(&pump->slots, self->partition_count, self->topic_count, self->queue_count))
        abort();
    for (size_t at = 0; at < self->queue_count; at++)
        zk_slots_add_outlet(&pump->slots, self->queues[at]);
    size_t topic = 0;
    for (size_t at = 0; at < self->partition_count; at++) {
        const partition *one = self->partitions + at;
        for (; topic <= one->topic; topic++)
            if (!add_topic(pump, topic))
                abort();
        zk_slot *slot = zk_slots_add(&pump->slots, one->queue, (int32_t)at, one->claim);
        slot->fetch_offset = states[at].fetch_offset;
        slot->leader_epoch = epoch_of(slot->partition);
        slot->is_behind = states[at].is_behind;
        slot->until_offset = one->until;
        if (states[at].set.bytes) {
            zk_pump_load_set(pump, slot, states[at].set.bytes, states[at].at, states[at].set.offset,
                         states[at].set.requested_bytes);
            zk_buffer_drop(states[at].set.bytes);
        }
    }
}

/* As Python does: what is odd is dropped, and its partition goes on behind it. */
void lend_again(world *self) {
    state states[MOST_SLOTS];
    for (size_t at = 0; at < self->partition_count; at++) {
        const zk_slot *slot = self->pump->slots.slots + at;
        states[at] = (state){slot->fetch_offset, slot->set, slot->at, slot->is_behind};
        if (slot->set.bytes && !slot->reclaim)
            zk_buffer_share(slot->set.bytes);
        else
            states[at].set.bytes = NULL;
    }
    load(self, states);
}

/* --- the stream's side --------------------------------------------------------------------------- */

static partition *find(world *self, const zk_claim *claim) {
    for (size_t at = 0; at < self->partition_count; at++)
        if (self->partitions[at].claim == claim)
            return self->partitions + at;
    abort();
}

static void note_chunk(world *self, const zk_chunk *chunk) {
    partition *one = find(self, chunk->claim);
    if (zk_claim_is_active(one->claim) && chunk->fetch_offset != one->expected)
        abort(); /* something is lost, or comes twice */
    one->expected = chunk->next_offset;
    read_chunk(&chunk->runs, self->is_sound, chunk->fetch_offset, chunk->next_offset);
    chunks_taken++;
}

/* As a reader of whole chunks does. */
static bool take_whole(world *self, zk_queue *queue) {
    zk_front front;
    zk_chunk *dropped = NULL;
    const bool is_there = zk_queue_look(queue, &front, &dropped);
    zk_chunks_free(dropped);
    zk_chunk *chunk = is_there ? zk_queue_take(queue, front.number) : NULL;
    if (chunk)
        note_chunk(self, chunk);
    else
        zk_queue_done(queue);
    zk_chunk_free(chunk);
    zk_queue_notify_pumps(queue);
    return is_there;
}

bool take_chunk(world *self, zk_queue *queue) {
    if (below(2))
        return take_whole(self, queue);
    zk_chunk head = {0}, *dropped = NULL;
    const zk_head_kind kind = zk_queue_head(queue, &head, &dropped);
    zk_chunks_free(dropped);
    if (kind == ZK_HEAD_CHUNK) {
        note_chunk(self, &head);
        zk_runs_free(&head.runs);
        zk_claim_drop(head.claim);
        if (zk_queue_name(queue, head.number))
            zk_queue_remove(queue);
        zk_queue_done(queue);
        zk_queue_notify_pumps(queue);
    }
    return kind == ZK_HEAD_CHUNK;
}

void check_requests(const world *self) {
    const zk_fetch_plan *plan = &self->pump->plan;
    const size_t grown = self->pump->unpacker.limits.grown_bytes;
    const size_t most = grown > plan->part_bytes ? grown : plan->part_bytes;
    for (size_t at = 0; at < self->partition_count; at++) {
        const zk_slot *slot = self->pump->slots.slots + at;
        if (slot->is_requested && (zk_slot_ends_by(slot, slot->requested_offset) ||
                                   !slot->requested_bytes || slot->requested_bytes > most))
            abort();
        ends_requested += slot->is_requested && slot->until_offset >= 0;
    }
}

void check_end(world *self) {
    for (size_t at = 0; at < self->queue_count; at++)
        while (take_chunk(self, self->queues[at]))
            ;
    for (size_t at = 0; at < self->partition_count; at++) {
        const partition *one = self->partitions + at;
        if (zk_claim_is_active(one->claim) &&
            one->expected != self->pump->slots.slots[at].fetch_offset)
            abort(); /* another reader would not go on where the queue ends */
    }
}

/* None, among what the sets hold, at an edge of it, or anywhere. */
static int64_t some_end(int64_t from) {
    static const int64_t ODD[] = {0, 1, INT64_MAX - 1, INT64_MAX};
    switch (below(6)) {
    case 0:
        return from + (int64_t)below(4);
    case 1:
        return ODD[below(4)];
    case 2:
    case 3:
        return (int64_t)below(300);
    default:
        return -1;
    }
}

/* --- its beginning and its end ------------------------------------------------------------------- */

static void set_limits(zk_pump *pump) {
    pump->plan.part_bytes = pump->unpacker.limits.part_bytes = 100 + below(1 << 16);
    pump->unpacker.limits.max_decompressed_bytes = below(2) ? 1 << 22 : 5000;
    pump->unpacker.limits.growth_max_bytes = 1 << 16;
    pump->unpacker.limits.grown_bytes = below(2) ? 0 : 1 << 17;
    pump->plan.response_bytes = 1 << (10 + below(10));
    pump->head.max_bytes = (int32_t)pump->plan.response_bytes;
}

void begin_world(world *self) {
    *self = (world){.pump = zk_pump_new(),
                    .queue_count = 1 + below(MOST_QUEUES),
                    .topic_count = 1 + below(MOST_TOPICS),
                    .partition_count = 1 + below(MOST_SLOTS),
                    .is_sound = below(3) == 0};
    if (!self->pump || !zk_pump_name(self->pump, (const uint8_t *)"fuzz", 4))
        abort();
    set_limits(self->pump);
    self->pump->head.version = below(3) ? (int)below(ZK_FETCH_LAST + 1) : ZK_FETCH_LAST;
    for (size_t at = 0; at < self->queue_count; at++) {
        self->queues[at] = zk_queue_new(1 + below(20), NULL, NULL);
        if (below(2))
            zk_queue_set_share(self->queues[at], 1 + below(1 << 17));
    }
    state states[MOST_SLOTS] = {0};
    for (size_t at = 0; at < self->partition_count; at++) {
        self->partitions[at] = (partition){.claim = zk_claim_new(),
                                           .topic = at * self->topic_count / self->partition_count,
                                           .queue = below(self->queue_count)};
        self->partitions[at].expected = states[at].fetch_offset = (int64_t)below(30);
        self->partitions[at].until = some_end(states[at].fetch_offset);
    }
    self->topic_count = self->partitions[self->partition_count - 1].topic + 1;
    load(self, states);
}

void end_world(world *self) {
    zk_pump_free(self->pump);
    for (size_t at = 0; at < self->queue_count; at++)
        zk_queue_free(self->queues[at]);
    for (size_t at = 0; at < self->partition_count; at++)
        zk_claim_drop(self->partitions[at].claim);
}
