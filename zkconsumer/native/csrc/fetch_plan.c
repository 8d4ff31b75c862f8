#include "fetch_plan.h"

#include "batch.h"
#include "sink.h"

enum { LIKELY_EXPANSION = 8 };

/* As _LEAST_BYTES and _MARGIN of `fetch.ranges`. */
enum { LEAST_BYTES = 64 * 1024 };
static const double MARGIN = 1.25;

void zk_note_waiting(zk_slots *slots) {
    for (size_t at = 0; at < slots->outlet_count; at++) {
        zk_outlet *outlet = slots->outlets + at;
        outlet->can_request_early = outlet->waiting == 0;
        outlet->early_bytes = outlet->early_parts = 0;
    }
}

/* Returns whether a set's offsets ascend and lie below the high watermark; if not, Python finds the
 * entry at fault. If those in front of it reach the slot's end, the set is truncated there: the entries
 * that follow could pass for some in front of the end. */
static bool is_in_order(const zk_slot *slot, zk_set *set) {
    set->headers = (zk_order){.low = set->offset, .is_first = true};
    if (zk_offsets_rise(set->bytes->data, set->bytes->used, slot->arriving_high_watermark,
                        &set->headers))
        return true;
    if (!zk_slot_ends_by(slot, set->headers.low))
        return false;
    set->bytes->used = set->headers.position;
    return true;
}

/* Records how many bytes an offset takes in the log. */
static void learn(zk_slot *slot, const zk_set *set) {
    const zk_order *end = &set->headers;
    if (end->position && end->low > set->offset)
        slot->bytes_per_offset =
            (double)end->position / (double)((uint64_t)end->low - (uint64_t)set->offset);
}

static bool is_compressed(const zk_set *set) { return set->headers.codecs >> 1 != 0; }

/* The offset after a set that has just arrived; -1 if its headers do not show it, or if the next entry
 * needs more than a part. */
static int64_t offset_after(const zk_set *set, size_t part_bytes) {
    const zk_order *end = &set->headers;
    const size_t cut_off = zk_cut_off_bytes(set->bytes->data, set->bytes->used, end->position);
    const bool is_sound = end->position && zk_can_decompress_all(end->codecs);
    return is_sound && cut_off <= part_bytes ? end->low : -1;
}

/* Returns whether a set has most of what was requested: then there is probably more. */
static bool is_filled(const zk_set *set) {
    return set->bytes->used >= set->requested_bytes - set->requested_bytes / 8;
}

/* The max_bytes of the request after what arrived. */
static size_t grown(const zk_unpacker *unpacker, const zk_slot *slot, const zk_set *set) {
    const size_t requested = set->requested_bytes;
    if (unpacker->is_slow || !unpacker->limits.grown_bytes || !is_filled(set))
        return 0;
    const size_t times = is_compressed(set) ? LIKELY_EXPANSION + 1 : 2;
    const size_t share_bytes = zk_queue_half_share(slot->outlet->queue) / slot->outlet->slots / times;
    const size_t limit = unpacker->limits.grown_bytes;
    const size_t most = share_bytes < limit ? share_bytes : limit;
    return requested * 2 < most ? requested * 2 : most;
}

static bool can_fetch(zk_slot *slot) { return !slot->reclaim && zk_claim_is_active(slot->claim); }

static void reclaim(zk_unpacker *unpacker, zk_slot *slot, zk_reclaim reason) {
    slot->reclaim = reason;
    unpacker->reclaims++;
}

static zk_set arrived(const zk_slot *slot) {
    return (zk_set){.bytes = slot->arriving,
                    .offset = slot->requested_offset,
                    .requested_bytes = slot->requested_bytes};
}

/* Takes where the log ends and begins. */
static void take_bounds(zk_slot *slot) {
    zk_claim_set_high_watermark(slot->claim, slot->arriving_high_watermark);
    zk_claim_set_log_start(slot->claim, slot->arriving_log_start);
}

