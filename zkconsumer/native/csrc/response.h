/* Parses the response to a Fetch request of any version up to ZK_FETCH_LAST, in pieces of any size. No I/O.
 *
 *     zk_response_begin(...)
 *     do { space = zk_response_space(...); count = bytes received into the space; }
 *     while (zk_response_take(..., count) == ZK_PARSED_PART);
 *
 * Each record set is received straight into a buffer of its own; the fields between them go through a
 * small one, the stage. Every length is checked against the rest of the frame, and memory grows with the
 * bytes received. Partitions that were not requested are skipped, as are sessions, transactions,
 * replicas, and unknown tagged fields.
 *
 * Nothing counts before the whole frame is valid: until then the slots hold it as arriving. */
#ifndef ZK_RESPONSE_H
#define ZK_RESPONSE_H

#include "fetch_versions.h"
#include "slots.h"

enum {
    /* The largest contiguous piece: a topic's name or id, and the numbers around it. */
    ZK_STAGE_BYTES = 36 * 1024,
    /* Bytes to read beyond those that the next step needs. */
    ZK_READ_AHEAD_BYTES = 4096,
};

typedef enum {
    ZK_PARSED_PART, /* more must come */
    ZK_PARSED_ALL,
    ZK_PARSED_NONSENSE, /* invalid; `fault` names the field */
    ZK_PARSED_NO_MEMORY,
} zk_parsed;

typedef enum {
    ZK_AT_LENGTH,
    ZK_AT_ID,
    ZK_AT_HEAD, /* throttle time, error, session */
    ZK_AT_TOPICS, /* their count */
    ZK_AT_TOPIC,
    ZK_AT_PARTITION,
    ZK_AT_TRANSACTIONS, /* count of aborted ones */
    ZK_AT_TRANSACTION,
    ZK_AT_SIZE,
    ZK_AT_SET,
    ZK_AT_PARTITION_END,
    ZK_AT_TOPIC_END,
    ZK_AT_TAGS, /* count of tagged fields */
    ZK_AT_TAG,
    ZK_AT_SKIPPED, /* bytes that are not parsed */
    ZK_AT_END,
} zk_parse_state;

typedef struct {
    zk_slots *slots;
    const char *fault;
    size_t max_frame_bytes;
    int32_t correlation_id;
    int version;         /* of the request */
    int32_t throttle_ms; /* the throttle time of the response; never negative */
    zk_parse_state state;
    zk_parse_state after_tags, after_skipped; /* the states that follow */
    size_t frame_bytes; /* of the whole response, with its length */
    size_t frame_left;  /* bytes of the frame that are not parsed */
    uint32_t topics_left, partitions_left, transactions_left, tags_left;
    size_t skip_left;
    int64_t topic;
    zk_slot *slot; /* of the partition, if it was requested; else null */
    size_t set_left;
    size_t set_count, set_bytes; /* of all partitions in it */
    size_t from, to; /* the unparsed bytes in the stage */
    uint8_t stage[ZK_STAGE_BYTES];
} zk_response;

/* The two buffers for the next bytes, in order; the second may be empty. */
typedef struct {
    uint8_t *data[2];
    size_t size[2];
} zk_space;

/* version: of the request, 0 to ZK_FETCH_LAST. */
void zk_response_begin(zk_response *response, zk_slots *slots, int version, int32_t correlation_id,
                       size_t max_frame_bytes);

/* Sets the buffers to receive into, of at least a byte. False without memory. */
bool zk_response_space(zk_response *response, zk_space *space);

/* Returns whether a complete response tells of the client's quota, and of nothing else (KIP-219). */
static inline bool zk_response_is_pause(const zk_response *response) {
    return response->throttle_ms && !response->set_count;
}

/* Parses `count` bytes that were received into the buffers. */
zk_parsed zk_response_take(zk_response *response, size_t count);

#endif
