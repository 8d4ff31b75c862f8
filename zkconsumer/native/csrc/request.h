/* Builds a Fetch request of any version up to ZK_FETCH_LAST, partition by partition: without a session,
 * with uncommitted records, by a consumer without a rack, without the epoch that was fetched last.
 *
 *     zk_request_begin(...); zk_request_add(...) for each slot, those of a topic together;
 *     zk_request_end(...)
 *
 * From ZK_FETCH_TOPIC_IDS on the name of each topic is its id. A topic may come more than once. Without
 * memory the first two do nothing, and the last one returns false. */
#ifndef ZK_REQUEST_H
#define ZK_REQUEST_H

#include "fetch_versions.h"
#include "slots.h"

typedef struct {
    uint8_t *data;
    size_t size, capacity;
    size_t sent;                 /* for the sender */
    size_t topics;               /* count so far */
    size_t partitions;           /* of the last of them */
    size_t requested_count, requested_bytes;  /* partitions of all topics, and the sum of their max_bytes */
    size_t wait_at, topics_at, partitions_at; /* positions of fields that are filled in later */
    uint32_t topic;
    int version;
    bool has_failed;
} zk_request;

typedef struct {
    int version; /* 0 to ZK_FETCH_LAST */
    int32_t correlation_id;
    int32_t max_wait_ms;
    int32_t min_bytes;
    int32_t max_bytes; /* of the whole response, if the version has it */
    const uint8_t *client_id;
    size_t client_id_bytes; /* at most INT16_MAX */
} zk_request_head;

/* Begins a request, in the memory of the last one. */
void zk_request_begin(zk_request *request, const zk_request_head *head);

/* Adds a partition, and records the request in the slot. */
void zk_request_add(zk_request *request, const zk_slots *slots, zk_slot *slot, int64_t offset,
                    size_t max_bytes);

/* Ends the request: fills in its length, its counts, and `head->max_wait_ms`; false without memory. */
bool zk_request_end(zk_request *request, const zk_request_head *head);

void zk_request_free(zk_request *request);

#endif
