#include "response.h"

#include <string.h>

#include "bytes.h"

enum {
    LENGTH_BYTES = 4,
    HEAD_BYTES = 8, /* correlation id, count of topics */
    PARTITION_BYTES = 18,
    FIRST_SET_BYTES = 1 << 20, /* of a set that is larger than what was asked */
};

static int32_t be16(const uint8_t *at) { return (int16_t)(at[0] << 8 | at[1]); }

void zk_response_begin(zk_response *response, zk_slots *slots, int32_t correlation_id,
                       size_t max_frame_bytes) {
    response->slots = slots;
    response->fault = NULL;
    response->max_frame_bytes = max_frame_bytes;
    response->correlation_id = correlation_id;
    response->place = ZK_AT_LENGTH;
    response->frame_left = LENGTH_BYTES;
    response->topics_left = response->partitions_left = 0;
    response->slot = NULL;
    response->set_left = response->set_count = response->set_bytes = 0;
    response->from = response->to = 0;
}

static zk_parsed nonsense(zk_response *response, const char *fault) {
    response->fault = fault;
    return ZK_PARSED_NONSENSE;
}

static size_t staged(const zk_response *response) { return response->to - response->from; }

/* What the next step needs in one piece. */
static size_t needed(const zk_response *response) {
    switch (response->place) {
    case ZK_AT_LENGTH:
        return LENGTH_BYTES;
    case ZK_AT_HEAD:
        return HEAD_BYTES;
    case ZK_AT_TOPIC: {
        if (staged(response) < 2)
            return 2;
        const int32_t size = be16(response->stage + response->from);
        return size < 0 ? 2 : 2 + (size_t)size + 4;
    }
    case ZK_AT_PARTITION:
        return PARTITION_BYTES;
    default:
        return 0;
    }
}

/* Takes so many bytes of the stage, and of the frame. */
static const uint8_t *taken(zk_response *response, size_t count) {
    const uint8_t *at = response->stage + response->from;
    response->from += count;
    response->frame_left -= count;
    return at;
}

static zk_parsed take_length(zk_response *response) {
    const int32_t length = zk_int32(taken(response, LENGTH_BYTES));
    if (length < HEAD_BYTES || (size_t)length > response->max_frame_bytes)
        return nonsense(response, "its length");
    response->frame_left = (size_t)length;
    response->place = ZK_AT_HEAD;
    return ZK_PARSED_PART;
}

/* Where the frame stands behind a partition, or behind its head. */
static zk_parsed go_on(zk_response *response) {
    if (response->partitions_left)
        response->place = ZK_AT_PARTITION;
    else if (response->topics_left)
        response->place = ZK_AT_TOPIC;
    else if (response->frame_left)
        return nonsense(response, "bytes behind its end");
    else
        response->place = ZK_AT_END;
    return ZK_PARSED_PART;
}

static zk_parsed take_head(zk_response *response) {
    const uint8_t *at = taken(response, HEAD_BYTES);
    if (zk_int32(at) != response->correlation_id)
        return nonsense(response, "its correlation id");
    response->topics_left = zk_int32(at + 4);
    if (response->topics_left < 0)
        return nonsense(response, "its count of topics");
    return go_on(response);
}

static zk_parsed take_topic(zk_response *response, size_t size) {
    if (size < 6)
        return nonsense(response, "the name of a topic");
    const uint8_t *at = taken(response, size);
    response->topic = zk_slots_topic(response->slots, at + 2, size - 6);
    response->topics_left--;
    response->partitions_left = zk_int32(at + size - 4);
    if (response->partitions_left < 0)
        return nonsense(response, "its count of partitions");
    return go_on(response);
}

/* The slot that this answers, if it was asked and not answered yet. */
static zk_slot *begin_slot(zk_response *response, const uint8_t *at, size_t size) {
    zk_slot *slot = zk_slots_find(response->slots, response->topic, zk_int32(at));
    if (!slot || !slot->is_asked || slot->is_answered)
        return NULL;
    slot->arriving_error = (int16_t)be16(at + 4);
    slot->arriving_high_watermark = zk_int64(at + 6);
    if (size == 0 || slot->arriving_error || !zk_claim_is_active(slot->claim)) {
        slot->is_answered = true;
        return NULL;
    }
    return slot;
}

