#include "unpack.h"

#include "batches.h"

enum {
    PIECE_BYTES = 1 << 20, /* how large chunks of decompressed messages become */
    SMALL_BYTES = 4096,    /* what is held for nothing is not worth a copy below that */
    NO_ENTRY_BYTES = ZK_ENTRY_HEADER_BYTES - 1,
};

static void stand(zk_line *line, zk_slot *slot) {
    slot->next_waiting = NULL;
    if (line->last)
        line->last->next_waiting = slot;
    else
        line->first = slot;
    line->last = slot;
    line->waiting++;
}

void zk_line_enter(zk_line *line, zk_slot *slot) {
    slot->outlet->waiting++;
    stand(line, slot);
}

static zk_slot *next_in_line(zk_line *line) {
    zk_slot *slot = line->first;
    line->first = slot->next_waiting;
    if (!line->first)
        line->last = NULL;
    line->waiting--;
    return slot;
}

static void become_odd(zk_line *line, zk_slot *slot, zk_odd odd) {
    slot->odd = odd;
    line->odd++;
}

/* Takes the set that came early, if it begins where the one before ended. */
static void take_next(zk_slot *slot) {
    zk_slot_drop_set(slot);
    if (slot->next.bytes && slot->next.offset == slot->fetch_offset && !slot->odd)
        slot->set = slot->next;
    else
        zk_buffer_drop(slot->next.bytes);
    slot->next = (zk_set){0};
}

/* How large the entry is that is cut off at the end of a set; 0: there is none.
 * Source: `records.entries.cut_off_entry`. */
static size_t cut_off_bytes(const zk_set *set, size_t at) {
    if (set->bytes->used - at <= NO_ENTRY_BYTES)
        return 0;
    const int32_t size = zk_int32(set->bytes->data + at + 8);
    return size < ZK_MIN_ENTRY_SIZE ? 0 : ZK_ENTRY_HEADER_BYTES + (size_t)size;
}

/* All of the set that can be read is in the queue. */
static void end_set(zk_line *line, zk_slot *slot) {
    const size_t cut_off = cut_off_bytes(&slot->set, slot->at);
    slot->needed_bytes = cut_off <= line->limits.growth_max_bytes ? cut_off : 0;
    take_next(slot);
    if (!slot->set.bytes && slot->needed_bytes > line->limits.part_bytes)
        become_odd(line, slot, ZK_ODD_TO_FIT);
}

/* Reads on in the set. */
static void read_on(zk_line *line, zk_slot *slot, size_t room) {
    const zk_set_limits limits = {
        .fetch_offset = slot->fetch_offset,
        .bound_bytes = line->limits.max_decompressed_bytes,
        .enough_bytes = room < PIECE_BYTES ? room : PIECE_BYTES,
        .piece_bytes = PIECE_BYTES,
    };
    const zk_set_result result = zk_read_set(slot->set.bytes, slot->at, &limits, &slot->runs);
    slot->is_read = true;
    slot->runs_taken = 0;
    slot->read_to = result.position;
    slot->read_next = result.next_offset;
    slot->read_status = result.status;
    line->has_no_memory |= result.status == ZK_SET_NO_MEMORY;
}

/* Takes runs for one chunk: all that lie in the set itself, or a piece of what was decompressed. */
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

/* Makes the next chunk of what was read, or false where there is none. */
static bool make_chunk(zk_line *line, zk_slot *slot) {
    if (slot->runs_taken == slot->runs.count && slot->fetch_offset >= slot->read_next)
        return false;
    zk_runs taken = {0};
    const size_t before = slot->runs_taken;
    if (take_runs(slot, &taken)) {
        const bool is_last = slot->runs_taken == slot->runs.count;
        const int64_t next_offset =
            is_last ? slot->read_next : zk_behind(taken.items[taken.count - 1].last_offset);
        slot->chunk = zk_chunk_new(slot->claim, slot->fetch_offset, next_offset, &taken);
    }
    if (slot->chunk)
        return true;
    zk_runs_free(&taken);
    slot->runs_taken = before;
    line->has_no_memory = true;
    return false;
}

