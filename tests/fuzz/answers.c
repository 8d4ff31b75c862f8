#include "answers.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "shortage.h"
#include "world.h"

uint64_t answers_taken;

/* The response to what is asked; partitions nobody asked for among them. */
static bytes make_answer(world *self, int32_t correlation_id) {
    part parts[MOST_SLOTS];
    size_t count = 0;
    const zk_slots *slots = &self->pump->slots;
    for (size_t at = 0; at < slots->count; at++) {
        const zk_slot *slot = slots->slots + at;
        const zk_topic *topic = slots->topics + slot->topic;
        if (slot->is_requested || below(20) == 0)
            parts[count++] = (part){topic->name, topic->size, slot->partition, slot->requested_offset,
                                    slot->requested_bytes};
    }
    return make_response(self->pump->head.version, correlation_id, parts, count, self->is_sound);
}

/* Feeds a frame in pieces. */
static zk_parsed feed(zk_response *response, bytes frame) {
    const size_t most = below(2) ? frame.size : 1 + below(5000);
    for (size_t at = 0; at < frame.size;) {
        zk_space space;
        if (!zk_response_space(response, &space))
            return ZK_PARSED_NO_MEMORY;
        if (space.size[0] == 0)
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

/* False where the run is over, as after a broken connection. */
static bool exchange_once(world *self, bool early) {
    zk_pump *pump = self->pump;
    const bool asks = early ? zk_plan_early_request(&pump->plan, &pump->unpacker, &pump->request, &pump->head)
                            : zk_plan_request(&pump->plan, &pump->slots, &pump->request, &pump->head);
    if (!asks)
        return !pump->request.has_failed;
    check_requests(self);
    zk_response_begin(&pump->response, &pump->slots, pump->head.version, 7, MAX_ANSWER_BYTES);
    if (early)
        zk_unpacker_run(&pump->unpacker);
    bytes frame = make_answer(self, 7);
    if (!self->is_sound && below(3) == 0)
        damage_frame(frame);
    const zk_parsed parsed = feed(&pump->response, frame);
    free(frame.data);
    if (parsed != ZK_PARSED_ALL) {
        if (self->is_sound && parsed != ZK_PARSED_NO_MEMORY)
            abort();
        return false;
    }
    answers_taken++;
    zk_note_waiting(&pump->slots);
    for (size_t at = 0; at < pump->slots.count; at++)
        if (pump->slots.slots[at].is_requested)
            zk_take_response(&pump->unpacker, pump->slots.slots + at, &pump->response);
    return true;
}

/* Asks, takes the answer and reads, sometimes without memory: then the run is over as well. */
static bool work(world *self, bool is_short) {
    zk_unpacker *unpacker = &self->pump->unpacker;
    if (is_short)
        begin_shortage(chance(), 1 + below(40));
    bool goes_on = exchange_once(self, below(2) && unpacker->waiting);
    if (goes_on && below(4))
        zk_unpacker_run(unpacker);
    if (is_short && !end_shortage() && unpacker->has_no_memory)
        abort();
    return goes_on && !unpacker->has_no_memory;
}

static void one_turn(world *self) {
    zk_unpacker *unpacker = &self->pump->unpacker;
    if (!work(self, below(6) == 0))
        lend_again(self);
    for (size_t times = below(6); times; times--)
        take_chunk(self, self->queues[below(self->queue_count)]);
    if (below(30) == 0)
        zk_claim_set_active(self->partitions[below(self->partition_count)].claim, false);
    if (unpacker->reclaims || below(6) == 0)
        lend_again(self);
}

void answer_some(void) {
    world self;
    begin_world(&self);
    for (size_t turns = 1 + below(30); turns; turns--)
        one_turn(&self);
    check_end(&self);
    end_world(&self);
}
