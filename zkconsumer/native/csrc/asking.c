#include "asking.h"

#include "batch.h"
#include "order.h"

enum { LIKELY_EXPANSION = 8 };

void zk_note_waiting(zk_slots *slots) {
    for (size_t at = 0; at < slots->outlet_count; at++) {
        zk_outlet *outlet = slots->outlets + at;
        outlet->can_ask_early = outlet->waiting == 0;
        outlet->early_bytes = outlet->early_parts = 0;
    }
}

/* Whether the offsets of a set can be believed; which of them can't, Python finds. */
static bool is_in_order(const zk_slot *slot, const zk_set *set) {
    zk_order place = {0, set->offset, true};
    return zk_offsets_rise(set->bytes->data, set->bytes->used, slot->arriving_high_watermark,
                           &place);
}

static bool is_compressed(const zk_buffer *set) {
    if (set->used < ZK_BATCH_HEAD_BYTES)
        return false;
    return (set->data[set->data[16] == ZK_BATCH_MAGIC ? 22 : 17] & ZK_CODEC_MASK) != 0;
}

/* What may be asked for behind what arrived. */
static size_t grown(const zk_line *line, const zk_slot *slot) {
    const size_t asked = slot->asked_bytes;
    if (!line->limits.grown_bytes || slot->arriving->used < asked - asked / 8)
        return 0;
    const size_t times = is_compressed(slot->arriving) ? LIKELY_EXPANSION + 1 : 2;
    const size_t room = zk_queue_half_share(slot->outlet->queue) / slot->outlet->slots / times;
    const size_t most = room < line->limits.grown_bytes ? room : line->limits.grown_bytes;
    return asked * 2 < most ? asked * 2 : most;
}

static void take_set(zk_line *line, zk_slot *slot, int version) {
    zk_claim_set_high_watermark(slot->claim, slot->arriving_high_watermark);
    slot->is_passed_over = version >= ZK_FETCH_BOUNDED && !slot->arriving &&
                           slot->arriving_high_watermark > slot->asked_offset;
    slot->grown_bytes = slot->arriving ? grown(line, slot) : 0;
    if (!slot->arriving) {
        if (!slot->is_passed_over)
            slot->needed_bytes = 0; /* a message that seemed to need more is not there any more */
        return;
    }
    slot->set = (zk_set){slot->arriving, slot->asked_offset, slot->asked_bytes};
    slot->at = 0;
    slot->arriving = NULL;
    zk_line_enter(line, slot);
    if (!is_in_order(slot, &slot->set)) {
        slot->odd = ZK_ODD_SET;
        line->odd++;
    }
}

static void take_early_set(const zk_line *line, zk_slot *slot) {
    zk_claim_set_high_watermark(slot->claim, slot->arriving_high_watermark);
    const zk_set early = {slot->arriving, slot->asked_offset, slot->asked_bytes};
    if (!is_in_order(slot, &early))
        return; /* it is asked for again when it is its turn */
    slot->grown_bytes = grown(line, slot);
    slot->next = early;
    slot->arriving = NULL;
}

void zk_take_answer(zk_line *line, zk_slot *slot, int version) {
    if (slot->is_answered && !slot->odd && zk_claim_is_active(slot->claim)) {
        const bool is_free = !slot->set.bytes && slot->asked_offset == slot->fetch_offset;
        if (is_free && slot->arriving_error) {
            slot->error_code = slot->arriving_error;
            slot->odd = ZK_ODD_ERROR;
            line->odd++;
        } else if (is_free) {
            take_set(line, slot, version);
        } else if (slot->set.bytes && !slot->next.bytes && slot->arriving) {
            take_early_set(line, slot);
        }
    }
    zk_slot_drop_arriving(slot);
}

static size_t part_of(const zk_asking *asking, const zk_slot *slot) {
    return slot->grown_bytes > asking->part_bytes ? slot->grown_bytes : asking->part_bytes;
}

static bool is_plain(zk_slot *slot) { return !slot->odd && zk_claim_is_active(slot->claim); }

static bool end(const zk_asking *asking, zk_request *request, zk_request_head *head,
                bool is_waiting) {
    head->max_wait_ms = is_waiting || asking->has_others_waiting ? 0 : asking->max_wait_ms;
    return request->topics && zk_request_end(request, head);
}