/* Gives the queue the chunk. False: no room; what is left of it stays, and holds the others up. */
static bool put(zk_line *line, zk_slot *slot) {
    zk_outlet *outlet = slot->outlet;
    zk_chunk *chunk = slot->chunk;
    const int64_t next_offset = chunk->next_offset;
    size_t records = 0;
    for (size_t at = 0; at < chunk->runs.count; at++)
        records += chunk->runs.items[at].count;
    slot->chunk = NULL;
    if (zk_queue_put(outlet->queue, chunk, line->bell)) {
        slot->fetch_offset = next_offset;
        line->records += records;
        outlet->first = NULL;
        return true;
    }
    slot->chunk = chunk;
    if (chunk->fetch_offset > slot->fetch_offset)
        slot->fetch_offset = chunk->fetch_offset; /* its front is in */
    for (size_t at = 0; at < chunk->runs.count; at++)
        records -= chunk->runs.items[at].count;
    line->records += records;
    outlet->first = slot;
    outlet->is_full = true;
    return false;
}

/* All that was read is in the queue. */
static void end_reading(zk_line *line, zk_slot *slot) {
    const zk_set_status status = slot->read_status;
    slot->at = slot->read_to;
    zk_slot_drop_read(slot);
    if (status == ZK_SET_FULL)
        return;
    if (status == ZK_SET_REFUSED || slot->fetch_offset == slot->set.offset)
        become_odd(line, slot, ZK_ODD_SET); /* the latter: nothing whole is in it */
    else
        end_set(line, slot);
}

static bool is_at_work(const zk_line *line) {
    return !line->has_no_memory && !atomic_load(line->stopping);
}

/* One turn of a slot whose queue has room. It ends when all that it read is in the queue, or the queue
 * is full: else each slot in the line could hold a decompressed set. */
static void have_turn(zk_line *line, zk_slot *slot, size_t room) {
    slot->turn = ++line->turns;
    if (!slot->is_read)
        read_on(line, slot, room);
    if (line->has_no_memory)
        return;
    while (slot->chunk || make_chunk(line, slot))
        if (!put(line, slot) || !is_at_work(line))
            return;
    if (!line->has_no_memory)
        end_reading(line, slot);
}

/* Whether a slot has something for its queue that this has room for. */
static bool has_room(zk_line *line, zk_slot *slot, size_t *room) {
    zk_outlet *outlet = slot->outlet;
    if (outlet->is_full || (outlet->first && outlet->first != slot))
        return false;
    *room = slot->chunk ? PIECE_BYTES : zk_queue_room(outlet->queue, line->bell);
    outlet->is_full = *room == 0;
    return *room > 0;
}

static void give_up(zk_slot *slot) {
    zk_slot_drop_set(slot);
    zk_buffer_drop(slot->next.bytes);
    slot->next = (zk_set){0};
}

/* A turn for each of those who stand in line now; those who had it go behind those who had not.
 * True if there was one. */
static bool pass(zk_line *line) {
    zk_slot *after = NULL, **end = &after; /* who had a turn */
    size_t moved = 0;
    for (size_t left = line->waiting; left; left--) {
        zk_slot *slot = next_in_line(line);
        size_t room = 0;
        const bool is_active = zk_claim_is_active(slot->claim);
        const bool moves = is_active && !slot->odd && is_at_work(line) && has_room(line, slot, &room);
        if (moves)
            have_turn(line, slot, room);
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
            stand(line, slot);
        }
    }
    while (after) {
        zk_slot *slot = after;
        after = slot->next_waiting;
        stand(line, slot);
    }
    return moved > 0;
}

void zk_line_unpack(zk_line *line) {
    for (size_t at = 0; at < line->slots->outlet_count; at++)
        line->slots->outlets[at].is_full = false;
    while (line->waiting && pass(line))
        ;
}
