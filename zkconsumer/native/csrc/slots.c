#include "slots.h"

#include <stdlib.h>
#include <string.h>

static uint32_t mix(uint32_t hash) {
    hash ^= hash >> 16;
    hash *= 0x7feb352dU;
    hash ^= hash >> 15;
    hash *= 0x846ca68bU;
    return hash ^ hash >> 16;
}

static uint32_t name_hash(const uint8_t *name, size_t size) {
    uint32_t hash = 2166136261U;
    for (size_t at = 0; at < size; at++)
        hash = (hash ^ name[at]) * 16777619U;
    return mix(hash);
}

static uint32_t slot_hash(uint32_t topic, int32_t partition) {
    return mix(topic * 0x9e3779b9U + (uint32_t)partition);
}

/* A hash table at most half full with `count` entries. */
static uint32_t *new_table(size_t count, size_t *mask) {
    size_t size = 4;
    while (size < count * 2)
        size *= 2;
    *mask = size - 1;
    return calloc(size, sizeof(uint32_t));
}

bool zk_slots_begin(zk_slots *slots, size_t slot_count, size_t topic_count, size_t outlet_count) {
    zk_slots_clear(slots);
    if (slot_count > UINT32_MAX / 4 || topic_count > UINT32_MAX / 4)
        return false;
    slots->slots = calloc(slot_count + 1, sizeof *slots->slots);
    slots->topics = calloc(topic_count + 1, sizeof *slots->topics);
    slots->outlets = calloc(outlet_count + 1, sizeof *slots->outlets);
    slots->by_name = new_table(topic_count, &slots->name_mask);
    slots->by_partition = new_table(slot_count, &slots->partition_mask);
    slots->capacity = slot_count;
    slots->topic_capacity = topic_count;
    slots->outlet_capacity = outlet_count;
    return slots->slots && slots->topics && slots->outlets && slots->by_name &&
           slots->by_partition;
}

bool zk_slots_add_topic(zk_slots *slots, const uint8_t *name, size_t size) {
    if (slots->topic_count == slots->topic_capacity || size > INT16_MAX)
        return false;
    zk_topic *topic = slots->topics + slots->topic_count;
    topic->name = malloc(size + 1);
    if (!topic->name)
        return false;
    memcpy(topic->name, name, size);
    topic->size = (uint32_t)size;
    uint32_t index = name_hash(name, size);
    while (slots->by_name[index & slots->name_mask])
        index++;
    slots->by_name[index & slots->name_mask] = (uint32_t)++slots->topic_count;
    return true;
}

bool zk_slots_add_outlet(zk_slots *slots, zk_queue *queue) {
    if (slots->outlet_count == slots->outlet_capacity)
        return false;
    slots->outlets[slots->outlet_count++] = (zk_outlet){.queue = queue};
    return true;
}

zk_slot *zk_slots_add(zk_slots *slots, size_t outlet, int32_t partition, zk_claim *claim) {
    if (slots->count == slots->capacity || outlet >= slots->outlet_count || !slots->topic_count)
        return NULL;
    const uint32_t topic = (uint32_t)slots->topic_count - 1;
    zk_slot *slot = slots->slots + slots->count;
    *slot = (zk_slot){.claim = zk_claim_share(claim),
                      .outlet = slots->outlets + outlet,
                      .topic = topic,
                      .partition = partition,
                      .until_offset = -1,
                      .leader_epoch = -1};
    slot->outlet->slots++;
    uint32_t index = slot_hash(topic, partition);
    while (slots->by_partition[index & slots->partition_mask])
        index++;
    slots->by_partition[index & slots->partition_mask] = (uint32_t)++slots->count;
    return slot;
}

int64_t zk_slots_topic(const zk_slots *slots, const uint8_t *name, size_t size) {
    if (!slots->topic_count)
        return -1;
    for (uint32_t index = name_hash(name, size);; index++) {
        const uint32_t number = slots->by_name[index & slots->name_mask];
        if (!number)
            return -1;
        const zk_topic *topic = slots->topics + number - 1;
        if (topic->size == size && memcmp(topic->name, name, size) == 0)
            return number - 1;
    }
}

zk_slot *zk_slots_find(const zk_slots *slots, int64_t topic, int32_t partition) {
    if (topic < 0 || !slots->count)
        return NULL;
    for (uint32_t index = slot_hash((uint32_t)topic, partition);; index++) {
        const uint32_t number = slots->by_partition[index & slots->partition_mask];
        if (!number)
            return NULL;
        zk_slot *slot = slots->slots + number - 1;
        if (slot->topic == topic && slot->partition == partition)
            return slot;
    }
}

bool zk_slot_is_complete(const zk_slot *slot) {
    /* The headers of a set that was loaded are unknown, and end at 0. */
    const zk_set *last = slot->next.bytes ? &slot->next : &slot->set;
    return zk_slot_is_at_end(slot) || (last->bytes && zk_slot_ends_by(slot, last->headers.low));
}

void zk_slot_drop_read(zk_slot *slot) {
    zk_chunk_free(slot->chunk);
    slot->chunk = NULL;
    if (slot->outlet->first == slot)
        slot->outlet->first = NULL;
    zk_runs_free(&slot->runs);
    slot->runs_taken = 0;
    slot->is_read = false;
}

void zk_slot_drop_set(zk_slot *slot) {
    zk_slot_drop_read(slot);
    zk_buffer_drop(slot->set.bytes);
    slot->set = (zk_set){0};
    slot->at = 0;
}

void zk_slot_drop_arriving(zk_slot *slot) {
    zk_buffer_drop(slot->arriving);
    slot->arriving = NULL;
    slot->is_requested = slot->has_response = false;
}

void zk_slots_clear(zk_slots *slots) {
    for (size_t at = 0; at < slots->count; at++) {
        zk_slot *slot = slots->slots + at;
        zk_slot_drop_set(slot);
        zk_slot_drop_arriving(slot);
        zk_buffer_drop(slot->next.bytes);
        zk_claim_drop(slot->claim);
    }
    for (size_t at = 0; at < slots->topic_count; at++)
        free(slots->topics[at].name);
    free(slots->slots);
    free(slots->topics);
    free(slots->outlets);
    free(slots->by_name);
    free(slots->by_partition);
    *slots = (zk_slots){0};
}
