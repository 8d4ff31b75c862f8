/* A chunk: what one fetched set of one partition, or a piece of it, brought. */
#ifndef ZK_CHUNK_H
#define ZK_CHUNK_H

#include "claim.h"
#include "run.h"

typedef struct zk_chunk {
    struct zk_chunk *next; /* the queue's */
    zk_claim *claim;       /* a reference; null in a queue's entries that are no chunks */
    int64_t fetch_offset;  /* the offset that was asked for, or where the piece before it ended */
    int64_t next_offset;   /* where the log goes on behind it */
    size_t size_bytes;     /* what it is charged */
    zk_runs runs;          /* none of their messages below fetch_offset */
    uint64_t number;       /* the queue's: of this entry, never given twice */
    bool is_named;         /* the queue's: Python has an object for it */
} zk_chunk;

/* A chunk of these runs, which become its own (`runs` is emptied), charged what they hold.
 * Shares the claim. Null without memory; then the runs stay the caller's. */
zk_chunk *zk_chunk_new(zk_claim *claim, int64_t fetch_offset, int64_t next_offset, zk_runs *runs);

/* Drops it and all it holds; null is fine. A buffer that belongs to Python takes the GIL then: hold
 * no lock. */
void zk_chunk_free(zk_chunk *chunk);

/* The memory that a chunk of these runs takes: each of their buffers with its whole capacity, once
 * (some twice where more than a few take turns), and what it takes itself. */
size_t zk_runs_charge(const zk_runs *runs);

/* Copies runs that lie side by side and together take less than half of their buffer into one of
 * their own size, so that what is charged is what is needed. False without memory: what was not copied
 * stays as it was. */
bool zk_runs_settle(zk_runs *runs);

/* Whether they are more than one message. */
bool zk_runs_can_cut(const zk_runs *runs);

/* What a chunk of the first message alone would be charged. */
size_t zk_runs_least_charge(const zk_runs *runs);

/* Takes the front off runs that can be cut: a chunk of it is charged at most `max_bytes`, unless it is
 * one message. One message at least is left. `front` must be empty. What would share its buffer with
 * the rest is copied.
 * False without memory, or if bytes have changed since they were checked; then nothing is cut. */
bool zk_runs_cut_front(zk_runs *runs, size_t max_bytes, zk_runs *front);

/* The same runs once more, with references of their own. False without memory. */
bool zk_runs_copy(const zk_runs *runs, zk_runs *copy);

/* The same for a chunk; null in place of false. */
zk_chunk *zk_chunk_cut_front(zk_chunk *chunk, size_t max_bytes);

#endif
