#include "response.h"

#include <string.h>

#include "bytes.h"
#include "varint.h"

enum {
    LENGTH_BYTES = 4,
    ID_BYTES = 4,
    LEAST_BYTES = 8, /* correlation id, count of topics */
    COUNT_BYTES = 4,
    ERROR_AND_SESSION_BYTES = 6,
    PARTITION_BYTES = 14, /* its number, error, high watermark */
    TRANSACTION_BYTES = 16,
    FIRST_SET_BYTES = 1 << 20, /* of a set that is larger than requested */
};

static int32_t be16(const uint8_t *at) { return (int16_t)(at[0] << 8 | at[1]); }

void zk_response_begin(zk_response *response, zk_slots *slots, int version, int32_t correlation_id,
                       size_t max_frame_bytes) {
    response->slots = slots;
    response->fault = NULL;
    response->max_frame_bytes = max_frame_bytes;
    response->correlation_id = correlation_id;
    response->version = version;
    response->throttle_ms = 0;
    response->state = ZK_AT_LENGTH;
    response->frame_bytes = response->frame_left = LENGTH_BYTES;
    response->topics_left = response->partitions_left = 0;
    response->slot = NULL;
    response->set_left = response->set_count = response->set_bytes = 0;
    response->from = response->to = 0;
}

static zk_parsed nonsense(zk_response *response, const char *fault) {
    response->fault = fault;
    return ZK_PARSED_NONSENSE;
}

static zk_parsed go_on(zk_response *response, zk_parse_state state) {
    response->state = state;
    return ZK_PARSED_PART;
}

static bool is_flexible(const zk_response *response) {
    return response->version >= ZK_FETCH_FLEXIBLE;
}

/* Continues after the tagged fields, if the version has them. */
static zk_parsed pass_tags(zk_response *response, zk_parse_state state) {
    response->after_tags = state;
    return go_on(response, is_flexible(response) ? ZK_AT_TAGS : state);
}

static zk_parsed skip(zk_response *response, size_t size, zk_parse_state state) {
    response->skip_left = size;
    response->after_skipped = state;
    return go_on(response, ZK_AT_SKIPPED);
}

static size_t staged(const zk_response *response) { return response->to - response->from; }

/* The size of the varint `at` bytes into the stage; while it is incomplete: one more than there are. */
static size_t varint_bytes(const zk_response *response, size_t at) {
    const uint8_t *const start = response->stage + response->from + at;
    const size_t there = staged(response) > at ? staged(response) - at : 0;
    size_t size = 0;
    while (size < there && size < 4 && start[size] & 0x80)
        size++;
    return size + 1;
}

/* The end of the count at this position: a varint or four bytes, by version. */
static size_t count_end(const zk_response *response, size_t at) {
    return at + (is_flexible(response) ? varint_bytes(response, at) : COUNT_BYTES);
}

/* Reads a length up to `end`; a compact one is stored plus one; null is -1. False: it is invalid. */
static bool read_length(const zk_response *response, const uint8_t *at, const uint8_t *end,
                        int64_t *length) {
    uint64_t found;
    if (!is_flexible(response)) {
        *length = zk_int32(at);
        return *length >= -1;
    }
    if (zk_varint_slow(at, end, 32, &found) != end)
        return false;
    *length = (int64_t)found - 1;
    return true;
}

/* Finds a topic's name or id in the stage; false: its length has not arrived yet. */
static bool find_name(const zk_response *response, size_t *start, size_t *end) {
    const uint8_t *const at = response->stage + response->from;
    int64_t size;
    if (response->version >= ZK_FETCH_TOPIC_IDS) {
        *start = 0;
        *end = ZK_TOPIC_ID_BYTES;
        return true;
    }
    *end = *start = is_flexible(response) ? varint_bytes(response, 0) : 2;
    if (staged(response) < *start)
        return false;
    if (!is_flexible(response))
        size = be16(at);
    else if (!read_length(response, at, at + *start, &size) || size > INT16_MAX)
        size = -1;
    *end = size < 0 ? 0 : *start + (size_t)size;
    return true;
}

static size_t head_bytes(const zk_response *response) {
    const size_t throttle = response->version >= ZK_FETCH_THROTTLE ? 4 : 0;
    return throttle + (response->version >= ZK_FETCH_SESSIONS ? ERROR_AND_SESSION_BYTES : 0);
}

static size_t partition_bytes(const zk_response *response) {
    const size_t stable = response->version >= ZK_FETCH_TRANSACTIONS ? 8 : 0;
    return PARTITION_BYTES + stable + (response->version >= ZK_FETCH_LOG_START ? 8 : 0);
}

