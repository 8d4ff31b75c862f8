/* The bytes of a Fetch request of any version to ZK_FETCH_LAST, made one partition after the other: outside
 * of any session, of all that lies in the log, by a consumer without a rack.
 *
 *     zk_request_begin(...); zk_request_ask(...) for each slot, those of a topic together;
 *     zk_request_end(...)
 *
 * A topic may come more than once. Without memory the first and second do nothing, and the last says so.
 */
#ifndef ZK_REQUEST_H
#define ZK_REQUEST_H

#include "fetch_versions.h"
#include "slots.h"

typedef struct {
    uint8_t *data;
    size_t size, capacity;
    size_t sent;                 /* for the sender */
    size_t topics;               /* how many there are so far */
    size_t partitions;           /* of the last of them */
    size_t asked_count, asked_bytes; /* partitions of all topics, and how much of them together */
    size_t wait_at, topics_at, partitions_at; /* where what is filled in lies */
    uint32_t topic;
    int version;
    bool has_failed;
} zk_request;

typedef struct {
    int version; /* 0 to ZK_FETCH_LAST */
    int32_t correlation_id;
    int32_t max_wait_ms;
    int32_t min_bytes;
    int32_t max_bytes; /* of the whole answer, where the version has that */
    const uint8_t *client_id;
    size_t client_id_bytes; /* at most INT16_MAX */
} zk_request_head;

/* Uses the memory of the request before. */
void zk_request_begin(zk_request *request, const zk_request_head *head);

/* Adds a partition, and notes in the slot what is asked. */
void zk_request_ask(zk_request *request, const zk_slots *slots, zk_slot *slot, int64_t offset,
                    size_t max_bytes);

/* Adds what is behind the topics, and fills in length, counts, and the head's wait, which may have become known meanwhile; false without
 * memory. */
bool zk_request_end(zk_request *request, const zk_request_head *head);

void zk_request_free(zk_request *request);

#endif
