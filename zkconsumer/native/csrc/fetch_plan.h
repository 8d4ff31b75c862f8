/* Plans the next Fetch request, as `planning.plan_fetch` does, for partitions that need no more
 * than their part of a response; and the early request, sent before the last response is decoded.
 *
 * The request has every partition that has no records waiting, except where records wait for the same
 * queue: then its stream has work. The early request continues after the sets that just arrived, whose
 * headers hold their last offsets. It is made for queues that had nothing waiting before, and have
 * capacity for the sets that arrived and for all that may arrive: so these are within their budget, too.
 *
 * A partition that fills its part is requested with twice as many bytes the next time, until it does
 * not (`record_set.grown`); here never with more than leaves capacity for early requests.
 *
 * A slot that has its end, or a set that reaches it, is in no request. One with an end is requested with
 * about as many bytes as are left of its range, as `ranges.RangeBounds.size_at` estimates them: but with the
 * whole next entry as far as it is known, and with no more than others.
 *
 * From version 3 on a broker fills its response in the order of the request, and returns an entry that
 * is larger than max_bytes only to the first partition. So a partition that got nothing although it has
 * records is first in the next request; several take turns. */
#ifndef ZK_FETCH_PLAN_H
#define ZK_FETCH_PLAN_H

#include "request.h"
#include "response.h"
#include "unpack.h"

typedef struct {
    size_t part_bytes;
    size_t response_bytes; /* the limit of a response, except for one entry */
    size_t first;        /* index of the first slot of the last request */
    int32_t max_wait_ms;
    bool has_others_waiting; /* partitions without a slot wait for capacity */
} zk_fetch_plan;

/* Builds the request, and sets `head->max_wait_ms`: 0 if records wait for a queue. False: there is
 * nothing to request, or no memory (`request->has_failed`). */
bool zk_plan_request(zk_fetch_plan *plan, zk_slots *slots, zk_request *request, zk_request_head *head);

/* Builds the early request, right after a response was taken; zk_note_waiting must be called before
 * that. False also if no arrived set allows an early request: the other partitions are requested once it
 * is known what still waits. */
bool zk_plan_early_request(zk_fetch_plan *plan, zk_unpacker *unpacker, zk_request *request,
                  zk_request_head *head);

/* Records which queues have something waiting. */
void zk_note_waiting(zk_slots *slots);

/* Takes a slot's part of a complete response. */
void zk_take_response(zk_unpacker *unpacker, zk_slot *slot, const zk_response *response);

#endif