static zk_slot *slot_from(const zk_slots *slots, size_t first, size_t at) {
    const size_t place = first + at;
    return slots->slots + (place < slots->count ? place : place - slots->count);
}

/* Chooses who stands first: the next of those who were passed over, or else the same as before. */
static size_t choose_first(zk_asking *asking, const zk_slots *slots) {
    if (asking->first >= slots->count)
        asking->first = 0;
    for (size_t at = 1; at <= slots->count; at++) {
        const zk_slot *slot = slot_from(slots, asking->first, at);
        if (slot->is_passed_over) {
            asking->first = (size_t)(slot - slots->slots);
            break;
        }
    }
    return asking->first;
}

bool zk_ask(zk_asking *asking, zk_slots *slots, zk_request *request, zk_request_head *head) {
    bool is_waiting = false;
    const size_t first = choose_first(asking, slots);
    zk_request_begin(request, head);
    for (size_t at = 0; at < slots->count; at++) {
        zk_slot *slot = slot_from(slots, first, at);
        if (!is_plain(slot))
            continue;
        if (slot->set.bytes || slot->outlet->waiting)
            is_waiting = true;
        else
            zk_request_ask(request, slots, slot, slot->fetch_offset, part_of(asking, slot));
    }
    return end(asking, request, head, is_waiting);
}

/* Where each queue has room for what came and what would come; where the slot would go on is noted. */
static void choose_outlets(const zk_asking *asking, zk_line *line) {
    zk_slots *slots = line->slots;
    for (size_t at = 0; at < slots->count; at++) {
        zk_slot *slot = slots->slots + at;
        zk_outlet *outlet = slot->outlet;
        slot->early_offset = -1;
        if (!outlet->can_ask_early || !is_plain(slot))
            continue;
        outlet->early_parts += part_of(asking, slot);
        slot->early_offset = slot->fetch_offset;
        if (slot->set.bytes) {
            const zk_buffer *set = slot->set.bytes;
            const zk_ahead seen = zk_look_ahead(set->data, set->used, slot->fetch_offset);
            const bool fits = seen.is_sound && seen.needed_bytes <= asking->part_bytes;
            slot->early_offset = fits ? seen.next_offset : -1;
            outlet->early_bytes +=
                set->used * (seen.is_compressed ? LIKELY_EXPANSION : 1);
        }
    }
    for (size_t at = 0; at < slots->outlet_count; at++) {
        zk_outlet *outlet = slots->outlets + at;
        const size_t parts = outlet->early_parts;
        outlet->early_bytes += parts < asking->answer_bytes ? parts : asking->answer_bytes;
        outlet->can_ask_early =
            outlet->can_ask_early && outlet->early_bytes &&
            outlet->early_bytes <= zk_queue_room(outlet->queue, line->bell);
    }
}

static bool is_any_early(const zk_slots *slots) {
    for (size_t at = 0; at < slots->count; at++) {
        const zk_slot *slot = slots->slots + at;
        if (slot->set.bytes && slot->early_offset >= 0 && slot->outlet->can_ask_early)
            return true;
    }
    return false;
}

bool zk_ask_early(zk_asking *asking, zk_line *line, zk_request *request,
                  zk_request_head *head) {
    choose_outlets(asking, line);
    zk_slots *slots = line->slots;
    if (!is_any_early(slots))
        return false;
    bool is_waiting = false;
    const size_t first = choose_first(asking, slots);
    zk_request_begin(request, head);
    for (size_t at = 0; at < slots->count; at++) {
        zk_slot *slot = slot_from(slots, first, at);
        if (!is_plain(slot))
            continue;
        const bool is_early = slot->outlet->can_ask_early && slot->early_offset >= 0;
        if (is_early)
            zk_request_ask(request, slots, slot, slot->early_offset, part_of(asking, slot));
        else if (slot->set.bytes || slot->outlet->waiting)
            is_waiting = true;
        else
            zk_request_ask(request, slots, slot, slot->fetch_offset, part_of(asking, slot));
    }
    return end(asking, request, head, is_waiting);
}
