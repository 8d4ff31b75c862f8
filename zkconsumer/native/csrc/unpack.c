#include "unpack.h"

#include "batches.h"

enum {
    PIECE_BYTES = 1 << 20, /* size of chunks of decompressed messages */
    SMALL_BYTES = 4096,    /* wasted bytes below this are not worth a copy */
};

static void push_waiting(zk_unpacker *unpacker, zk_slot *slot) {
    slot->next_waiting = NULL;
    if (unpacker->last)
        unpacker->last->next_waiting = slot;
    else
        unpacker->first = slot;
    unpacker->last = slot;
    unpacker->waiting++;
}

void zk_unpacker_add(zk_unpacker *unpacker, zk_slot *slot) {
    slot->outlet->waiting++;
    push_waiting(unpacker, slot);
}

static zk_slot *pop_waiting(zk_unpacker *unpacker) {
    zk_slot *slot = unpacker->first;
    unpacker->first = slot->next_waiting;
    if (!unpacker->first)
        unpacker->last = NULL;
    unpacker->waiting--;
    return slot;
}

static void reclaim(zk_unpacker *unpacker, zk_slot *slot, zk_reclaim reason) {
    slot->reclaim = reason;
    unpacker->reclaims++;
}

/* Continues with the early set, if it begins where the last one ended. */
static void take_next(zk_slot *slot) {
    zk_slot_drop_set(slot);
    if (slot->next.bytes && slot->next.offset == slot->fetch_offset && !slot->reclaim)
        slot->set = slot->next;
    else
        zk_buffer_drop(slot->next.bytes);
    slot->next = (zk_set){0};
}

/* Ends a set whose readable records are all queued. */
static void end_set(zk_unpacker *unpacker, zk_slot *slot) {
    const size_t cut_off = zk_cut_off_bytes(slot->set.bytes->data, slot->set.bytes->used, slot->at);
    slot->needed_bytes = cut_off <= unpacker->limits.growth_max_bytes ? cut_off : 0;
    take_next(slot);
    if (!slot->set.bytes && slot->needed_bytes > unpacker->limits.part_bytes)
        reclaim(unpacker, slot, ZK_RECLAIM_TOO_LARGE);
}

/* Reads more of the set. */
static void read_on(zk_unpacker *unpacker, zk_slot *slot, size_t free_bytes) {
    const zk_set_limits limits = {
        .fetch_offset = slot->fetch_offset,
        .bound_bytes = unpacker->limits.max_decompressed_bytes,
        .enough_bytes = free_bytes < PIECE_BYTES ? free_bytes : PIECE_BYTES,
        .piece_bytes = PIECE_BYTES,
    };
    const zk_set_result result = zk_read_set(slot->set.bytes, slot->at, &limits, &slot->runs);
    slot->is_read = true;
    slot->runs_taken = 0;
    slot->read_to = result.position;
    slot->read_next = result.next_offset;
    slot->read_epoch = result.leader_epoch;
    slot->read_status = result.status;
    unpacker->has_no_memory |= result.status == ZK_SET_NO_MEMORY;
}

/* Takes the runs of one chunk: those in the set itself, or a piece of decompressed ones. */
static bool take_runs(zk_slot *slot, zk_runs *taken) {
    const zk_buffer *buffer = NULL;
    size_t size = 0;
    for (; slot->runs_taken < slot->runs.count; slot->runs_taken++) {
        const zk_run *run = slot->runs.items + slot->runs_taken;
        const bool is_more = run->buffer != buffer || run->buffer != slot->set.bytes;
        if (size && is_more && size + run->size > PIECE_BYTES)
            break;
        if (!zk_runs_add(taken, run, 0))
            return false;
        buffer = run->buffer;
        size += run->size;
    }
    return zk_runs_charge(taken) <= size * 2 + SMALL_BYTES || zk_runs_settle(taken);
}

/* Makes the next chunk of the runs; false: there is none. */
static bool make_chunk(zk_unpacker *unpacker, zk_slot *slot) {
    if (slot->runs_taken == slot->runs.count && slot->fetch_offset >= slot->read_next)
        return false;
    zk_runs taken = {0};
    const size_t before = slot->runs_taken;
    if (take_runs(slot, &taken)) {
        const bool is_last = slot->runs_taken == slot->runs.count;
        const int64_t next_offset =
            is_last ? slot->read_next : zk_behind(taken.items[taken.count - 1].last_offset);
        slot->chunk = zk_chunk_new(slot->claim, slot->fetch_offset, next_offset, &taken);
        if (slot->chunk && is_last)
            slot->chunk->leader_epoch = slot->read_epoch;
    }
    if (slot->chunk)
        return true;
    zk_runs_free(&taken);
    slot->runs_taken = before;
    unpacker->has_no_memory = true;
    return false;
}