static zk_parsed take_partition(zk_response *response) {
    const uint8_t *at = taken(response, PARTITION_BYTES);
    const int32_t size = zk_int32(at + 14);
    if (size < -1)
        return nonsense(response, "the size of a record set");
    response->set_left = size < 0 ? 0 : (size_t)size; /* null is as good as empty */
    if (response->set_left > response->frame_left)
        return nonsense(response, "a record set that is larger than the answer");
    response->partitions_left--;
    response->set_count++;
    response->set_bytes += response->set_left;
    zk_slot *slot = response->slot = begin_slot(response, at, response->set_left);
    if (slot) {
        /* What was asked for is expected; more than that only once it comes. */
        const size_t likely = slot->asked_bytes > FIRST_SET_BYTES ? slot->asked_bytes : FIRST_SET_BYTES;
        slot->arriving = zk_buffer_new(response->set_left < likely ? response->set_left : likely);
        if (!slot->arriving)
            return ZK_PARSED_NO_MEMORY;
    }
    response->place = ZK_AT_SET;
    return ZK_PARSED_PART;
}

/* So many bytes of the set are where they belong. */
static zk_parsed count_set(zk_response *response, size_t count) {
    response->set_left -= count;
    if (response->set_left)
        return ZK_PARSED_PART;
    if (response->slot)
        response->slot->is_answered = true;
    response->slot = NULL;
    return go_on(response);
}

/* Moves what the stage holds of a set to its buffer. */
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
    switch (response->place) {
    case ZK_AT_LENGTH:
        return take_length(response);
    case ZK_AT_HEAD:
        return take_head(response);
    case ZK_AT_TOPIC:
        return take_topic(response, size);
    case ZK_AT_PARTITION:
        return take_partition(response);
    default:
        return take_staged_set(response);
    }
}

static zk_parsed take_staged(zk_response *response) {
    while (response->place != ZK_AT_END) {
        if (response->place == ZK_AT_SET && response->set_left && !staged(response))
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
    return staged(response) ? nonsense(response, "bytes behind its end") : ZK_PARSED_ALL;
}

/* Room in the stage for the bytes that must lie in one piece, and some more. */
static void stage_space(zk_response *response, uint8_t **data, size_t *size) {
    if (response->from) {
        memmove(response->stage, response->stage + response->from, staged(response));
        response->to -= response->from;
        response->from = 0;
    }
    const size_t piece = needed(response);
    const size_t missing = piece > response->to ? piece - response->to : 0;
    const size_t room = ZK_STAGE_BYTES - response->to;
    size_t wanted = missing > ZK_READ_AHEAD_BYTES ? missing : ZK_READ_AHEAD_BYTES;
    *data = response->stage + response->to;
    *size = wanted < room ? wanted : room;
}

bool zk_response_space(zk_response *response, zk_space *space) {
    *space = (zk_space){0};
    if (response->place != ZK_AT_SET || !response->slot) {
        stage_space(response, space->data, space->size);
        return true;
    }
    /* The stage is empty here: what it held of the set was moved. */
    zk_buffer *buffer = response->slot->arriving;
    size_t room = buffer->capacity - ZK_SLACK_BYTES - buffer->used;
    if (room == 0) {
        const size_t more = buffer->used < response->set_left ? buffer->used : response->set_left;
        if (!zk_buffer_reserve(buffer, more ? more : 1))
            return false;
        room = buffer->capacity - ZK_SLACK_BYTES - buffer->used;
    }
    space->data[0] = buffer->data + buffer->used;
    space->size[0] = room < response->set_left ? room : response->set_left;
    if (space->size[0] == response->set_left)
        stage_space(response, space->data + 1, space->size + 1);
    return true;
}

zk_parsed zk_response_take(zk_response *response, size_t count) {
    if (response->place == ZK_AT_SET && response->slot) {
        zk_buffer *buffer = response->slot->arriving;
        const size_t room = buffer->capacity - ZK_SLACK_BYTES - buffer->used;
        size_t direct = room < response->set_left ? room : response->set_left;
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

size_t zk_response_missing(const zk_response *response) {
    const size_t there = staged(response);
    const size_t frame = response->frame_left > there ? response->frame_left - there : 1;
    if (response->place == ZK_AT_LENGTH)
        return LENGTH_BYTES > there ? LENGTH_BYTES - there : 1;
    return frame;
}
