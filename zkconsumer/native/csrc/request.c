#include "request.h"

#include <stdlib.h>
#include <string.h>

enum { FETCH = 1, CONSUMER = -1, NO_SESSION = 0, SESSIONLESS_EPOCH = -1, NOT_KNOWN = -1 };

static bool reserve(zk_request *request, size_t size) {
    if (request->has_failed)
        return false;
    if (request->size + size <= request->capacity)
        return true;
    const size_t capacity = (request->size + size) * 2;
    uint8_t *data = realloc(request->data, capacity);
    if (!data) {
        request->has_failed = true;
        return false;
    }
    request->data = data;
    request->capacity = capacity;
    return true;
}

static void set_number(uint8_t *at, uint64_t value, size_t size) {
    for (size_t byte = 0; byte < size; byte++)
        at[byte] = (uint8_t)(value >> (8 * (size - 1 - byte)));
}

static void add_number(zk_request *request, uint64_t value, size_t size) {
    if (!reserve(request, size))
        return;
    set_number(request->data + request->size, value, size);
    request->size += size;
}

static void add_bytes(zk_request *request, const uint8_t *bytes, size_t size) {
    if (size && reserve(request, size)) {
        memcpy(request->data + request->size, bytes, size);
        request->size += size;
    }
}

static void add_text(zk_request *request, const uint8_t *text, size_t size) {
    add_number(request, size, 2);
    add_bytes(request, text, size);
}

static bool has(const zk_request *request, int version) { return request->version >= version; }

static void add_varint(zk_request *request, size_t value) {
    for (; value >= 0x80; value >>= 7)
        add_number(request, (value & 0x7F) | 0x80, 1);
    add_number(request, value, 1);
}

static void add_no_tags(zk_request *request) {
    if (has(request, ZK_FETCH_FLEXIBLE))
        add_varint(request, 0);
}

/* A string, with the length prefix of the version. */
static void add_sized(zk_request *request, const uint8_t *text, size_t size) {
    if (!has(request, ZK_FETCH_FLEXIBLE)) {
        add_text(request, text, size);
        return;
    }
    add_varint(request, size + 1);
    add_bytes(request, text, size);
}

/* Reserves space for a number that is filled in later; returns its position. */
static size_t add_placeholder(zk_request *request, size_t size) {
    const size_t at = request->size;
    add_number(request, 0, size);
    return at;
}

static size_t add_count_placeholder(zk_request *request) {
    return add_placeholder(request, has(request, ZK_FETCH_FLEXIBLE) ? 1 : 4);
}

/* Fills in a count; a compact one moves what follows it. */
static void set_count(zk_request *request, size_t at, size_t count) {
    if (request->has_failed)
        return;
    if (!has(request, ZK_FETCH_FLEXIBLE)) {
        set_number(request->data + at, count, 4);
        return;
    }
    const size_t behind = at + 1, end = request->size;
    size_t more = 0;
    for (size_t rest = (count + 1) >> 7; rest; rest >>= 7)
        more++;
    if (!reserve(request, more))
        return;
    memmove(request->data + behind + more, request->data + behind, end - behind);
    request->size = at;
    add_varint(request, count + 1);
    request->size = end + more;
}

void zk_request_begin(zk_request *request, const zk_request_head *head) {
    *request = (zk_request){
        .data = request->data, .capacity = request->capacity, .version = head->version};
    add_placeholder(request, 4); /* the length */
    add_number(request, FETCH, 2);
    add_number(request, (uint64_t)head->version, 2);
    add_number(request, (uint32_t)head->correlation_id, 4);
    add_text(request, head->client_id, head->client_id_bytes);
    add_no_tags(request);
    add_number(request, (uint32_t)CONSUMER, 4);
    request->wait_at = add_placeholder(request, 4);
    add_number(request, (uint32_t)head->min_bytes, 4);
    if (has(request, ZK_FETCH_BOUNDED))
        add_number(request, (uint32_t)head->max_bytes, 4);
    if (has(request, ZK_FETCH_TRANSACTIONS))
        add_number(request, 0, 1); /* READ_UNCOMMITTED */
    if (has(request, ZK_FETCH_SESSIONS)) {
        add_number(request, NO_SESSION, 4);
        add_number(request, (uint32_t)SESSIONLESS_EPOCH, 4);
    }
    request->topics_at = add_count_placeholder(request);
}

static void end_topic(zk_request *request) {
    if (!request->topics)
        return;
    set_count(request, request->partitions_at, request->partitions);
    add_no_tags(request);
}

static void begin_topic(zk_request *request, const zk_slots *slots, uint32_t topic) {
    end_topic(request);
    if (has(request, ZK_FETCH_TOPIC_IDS))
        add_bytes(request, slots->topics[topic].name, slots->topics[topic].size);
    else
        add_sized(request, slots->topics[topic].name, slots->topics[topic].size);
    request->partitions_at = add_count_placeholder(request);
    request->partitions = 0;
    request->topic = topic;
    request->topics++;
}

void zk_request_add(zk_request *request, const zk_slots *slots, zk_slot *slot, int64_t offset,
                    size_t max_bytes) {
    if (!request->topics || request->topic != slot->topic)
        begin_topic(request, slots, slot->topic);
    add_number(request, (uint32_t)slot->partition, 4);
    if (has(request, ZK_FETCH_EPOCHS))
        add_number(request, (uint32_t)slot->leader_epoch, 4);
    add_number(request, (uint64_t)offset, 8);
    if (has(request, ZK_FETCH_FLEXIBLE))
        add_number(request, (uint32_t)NOT_KNOWN, 4); /* the epoch that was fetched last */
    if (has(request, ZK_FETCH_LOG_START))
        add_number(request, (uint64_t)(int64_t)NOT_KNOWN, 8); /* for replicas */
    add_number(request, max_bytes, 4);
    add_no_tags(request);
    request->partitions++;
    request->requested_count++;
    request->requested_bytes += max_bytes;
    slot->is_requested = true;
    slot->has_response = false;
    slot->requested_offset = offset;
    slot->requested_bytes = max_bytes;
}

bool zk_request_end(zk_request *request, const zk_request_head *head) {
    end_topic(request);
    if (has(request, ZK_FETCH_SESSIONS))
        set_count(request, add_count_placeholder(request), 0); /* topics to forget */
    if (has(request, ZK_FETCH_REPLICAS))
        add_sized(request, NULL, 0); /* no rack */
    add_no_tags(request);
    set_count(request, request->topics_at, request->topics);
    if (request->has_failed || request->size > INT32_MAX)
        return false;
    set_number(request->data + request->wait_at, (uint32_t)head->max_wait_ms, 4);
    set_number(request->data, request->size - 4, 4);
    return true;
}

void zk_request_free(zk_request *request) {
    free(request->data);
    *request = (zk_request){0};
}
