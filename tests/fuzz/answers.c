#include "answers.h"

#include <stdlib.h>
#include <string.h>

#include "pump.h"
#include "sets.h"

enum { MOST_SLOTS = 12, MOST_QUEUES = 3, MOST_TOPICS = 3, MAX_ANSWER_BYTES = 1 << 22 };

/* More than a broker was asked for, and than a buffer has room for at first. */
enum { LARGE_SET_BYTES = (1 << 20) + 70000 };

uint64_t answers_taken, chunks_taken;

typedef struct {
    zk_claim *claim;
    size_t topic, queue;
    int64_t expected; /* where the next chunk out of the queue must begin */
} partition;

typedef struct {
    zk_pump *pump;
    zk_queue *queues[MOST_QUEUES];
    size_t queue_count, topic_count, partition_count;
    partition partitions[MOST_SLOTS]; /* as their slots, topic by topic */
    bool is_sound;
    bool may_be_large; /* one set of each answer */
} world;

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
} state;

static void load(world *self, state *states) {
    zk_pump *pump = self->pump;
    zk_pump_clear(pump);
    if (!zk_slots_begin(&pump->slots, self->partition_count, self->topic_count, self->queue_count))
        abort();
    for (size_t at = 0; at < self->queue_count; at++)
        zk_slots_add_outlet(&pump->slots, self->queues[at]);
    size_t topic = 0;
    for (size_t at = 0; at < self->partition_count; at++) {
        const partition *one = self->partitions + at;
        for (; topic <= one->topic; topic++)
            if (!zk_slots_add_topic(&pump->slots, (const uint8_t *)"topics" + topic, 1 + topic))
                abort();
        zk_slot *slot = zk_slots_add(&pump->slots, one->queue, (int32_t)at, one->claim);
        slot->fetch_offset = states[at].fetch_offset;
        if (states[at].set.bytes) {
            zk_pump_lend(pump, slot, states[at].set.bytes, states[at].at, states[at].set.offset,
                         states[at].set.asked_bytes);
            zk_buffer_drop(states[at].set.bytes);
        }
    }
}

/* As Python does: what is odd is dropped, and its partition goes on behind it. */
static void lend_again(world *self) {
    state states[MOST_SLOTS];
    for (size_t at = 0; at < self->partition_count; at++) {
        const zk_slot *slot = self->pump->slots.slots + at;
        states[at] = (state){slot->fetch_offset, slot->set, slot->at};
        if (slot->set.bytes && !slot->odd)
            zk_buffer_share(slot->set.bytes);
        else
            states[at].set.bytes = NULL;
    }
    load(self, states);
}

/* --- answers ------------------------------------------------------------------------------------- */

static uint8_t *put_number(uint8_t *to, uint64_t value, size_t size) {
    for (size_t byte = 0; byte < size; byte++)
        *to++ = (uint8_t)(value >> (8 * (size - 1 - byte)));
    return to;
}

static uint8_t *put_partition(world *self, uint8_t *to, const zk_slot *slot) {
    bytes set = copy(a_seed());
    if (!self->is_sound && below(3) == 0) {
        set = damaged(set);
        repair(set);
    }
    const bool is_error = below(40) == 0;
    size_t size = below(8) ? set.size : below(set.size + 1);
    if (size > slot->asked_bytes)
        size = slot->asked_bytes;
    const bool is_large = self->may_be_large && below(500) == 0;
    self->may_be_large &= !is_large;
    const size_t more = is_large ? LARGE_SET_BYTES - size : 0;
    to = put_number(to, (uint32_t)slot->partition, 4);
    to = put_number(to, is_error ? 6 : 0, 2);
    to = put_number(to, 1000, 8);
    to = put_number(to, size + more, 4);
    memcpy(to, set.data, size);
    memset(to + size, 0, more);
    free(set.data);
    return to + size + more;
}

/* The answer to what is asked; partitions nobody asked for among them. */
static bytes make_answer(world *self, int32_t correlation_id) {
    bytes made = room(MAX_ANSWER_BYTES);
    self->may_be_large = true;
    uint8_t *to = put_number(made.data + 4, (uint32_t)correlation_id, 4);
    const zk_slots *slots = &self->pump->slots;
    to = put_number(to, slots->topic_count, 4);
    for (uint32_t topic = 0; topic < slots->topic_count; topic++) {
        to = put_number(to, slots->topics[topic].size, 2);
        memcpy(to, slots->topics[topic].name, slots->topics[topic].size);
        uint8_t *count_at = to += slots->topics[topic].size;
        to += 4;
        size_t count = 0;
        for (size_t at = 0; at < slots->count; at++) {
            const zk_slot *slot = slots->slots + at;
            if (slot->topic == topic && (slot->is_asked || below(20) == 0)) {
                to = put_partition(self, to, slot);
                count++;
            }
        }
        put_number(count_at, count, 4);
    }
    made.size = (size_t)(to - made.data);
    put_number(made.data, made.size - 4, 4);
    return made;
}

static void damage_frame(bytes frame) {
    const size_t near = frame.size < 80 ? frame.size : 80;
    for (size_t times = below(3); times; times--)
        frame.data[below(below(2) ? near : frame.size)] ^= (uint8_t)(1 << below(8));
}

