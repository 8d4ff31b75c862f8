#include "request.h"

#include <stdlib.h>
#include <string.h>

enum { FETCH = 1, VERSION = 0, CONSUMER = -1 };

static bool make_room(zk_request *request, size_t size) {
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
    if (!make_room(request, size))
        return;
    set_number(request->data + request->size, value, size);
    request->size += size;
}

static void add_text(zk_request *request, const uint8_t *text, size_t size) {
    add_number(request, size, 2);
    if (size && make_room(request, size)) {
        memcpy(request->data + request->size, text, size);
        request->size += size;
    }
}

/* Leaves room for a number that is not known yet. */
static size_t leave_room(zk_request *request) {
    const size_t at = request->size;
    add_number(request, 0, 4);
    return at;
}

void zk_request_begin(zk_request *request, const zk_request_head *head) {
    *request = (zk_request){.data = request->data, .capacity = request->capacity};
    leave_room(request); /* the length */
    add_number(request, FETCH, 2);
    add_number(request, VERSION, 2);
    add_number(request, (uint32_t)head->correlation_id, 4);
    add_text(request, head->client_id, head->client_id_bytes);
    add_number(request, (uint32_t)CONSUMER, 4);
    request->wait_at = leave_room(request);
    add_number(request, (uint32_t)head->min_bytes, 4);
    request->topics_at = leave_room(request);
}

static void end_topic(zk_request *request) {
    if (request->topics && !request->has_failed)
        set_number(request->data + request->partitions_at, request->partitions, 4);
}

void zk_request_ask(zk_request *request, const zk_slots *slots, zk_slot *slot, int64_t offset,
                    size_t max_bytes) {
    if (!request->topics || request->topic != slot->topic) {
        end_topic(request);
        const zk_topic *topic = slots->topics + slot->topic;
        add_text(request, topic->name, topic->size);
        request->partitions_at = leave_room(request);
        request->partitions = 0;
        request->topic = slot->topic;
        request->topics++;
    }
    add_number(request, (uint32_t)slot->partition, 4);
    add_number(request, (uint64_t)offset, 8);
    add_number(request, max_bytes, 4);
    request->partitions++;
    request->asked_count++;
    request->asked_bytes += max_bytes;
    slot->is_asked = true;
    slot->is_answered = false;
    slot->asked_offset = offset;
    slot->asked_bytes = max_bytes;
}

bool zk_request_end(zk_request *request, const zk_request_head *head) {
    if (request->has_failed || request->size > INT32_MAX)
        return false;
    end_topic(request);
    set_number(request->data + request->topics_at, request->topics, 4);
    set_number(request->data + request->wait_at, (uint32_t)head->max_wait_ms, 4);
    set_number(request->data, request->size - 4, 4);
    return true;
}

void zk_request_free(zk_request *request) {
    free(request->data);
    *request = (zk_request){0};
}