static size_t replica_bytes(const zk_response *response) {
    return response->version >= ZK_FETCH_REPLICAS ? 4 : 0;
}

/* How many contiguous bytes the next step needs. */
static size_t needed(const zk_response *response) {
    size_t start, end;
    switch (response->state) {
    case ZK_AT_LENGTH:
        return LENGTH_BYTES;
    case ZK_AT_ID:
        return ID_BYTES;
    case ZK_AT_HEAD:
        return head_bytes(response);
    case ZK_AT_TOPICS:
    case ZK_AT_TRANSACTIONS:
        return count_end(response, 0);
    case ZK_AT_TOPIC:
        return find_name(response, &start, &end) && end ? count_end(response, end) : start;
    case ZK_AT_PARTITION:
        return partition_bytes(response);
    case ZK_AT_TRANSACTION:
        return response->transactions_left ? TRANSACTION_BYTES : 0;
    case ZK_AT_SIZE:
        return count_end(response, replica_bytes(response));
    case ZK_AT_TAGS:
        return varint_bytes(response, 0);
    case ZK_AT_TAG: {
        const size_t tag = response->tags_left ? varint_bytes(response, 0) : 0;
        return tag ? tag + varint_bytes(response, tag) : 0;
    }
    default:
        return 0;
    }
}

/* Consumes `count` bytes of the stage, and of the frame; returns them. */
static const uint8_t *taken(zk_response *response, size_t count) {
    const uint8_t *at = response->stage + response->from;
    response->from += count;
    response->frame_left -= count;
    return at;
}

static zk_parsed take_length(zk_response *response) {
    const int32_t length = zk_int32(taken(response, LENGTH_BYTES));
    if (length < LEAST_BYTES || (size_t)length > response->max_frame_bytes)
        return nonsense(response, "its length");
    response->frame_left = (size_t)length;
    response->frame_bytes += response->frame_left;
    return go_on(response, ZK_AT_ID);
}

static zk_parsed take_id(zk_response *response) {
    if (zk_int32(taken(response, ID_BYTES)) != response->correlation_id)
        return nonsense(response, "its correlation id");
    return pass_tags(response, ZK_AT_HEAD);
}

static zk_parsed take_head(zk_response *response, size_t size) {
    const uint8_t *at = taken(response, size);
    if (response->version >= ZK_FETCH_THROTTLE) {
        const int32_t throttle_ms = zk_int32(at);
        response->throttle_ms = throttle_ms < 0 ? 0 : throttle_ms;
    }
    /* No session was requested. The Python loop repeats the request, and reports the error. */
    if (response->version >= ZK_FETCH_SESSIONS && be16(at + 4))
        return nonsense(response, "its error code");
    return go_on(response, ZK_AT_TOPICS);
}

static zk_parsed take_topics(zk_response *response, size_t size) {
    const uint8_t *at = taken(response, size);
    int64_t count;
    if (!read_length(response, at, at + size, &count) || count < 0)
        return nonsense(response, "its count of topics");
    response->topics_left = (uint32_t)count;
    return go_on(response, ZK_AT_TOPIC_END);
}

static zk_parsed take_topic(zk_response *response, size_t size) {
    size_t start, end;
    int64_t count;
    if (!find_name(response, &start, &end) || !end)
        return nonsense(response, "the name of a topic");
    const uint8_t *at = taken(response, size);
    response->topic = zk_slots_topic(response->slots, at + start, end - start);
    response->topics_left--;
    if (!read_length(response, at + end, at + size, &count) || count < 0)
        return nonsense(response, "its count of partitions");
    response->partitions_left = (uint32_t)count;
    return go_on(response, ZK_AT_PARTITION_END);
}

static zk_parsed take_partition(zk_response *response, size_t size) {
    const uint8_t *at = taken(response, size);
    response->partitions_left--;
    zk_slot *slot = zk_slots_find(response->slots, response->topic, zk_int32(at));
    if (slot && (!slot->is_requested || slot->has_response))
        slot = NULL;
    response->slot = slot;
    if (slot) {
        slot->arriving_error = (int16_t)be16(at + 4);
        slot->arriving_high_watermark = zk_int64(at + 6);
        slot->arriving_log_start =
            response->version >= ZK_FETCH_LOG_START ? zk_int64(at + size - 8) : -1;
    }
    const bool has_transactions = response->version >= ZK_FETCH_TRANSACTIONS;
    return go_on(response, has_transactions ? ZK_AT_TRANSACTIONS : ZK_AT_SIZE);
}

