/* Reads the answer to a Fetch request of any version to ZK_FETCH_LAST as it comes in, in pieces of any size. No socket in here.
 *
 *     zk_response_begin(...)
 *     do { space = zk_response_space(...); count = what came into the space; }
 *     while (zk_response_take(..., count) == ZK_PARSED_PART);
 *
 * Each record set goes straight into a buffer of its own; only what lies around them goes through a
 * small one. Every length is held against what is left of the frame before it is believed, and memory
 * grows with what has come. A partition that was not asked for is passed over, and so is what is told
 * of sessions, transactions and replicas, and what later versions may add.
 *
 * Nothing counts before the frame has ended well: until then the slots hold it as arriving. */
#ifndef ZK_RESPONSE_H
#define ZK_RESPONSE_H

#include "fetch_versions.h"
#include "slots.h"

enum {
    /* Nothing that must lie in one piece is larger: a topic's name, and the numbers around it. */
    ZK_STAGE_BYTES = 36 * 1024,
    /* How much is read beyond what is known to be needed. */
    ZK_READ_AHEAD_BYTES = 4096,
};

typedef enum {
    ZK_PARSED_PART, /* more must come */
    ZK_PARSED_ALL,
    ZK_PARSED_NONSENSE, /* `fault` says what of it */
    ZK_PARSED_NO_MEMORY,
} zk_parsed;

typedef enum {
    ZK_AT_LENGTH,
    ZK_AT_ID,
    ZK_AT_HEAD, /* throttle time, error, session */
    ZK_AT_TOPICS, /* how many */
    ZK_AT_TOPIC,
    ZK_AT_PARTITION,
    ZK_AT_TRANSACTIONS, /* how many were aborted */
    ZK_AT_TRANSACTION,
    ZK_AT_SIZE,
    ZK_AT_SET,
    ZK_AT_PARTITION_END,
    ZK_AT_TOPIC_END,
    ZK_AT_TAGS, /* how many tagged fields */
    ZK_AT_TAG,
    ZK_AT_SKIPPED, /* bytes that mean nothing to us */
    ZK_AT_END,
} zk_place;

typedef struct {
    zk_slots *slots;
    const char *fault;
    size_t max_frame_bytes;
    int32_t correlation_id;
    int version;         /* of the request */
    int32_t throttle_ms; /* for so long the broker wants to hear nothing; never negative */
    zk_place place;
    zk_place behind_tags, behind_skipped; /* where it goes on then */
    size_t frame_left; /* what the parser has not taken of the frame */
    uint32_t topics_left, partitions_left, transactions_left, tags_left;
    size_t skip_left;
    int64_t topic;
    zk_slot *slot; /* which the partition is, if it was asked for; null: nobody's */
    size_t set_left;
    size_t set_count, set_bytes; /* of all partitions in it */
    size_t from, to; /* what the stage holds */
    uint8_t stage[ZK_STAGE_BYTES];
} zk_response;

/* Two places where the next bytes are to go, the first one first; the second may be empty. */
typedef struct {
    uint8_t *data[2];
    size_t size[2];
} zk_space;

/* version: of the request, 0 to ZK_FETCH_LAST. */
void zk_response_begin(zk_response *response, zk_slots *slots, int version, int32_t correlation_id,
                       size_t max_frame_bytes);

/* Where to receive to: at least a byte. False without memory. */
bool zk_response_space(zk_response *response, zk_space *space);

/* So many bytes were received to there. */
zk_parsed zk_response_take(zk_response *response, size_t count);

/* How many bytes are known to be still to come: at least one. */
size_t zk_response_missing(const zk_response *response);

#endif
