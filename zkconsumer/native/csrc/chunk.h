/* A chunk: the records of one fetched set of one partition, or a piece of it. */
#ifndef ZK_CHUNK_H
#define ZK_CHUNK_H

#include "claim.h"
#include "run.h"

typedef struct zk_chunk {
    struct zk_chunk *next; /* the queue's */
    zk_claim *claim;       /* a reference; null in queue entries that are no chunks */
    int64_t fetch_offset;  /* the requested offset, or the end of the piece before it */
    int64_t next_offset;   /* the log's next offset after it */
    int32_t leader_epoch;  /* of the data before next_offset; -1 if not known */
    size_t size_bytes;     /* its charge */
    zk_runs runs;          /* no message is below fetch_offset */
    uint64_t number;       /* the queue's: unique to this entry */
    bool is_named;         /* the queue's: Python has an object for it */
} zk_chunk;

/* A chunk that takes ownership of these runs (`runs` is emptied) and is charged for them. Its
 * leader epoch is that of the last run. Shares the claim. Null without memory; then the runs stay the caller's. */
zk_chunk *zk_chunk_new(zk_claim *claim, int64_t fetch_offset, int64_t next_offset, zk_runs *runs);

/* Frees it and all it holds; null is fine. Hold no lock: releasing a buffer that Python owns takes the
 * GIL. */
void zk_chunk_free(zk_chunk *chunk);

/* The memory that a chunk of these runs keeps: its own, and the whole capacity of each buffer, counted
 * once (or more often, if more than a few buffers alternate). */
size_t zk_runs_charge(const zk_runs *runs);

/* Copies adjacent runs that together use less than half of their buffer into one of their own size, so
 * that the charge is what they need. False without memory: the rest stays uncopied. */
bool zk_runs_settle(zk_runs *runs);

/* Returns whether they hold more than one message. */
bool zk_runs_can_cut(const zk_runs *runs);

/* The charge of a chunk of the first message alone. */
size_t zk_runs_least_charge(const zk_runs *runs);

/* Cuts the front off runs with more than one message: the charge of a chunk of it is at most
 * `max_bytes`, unless it is a single message. At least one message remains. `front` must be empty. Runs
 * that would share a buffer with the rest are copied.
 * False without memory, or if bytes have changed since they were checked: then nothing is cut. */
bool zk_runs_cut_front(zk_runs *runs, size_t max_bytes, zk_runs *front);

/* Copies the runs, with references of their own. False without memory. */
bool zk_runs_copy(const zk_runs *runs, zk_runs *copy);

/* Cuts the front off a chunk, as zk_runs_cut_front; null if that fails. */
zk_chunk *zk_chunk_cut_front(zk_chunk *chunk, size_t max_bytes);

#endif