static zk_parsed take_transactions(zk_response *response, size_t size) {
    const uint8_t *at = taken(response, size);
    int64_t count;
    if (!read_length(response, at, at + size, &count))
        return nonsense(response, "its count of transactions");
    response->transactions_left = count < 0 ? 0 : (uint32_t)count;
    return go_on(response, ZK_AT_TRANSACTION);
}

static zk_parsed take_transaction(zk_response *response, size_t size) {
    if (!size)
        return go_on(response, ZK_AT_SIZE);
    taken(response, size);
    response->transactions_left--;
    return pass_tags(response, ZK_AT_TRANSACTION);
}

static zk_parsed take_size(zk_response *response, size_t size) {
    const uint8_t *at = taken(response, size);
    int64_t set_bytes;
    if (!read_length(response, at + replica_bytes(response), at + size, &set_bytes))
        return nonsense(response, "the size of a record set");
    response->set_left = set_bytes < 0 ? 0 : (size_t)set_bytes; /* null counts as empty */
    if (response->slot)
        response->slot->names_replica = replica_bytes(response) && zk_int32(at) >= 0;
    if (response->set_left > response->frame_left)
        return nonsense(response, "a record set that is larger than the answer");
    response->set_count++;
    response->set_bytes += response->set_left;
    zk_slot *slot = response->slot;
    if (slot && (!response->set_left || slot->arriving_error || !zk_claim_is_active(slot->claim))) {
        slot->has_response = true;
        slot = response->slot = NULL;
    }
    if (slot) {
        /* Allocates the requested size; more only as it arrives. */
        const size_t likely = slot->requested_bytes > FIRST_SET_BYTES ? slot->requested_bytes : FIRST_SET_BYTES;
        slot->arriving = zk_buffer_new(response->set_left < likely ? response->set_left : likely);
        if (!slot->arriving)
            return ZK_PARSED_NO_MEMORY;
    }
    return go_on(response, ZK_AT_SET);
}

static zk_parsed take_tags(zk_response *response, size_t size) {
    const uint8_t *at = taken(response, size);
    uint64_t count;
    if (zk_varint_slow(at, at + size, 32, &count) != at + size)
        return nonsense(response, "its count of tagged fields");
    response->tags_left = (uint32_t)count;
    return go_on(response, ZK_AT_TAG);
}

static zk_parsed take_tag(zk_response *response, size_t size) {
    if (!size)
        return go_on(response, response->after_tags);
    const uint8_t *at = taken(response, size), *const end = at + size;
    uint64_t tag, tag_bytes;
    at = zk_varint_slow(at, end, 32, &tag);
    if (!at || zk_varint_slow(at, end, 32, &tag_bytes) != end)
        return nonsense(response, "a tagged field");
    if (tag_bytes > response->frame_left)
        return nonsense(response, "a tagged field that is larger than the answer");
    response->tags_left--;
    return skip(response, tag_bytes, ZK_AT_TAG);
}

static zk_parsed take_skipped(zk_response *response) {
    const size_t there = staged(response);
    const size_t count = there < response->skip_left ? there : response->skip_left;
    taken(response, count);
    response->skip_left -= count;
    return response->skip_left ? ZK_PARSED_PART : go_on(response, response->after_skipped);
}

static zk_parsed end_partition(zk_response *response) {
    if (response->partitions_left)
        return go_on(response, ZK_AT_PARTITION);
    return pass_tags(response, ZK_AT_TOPIC_END);
}

static zk_parsed end_topic(zk_response *response) {
    if (response->topics_left)
        return go_on(response, ZK_AT_TOPIC);
    return pass_tags(response, ZK_AT_END);
}

/* Counts `count` bytes of the set as stored. */
static zk_parsed count_set(zk_response *response, size_t count) {
    response->set_left -= count;
    if (response->set_left)
        return ZK_PARSED_PART;
    if (response->slot)
        response->slot->has_response = true;
    response->slot = NULL;
    return pass_tags(response, ZK_AT_PARTITION_END);
}

/* Moves the staged bytes of a set to its buffer. */
static zk_parsed take_staged_set(zk_response *response) {
    const size_t there = staged(response);
    const size_t count = there < response->set_left ? there : response->set_left;
    const uint8_t *at = taken(response, count);
    if (response->slot && count) {
        zk_buffer *buffer = response->slot->arriving;
        if (!zk_buffer_reserve(buffer, count))
            return ZK_PARSED_NO_MEMORY;
        memcpy(buffer->data + buffer->used, at, count);
        buffer->used += count;
    }
    return count_set(response, count);
}