static void take_set(zk_unpacker *unpacker, zk_slot *slot, int version) {
    take_bounds(slot);
    slot->is_passed_over = version >= ZK_FETCH_BOUNDED && !slot->arriving &&
                           slot->arriving_high_watermark > slot->requested_offset &&
                           !slot->names_replica;
    /* Before an end it may be a gap of a compacted log, which Python judges. */
    slot->is_behind = slot->is_passed_over && slot->until_offset < 0;
    slot->grown_bytes = 0;
    if (!slot->arriving) {
        if (!slot->is_passed_over)
            slot->needed_bytes = 0; /* the message that needed more is no longer there */
        return;
    }
    slot->set = arrived(slot);
    slot->at = 0;
    slot->arriving = NULL;
    zk_unpacker_add(unpacker, slot);
    slot->is_behind = is_filled(&slot->set); /* as it arrived: it may be cut off */
    if (is_in_order(slot, &slot->set))
        learn(slot, &slot->set);
    else
        reclaim(unpacker, slot, ZK_RECLAIM_SET);
    slot->grown_bytes = grown(unpacker, slot, &slot->set);
}

static void take_early_set(const zk_unpacker *unpacker, zk_slot *slot) {
    take_bounds(slot);
    zk_set early = arrived(slot);
    const bool is_behind = is_filled(&early);
    if (!is_in_order(slot, &early))
        return; /* it will be requested again in its turn */
    learn(slot, &early);
    slot->is_behind = is_behind;
    slot->grown_bytes = grown(unpacker, slot, &early);
    slot->next = early;
    slot->arriving = NULL;
}

void zk_take_response(zk_unpacker *unpacker, zk_slot *slot, const zk_response *response) {
    if (slot->is_requested && can_fetch(slot)) {
        const bool is_free = !slot->set.bytes && slot->requested_offset == slot->fetch_offset;
        if (!slot->has_response) {
            if (is_free && !zk_response_is_pause(response))
                reclaim(unpacker, slot, ZK_RECLAIM_LEFT_OUT);
        } else if (is_free && slot->arriving_error) {
            slot->error_code = slot->arriving_error;
            reclaim(unpacker, slot, ZK_RECLAIM_ERROR);
        } else if (is_free) {
            take_set(unpacker, slot, response->version);
        } else if (slot->set.bytes && !slot->next.bytes && slot->arriving) {
            take_early_set(unpacker, slot);
        }
    }
    zk_slot_drop_arriving(slot);
}

/* The size of the entry after all that arrived; 0: unknown. */
static size_t next_entry_bytes(const zk_slot *slot) {
    const zk_set *set = &slot->set;
    if (!set->bytes)
        return slot->needed_bytes;
    return zk_cut_off_bytes(set->bytes->data, set->bytes->used, set->headers.position);
}

/* About how many bytes are left of a slot's range from an offset on. */
static double left_bytes(const zk_slot *slot, int64_t offset) {
    if (zk_slot_ends_by(slot, offset))
        return 0;
    const uint64_t left = (uint64_t)slot->until_offset - (uint64_t)offset; /* offsets are hostile */
    return (double)left * slot->bytes_per_offset * MARGIN;
}

/* The max_bytes of a request of a slot from an offset on. */
static size_t part_of(const zk_fetch_plan *plan, const zk_slot *slot, int64_t offset) {
    const size_t part = slot->grown_bytes > plan->part_bytes ? slot->grown_bytes : plan->part_bytes;
    if (slot->until_offset < 0 || slot->bytes_per_offset <= 0)
        return part;
    const double expected = left_bytes(slot, offset) + LEAST_BYTES;
    const size_t needed = next_entry_bytes(slot);
    const size_t size = expected < (double)part ? (size_t)expected : part;
    return size > needed ? size : needed < part ? needed : part;
}

static zk_slot *slot_from(const zk_slots *slots, size_t first, size_t at) {
    const size_t index = first + at;
    return slots->slots + (index < slots->count ? index : index - slots->count);
}