/* Puts the chunk into the queue. False: it is full; the rest of the chunk stays, and blocks the other slots. */
static bool put(zk_unpacker *unpacker, zk_slot *slot) {
    zk_outlet *outlet = slot->outlet;
    zk_chunk *chunk = slot->chunk;
    const int64_t next_offset = chunk->next_offset;
    size_t records = 0;
    for (size_t at = 0; at < chunk->runs.count; at++)
        records += chunk->runs.items[at].count;
    slot->chunk = NULL;
    if (zk_queue_put(outlet->queue, chunk, unpacker->wakeup)) {
        slot->fetch_offset = next_offset;
        unpacker->records += records;
        outlet->first = NULL;
        return true;
    }
    slot->chunk = chunk;
    if (chunk->fetch_offset > slot->fetch_offset)
        slot->fetch_offset = chunk->fetch_offset; /* its front is in */
    for (size_t at = 0; at < chunk->runs.count; at++)
        records -= chunk->runs.items[at].count;
    unpacker->records += records;
    outlet->first = slot;
    outlet->is_full = true;
    return false;
}

/* Returns whether the set has no whole entry only because a part was sized to what is left of a range. */
static bool is_cut_short(const zk_unpacker *unpacker, const zk_slot *slot) {
    const zk_set *set = &slot->set;
    const size_t cut_off = zk_cut_off_bytes(set->bytes->data, set->bytes->used, slot->at);
    return slot->until_offset >= 0 && cut_off > set->requested_bytes &&
           cut_off <= unpacker->limits.part_bytes && cut_off <= unpacker->limits.growth_max_bytes;
}

/* Ends a reading whose records are all queued. */
static void end_reading(zk_unpacker *unpacker, zk_slot *slot) {
    const zk_set_status status = slot->read_status;
    slot->at = slot->read_to;
    zk_slot_drop_read(slot);
    if (status == ZK_SET_FULL)
        return;
    const bool is_without_entry = slot->fetch_offset == slot->set.offset;
    if (status == ZK_SET_REFUSED || (is_without_entry && !is_cut_short(unpacker, slot)))
        reclaim(unpacker, slot, ZK_RECLAIM_SET);
    else
        end_set(unpacker, slot);
}

static bool is_at_work(const zk_unpacker *unpacker) {
    return !unpacker->has_no_memory && !atomic_load(unpacker->stopping);
}

/* One turn of a slot whose queue has capacity. It ends when all records it read are queued, the slot is at
 * its end, or the queue is full: otherwise each waiting slot could hold a decompressed set. */
static void have_turn(zk_unpacker *unpacker, zk_slot *slot, size_t free_bytes) {
    slot->turn = ++unpacker->turns;
    if (!slot->is_read)
        read_on(unpacker, slot, free_bytes);
    if (unpacker->has_no_memory)
        return;
    while (slot->chunk || make_chunk(unpacker, slot))
        if (!put(unpacker, slot) || zk_slot_is_at_end(slot) || !is_at_work(unpacker))
            return;
    if (!unpacker->has_no_memory)
        end_reading(unpacker, slot);
}

/* Returns whether the slot's queue has capacity for its next chunk. */
static bool has_capacity(zk_unpacker *unpacker, zk_slot *slot, size_t *free_bytes) {
    zk_outlet *outlet = slot->outlet;
    if (outlet->is_full || (outlet->first && outlet->first != slot))
        return false;
    *free_bytes = slot->chunk ? PIECE_BYTES : zk_queue_free_bytes(outlet->queue, unpacker->wakeup);
    outlet->is_full = *free_bytes == 0;
    return *free_bytes > 0;
}

static void give_up(zk_slot *slot) {
    zk_slot_drop_set(slot);
    zk_buffer_drop(slot->next.bytes);
    slot->next = (zk_set){0};
}

/* Ends the reading of a slot that is at its end: it needs nothing of what follows. */
static void end_range(zk_unpacker *unpacker, zk_slot *slot) {
    give_up(slot);
    slot->is_behind = false;
    slot->needed_bytes = 0;
    unpacker->has_ended = true;
}

/* Gives each waiting slot a turn; those that had one follow those that had not. True if any had. */
static bool pass(zk_unpacker *unpacker) {
    zk_slot *after = NULL, **end = &after; /* those that had a turn */
    size_t moved = 0;
    for (size_t left = unpacker->waiting; left; left--) {
        zk_slot *slot = pop_waiting(unpacker);
        size_t free_bytes = 0;
        const bool is_active = zk_claim_is_active(slot->claim);
        /* One may have been loaded with a set although it is at its end. */
        const bool moves = is_active && !zk_slot_is_at_end(slot) && !slot->reclaim &&
                           is_at_work(unpacker) && has_capacity(unpacker, slot, &free_bytes);
        if (moves)
            have_turn(unpacker, slot, free_bytes);
        if (zk_slot_is_at_end(slot))
            end_range(unpacker, slot);
        else if (!is_active)
            give_up(slot);
        moved += moves;
        if (!slot->set.bytes) {
            slot->outlet->waiting--;
        } else if (moves) {
            slot->next_waiting = NULL;
            *end = slot;
            end = &slot->next_waiting;
        } else {
            push_waiting(unpacker, slot);
        }
    }
    while (after) {
        zk_slot *slot = after;
        after = slot->next_waiting;
        push_waiting(unpacker, slot);
    }
    return moved > 0;
}

void zk_unpacker_run(zk_unpacker *unpacker) {
    for (size_t at = 0; at < unpacker->slots->outlet_count; at++)
        unpacker->slots->outlets[at].is_full = false;
    while (unpacker->waiting && pass(unpacker))
        ;
}