/* Feeds a frame in pieces. */
static zk_parsed feed(zk_response *response, bytes frame) {
    const size_t most = below(2) ? frame.size : 1 + below(5000);
    for (size_t at = 0; at < frame.size;) {
        zk_space space;
        if (!zk_response_space(response, &space) || space.size[0] == 0)
            abort();
        size_t count = 1 + below(most);
        const size_t space_bytes = space.size[0] + space.size[1];
        count = count < frame.size - at ? count : frame.size - at;
        count = count < space_bytes ? count : space_bytes;
        const size_t first = count < space.size[0] ? count : space.size[0];
        memcpy(space.data[0], frame.data + at, first);
        if (count > first)
            memcpy(space.data[1], frame.data + at + first, count - first);
        at += count;
        const zk_parsed parsed = zk_response_take(response, count);
        if (parsed != ZK_PARSED_PART)
            return parsed;
    }
    return ZK_PARSED_PART;
}

/* --- the stream's side --------------------------------------------------------------------------- */

static partition *find(world *self, const zk_claim *claim) {
    for (size_t at = 0; at < self->partition_count; at++)
        if (self->partitions[at].claim == claim)
            return self->partitions + at;
    abort();
}

static bool take_chunk(world *self, zk_queue *queue) {
    zk_chunk head = {0}, *dropped = NULL;
    const zk_head_kind kind = zk_queue_head(queue, &head, &dropped);
    zk_chunks_free(dropped);
    if (kind == ZK_HEAD_CHUNK) {
        partition *one = find(self, head.claim);
        if (zk_claim_is_active(one->claim) && head.fetch_offset != one->expected)
            abort(); /* something is lost, or comes twice */
        one->expected = head.next_offset;
        read_chunk(&head.runs, self->is_sound, head.fetch_offset, head.next_offset);
        zk_runs_free(&head.runs);
        zk_claim_drop(head.claim);
        chunks_taken++;
        if (zk_queue_name(queue, head.number))
            zk_queue_remove(queue);
        zk_queue_done(queue);
        zk_queue_ring(queue);
    }
    return kind == ZK_HEAD_CHUNK;
}

/* --- rounds -------------------------------------------------------------------------------------- */

static void exchange_once(world *self, bool early) {
    zk_pump *pump = self->pump;
    const bool asks = early ? zk_ask_early(&pump->asking, &pump->line, &pump->request, &pump->head)
                            : zk_ask(&pump->asking, &pump->slots, &pump->request, &pump->head);
    if (!asks)
        return;
    zk_response_begin(&pump->response, &pump->slots, 7, MAX_ANSWER_BYTES);
    if (early)
        zk_line_unpack(&pump->line);
    bytes frame = make_answer(self, 7);
    if (!self->is_sound && below(3) == 0)
        damage_frame(frame);
    const zk_parsed parsed = feed(&pump->response, frame);
    free(frame.data);
    if (parsed != ZK_PARSED_ALL) {
        if (self->is_sound)
            abort();
        lend_again(self); /* as after a broken connection */
        return;
    }
    answers_taken++;
    zk_note_waiting(&pump->slots);
    for (size_t at = 0; at < pump->slots.count; at++)
        if (pump->slots.slots[at].is_asked)
            zk_take_answer(&pump->line, pump->slots.slots + at);
}

static void one_turn(world *self) {
    zk_line *line = &self->pump->line;
    exchange_once(self, below(2) && line->waiting);
    if (below(4))
        zk_line_unpack(line);
    for (size_t times = below(6); times; times--)
        take_chunk(self, self->queues[below(self->queue_count)]);
    if (below(30) == 0)
        zk_claim_set_active(self->partitions[below(self->partition_count)].claim, false);
    if (line->odd || below(6) == 0)
        lend_again(self);
}

static void check_end(world *self) {
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

void answer_some(void) {
    world self = {.pump = zk_pump_new(),
                  .queue_count = 1 + below(MOST_QUEUES),
                  .topic_count = 1 + below(MOST_TOPICS),
                  .partition_count = 1 + below(MOST_SLOTS),
                  .is_sound = below(3) == 0};
    if (!zk_pump_name(self.pump, (const uint8_t *)"fuzz", 4))
        abort();
    self.pump->asking.part_bytes = self.pump->line.limits.part_bytes = 100 + below(1 << 16);
    self.pump->line.limits.max_decompressed_bytes = below(2) ? 1 << 22 : 5000;
    self.pump->line.limits.growth_max_bytes = 1 << 16;
    for (size_t at = 0; at < self.queue_count; at++) {
        self.queues[at] = zk_queue_new(1 + below(20), NULL, NULL);
        if (below(2))
            zk_queue_set_share(self.queues[at], 1 + below(1 << 17));
    }
    state states[MOST_SLOTS] = {0};
    for (size_t at = 0; at < self.partition_count; at++) {
        self.partitions[at] = (partition){.claim = zk_claim_new(),
                                          .topic = at * self.topic_count / self.partition_count,
                                          .queue = below(self.queue_count)};
        self.partitions[at].expected = states[at].fetch_offset = (int64_t)below(30);
    }
    self.topic_count = self.partitions[self.partition_count - 1].topic + 1;
    load(&self, states);
    for (size_t turns = 1 + below(30); turns; turns--)
        one_turn(&self);
    check_end(&self);
    zk_pump_free(self.pump);
    for (size_t at = 0; at < self.queue_count; at++)
        zk_queue_free(self.queues[at]);
    for (size_t at = 0; at < self.partition_count; at++)
        zk_claim_drop(self.partitions[at].claim);
}
