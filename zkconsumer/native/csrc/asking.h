/* What to ask next: `FetchSession.fetch_request`, for partitions of which all need no more than a part
 * of a response, and the request that leaves before the last answer is read.
 *
 * Asked for is every partition that has nothing waiting, unless something waits for its queue: then its
 * stream has work. The early request asks for what follows behind the sets that just came, which their
 * headers tell. It is made for queues that had nothing waiting before, and have room for what came
 * and for all that may come: so what it brings belongs to their budget as well.
 *
 * Who fills all that it was asked for is asked for twice as much the next time, until it does not
 * (`position.grown`); here not for more than leaves room for early requests.
 *
 * From version 3 on a broker fills its answer in the order of the request, and gives an entry that is
 * larger than what was asked for to whoever is first. So who got nothing though there is something stands
 * first in the next request, and of several each comes to its right. */
#ifndef ZK_ASKING_H
#define ZK_ASKING_H

#include "request.h"
#include "unpack.h"

typedef struct {
    size_t part_bytes;
    size_t answer_bytes; /* no answer brings more, but for one entry */
    size_t first;        /* the slot that stood first in the last request */
    int32_t max_wait_ms;
    bool has_others_waiting; /* partitions that are not here wait for room */
} zk_asking;

/* Makes the request (its head is filled in but for the wait); false: there is nothing to ask, or no
 * memory, as `request` says. `head->max_wait_ms` is 0 where something waits: see there. */
bool zk_ask(zk_asking *asking, zk_slots *slots, zk_request *request, zk_request_head *head);

/* The same for the early request, right after an answer was taken. Before it was,
 * zk_note_waiting must have been called. False also where no set that came lets it be early: to ask
 * about the others alone is better done when it is known what is left waiting. */
bool zk_ask_early(zk_asking *asking, zk_line *line, zk_request *request,
                  zk_request_head *head);

/* Notes which queues have something waiting. */
void zk_note_waiting(zk_slots *slots);

/* Takes a slot's part of an answer, in this version, that has ended well. */
void zk_take_answer(zk_line *line, zk_slot *slot, int version);

#endif
