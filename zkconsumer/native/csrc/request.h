/* The bytes of a Fetch v0 request, made one partition after the other.
 *
 *     zk_request_begin(...); zk_request_ask(...) for each slot, those of a topic together;
 *     zk_request_end(...)
 *
 * Without memory the first and second do nothing, and the last says so.  */
#ifndef ZK_REQUEST_H
#define ZK_REQUEST_H

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
    bool has_failed;
} zk_request;

typedef struct {
    int32_t correlation_id;
    int32_t max_wait_ms;
    int32_t min_bytes;
    const uint8_t *client_id;
    size_t client_id_bytes; /* at most INT16_MAX */
} zk_request_head;

/* Uses the memory of the request before. */
void zk_request_begin(zk_request *request, const zk_request_head *head);

/* Adds a partition, and notes in the slot what is asked. */
void zk_request_ask(zk_request *request, const zk_slots *slots, zk_slot *slot, int64_t offset,
                    size_t max_bytes);

/* Fills in length, counts, and the head's wait, which may have become known meanwhile; false without
 * memory. */
bool zk_request_end(zk_request *request, const zk_request_head *head);

void zk_request_free(zk_request *request);

#endif
