/* A stream's queue under whatever runs come out of the sets. */
#ifndef FUZZ_QUEUES_H
#define FUZZ_QUEUES_H

#include "run.h"

/* Has the runs go through a queue of a random share, cut as it falls, and aborts where a message is
 * lost, comes out of order, or room is miscounted. Takes the runs over. */
void queue_runs(zk_runs *runs, int64_t fetch_offset);

/* Drops what is kept from call to call. */
void forget_queue(void);

#endif