/* Chooses the first slot: the next one that was passed over, else the same as before. */
static size_t choose_first(zk_fetch_plan *plan, const zk_slots *slots) {
    if (plan->first >= slots->count)
        plan->first = 0;
    for (size_t at = 1; at <= slots->count; at++) {
        const zk_slot *slot = slot_from(slots, plan->first, at);
        if (slot->is_passed_over) {
            plan->first = (size_t)(slot - slots->slots);
            break;
        }
    }
    return plan->first;
}

/* Finds the queues with capacity for the arrived sets and the next ones, and each slot's early offset. */
static void choose_outlets(const zk_fetch_plan *plan, zk_unpacker *unpacker) {
    zk_slots *slots = unpacker->slots;
    for (size_t at = 0; at < slots->count; at++) {
        zk_slot *slot = slots->slots + at;
        zk_outlet *outlet = slot->outlet;
        slot->early_offset = -1;
        if (!outlet->can_request_early || !can_fetch(slot))
            continue;
        if (slot->set.bytes)
            outlet->early_bytes +=
                slot->set.bytes->used * (is_compressed(&slot->set) ? LIKELY_EXPANSION : 1);
        if (zk_slot_is_complete(slot))
            continue;
        slot->early_offset = slot->fetch_offset;
        if (slot->set.bytes)
            slot->early_offset = offset_after(&slot->set, plan->part_bytes);
        outlet->early_parts += part_of(plan, slot, slot->early_offset);
    }
    for (size_t at = 0; at < slots->outlet_count; at++) {
        zk_outlet *outlet = slots->outlets + at;
        const size_t parts = outlet->early_parts;
        outlet->early_bytes += parts < plan->response_bytes ? parts : plan->response_bytes;
        outlet->can_request_early =
            outlet->can_request_early && outlet->early_bytes &&
            outlet->early_bytes <= zk_queue_free_bytes(outlet->queue, unpacker->wakeup);
    }
}

static bool is_any_early(const zk_slots *slots) {
    for (size_t at = 0; at < slots->count; at++) {
        const zk_slot *slot = slots->slots + at;
        if (slot->set.bytes && slot->early_offset >= 0 && slot->outlet->can_request_early)
            return true;
    }
    return false;
}

static void add(const zk_fetch_plan *plan, zk_request *request, const zk_slots *slots, zk_slot *slot,
                int64_t offset) {
    zk_request_add(request, slots, slot, offset, part_of(plan, slot, offset));
}

/* Builds a request; one that `may_be_early` continues after sets that are not in their queues yet. */
static bool build(zk_fetch_plan *plan, zk_slots *slots, bool may_be_early, zk_request *request,
                  zk_request_head *head) {
    bool is_waiting = plan->has_others_waiting;
    const size_t first = choose_first(plan, slots);
    zk_request_begin(request, head);
    for (size_t at = 0; at < slots->count; at++) {
        zk_slot *slot = slot_from(slots, first, at);
        if (!can_fetch(slot) || zk_slot_is_complete(slot))
            continue;
        if (may_be_early && slot->outlet->can_request_early && slot->early_offset >= 0)
            add(plan, request, slots, slot, slot->early_offset);
        else if (slot->set.bytes || slot->outlet->waiting)
            is_waiting = true;
        else
            add(plan, request, slots, slot, slot->fetch_offset);
    }
    head->max_wait_ms = is_waiting ? 0 : plan->max_wait_ms;
    return request->topics && zk_request_end(request, head);
}

bool zk_plan_request(zk_fetch_plan *plan, zk_slots *slots, zk_request *request, zk_request_head *head) {
    return build(plan, slots, false, request, head);
}

bool zk_plan_early_request(zk_fetch_plan *plan, zk_unpacker *unpacker, zk_request *request,
                           zk_request_head *head) {
    choose_outlets(plan, unpacker);
    return is_any_early(unpacker->slots) && build(plan, unpacker->slots, true, request, head);
}