static zk_parsed step(zk_response *response, size_t size) {
    switch (response->state) {
    case ZK_AT_LENGTH:
        return take_length(response);
    case ZK_AT_ID:
        return take_id(response);
    case ZK_AT_HEAD:
        return take_head(response, size);
    case ZK_AT_TOPICS:
        return take_topics(response, size);
    case ZK_AT_TOPIC:
        return take_topic(response, size);
    case ZK_AT_PARTITION:
        return take_partition(response, size);
    case ZK_AT_TRANSACTIONS:
        return take_transactions(response, size);
    case ZK_AT_TRANSACTION:
        return take_transaction(response, size);
    case ZK_AT_SIZE:
        return take_size(response, size);
    case ZK_AT_PARTITION_END:
        return end_partition(response);
    case ZK_AT_TOPIC_END:
        return end_topic(response);
    case ZK_AT_TAGS:
        return take_tags(response, size);
    case ZK_AT_TAG:
        return take_tag(response, size);
    case ZK_AT_SKIPPED:
        return take_skipped(response);
    default:
        return take_staged_set(response);
    }
}

/* Returns whether the next step takes pieces of any size, and none is staged. */
static bool must_come(const zk_response *response) {
    const bool is_set = response->state == ZK_AT_SET && response->set_left;
    const bool is_skipped = response->state == ZK_AT_SKIPPED && response->skip_left;
    return (is_set || is_skipped) && !staged(response);
}

static zk_parsed take_staged(zk_response *response) {
    while (response->state != ZK_AT_END) {
        if (must_come(response))
            return ZK_PARSED_PART;
        const size_t size = needed(response);
        if (size > response->frame_left)
            return nonsense(response, "an end in the middle of it");
        if (size > staged(response))
            return ZK_PARSED_PART;
        const zk_parsed parsed = step(response, size);
        if (parsed != ZK_PARSED_PART)
            return parsed;
    }
    if (response->frame_left || staged(response))
        return nonsense(response, "bytes behind its end");
    return ZK_PARSED_ALL;
}

/* Makes space in the stage for the bytes that must be contiguous, and some more. */
static void stage_space(zk_response *response, uint8_t **data, size_t *size) {
    if (response->from) {
        memmove(response->stage, response->stage + response->from, staged(response));
        response->to -= response->from;
        response->from = 0;
    }
    const size_t piece = needed(response);
    const size_t missing = piece > response->to ? piece - response->to : 0;
    const size_t free_bytes = ZK_STAGE_BYTES - response->to;
    size_t wanted = missing > ZK_READ_AHEAD_BYTES ? missing : ZK_READ_AHEAD_BYTES;
    *data = response->stage + response->to;
    *size = wanted < free_bytes ? wanted : free_bytes;
}

bool zk_response_space(zk_response *response, zk_space *space) {
    *space = (zk_space){0};
    if (response->state != ZK_AT_SET || !response->slot) {
        stage_space(response, space->data, space->size);
        return true;
    }
    /* The stage is empty: its part of the set was moved. */
    zk_buffer *buffer = response->slot->arriving;
    size_t free_bytes = buffer->capacity - ZK_SLACK_BYTES - buffer->used;
    if (free_bytes == 0) {
        const size_t more = buffer->used < response->set_left ? buffer->used : response->set_left;
        if (!zk_buffer_reserve(buffer, more ? more : 1))
            return false;
        free_bytes = buffer->capacity - ZK_SLACK_BYTES - buffer->used;
    }
    space->data[0] = buffer->data + buffer->used;
    space->size[0] = free_bytes < response->set_left ? free_bytes : response->set_left;
    if (space->size[0] == response->set_left)
        stage_space(response, space->data + 1, space->size + 1);
    return true;
}

zk_parsed zk_response_take(zk_response *response, size_t count) {
    if (response->state == ZK_AT_SET && response->slot) {
        zk_buffer *buffer = response->slot->arriving;
        const size_t free_bytes = buffer->capacity - ZK_SLACK_BYTES - buffer->used;
        size_t direct = free_bytes < response->set_left ? free_bytes : response->set_left;
        if (direct > count)
            direct = count;
        buffer->used += direct;
        response->frame_left -= direct;
        count -= direct;
        const zk_parsed parsed = count_set(response, direct);
        if (parsed != ZK_PARSED_PART)
            return parsed;
    }
    response->to += count;
    return take_staged(response);
}
