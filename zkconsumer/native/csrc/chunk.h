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
    size_t size_bytes;     /* what it is charged: zk_runs_charge, unless Python made it */
    zk_runs runs;          /* none of their messages below fetch_offset */
    uint64_t ticket;       /* the queue's: which object of Python stands for it; 0: none does */
} zk_chunk;

/* A chunk of these runs, which become its own (`runs` is emptied), charged what they hold.
 * Shares the claim. Null without memory; then the runs stay the caller's. */
zk_chunk *zk_chunk_new(zk_claim *claim, int64_t fetch_offset, int64_t next_offset, zk_runs *runs);

/* Drops it and all it holds; null is fine. A buffer that belongs to Python takes the GIL then: hold
 * no lock. */
void zk_chunk_free(zk_chunk *chunk);

/* The memory that runs keep: each of their buffers with its whole capacity, once (some twice where
 * very many take turns), and the runs themselves. */
size_t zk_runs_charge(const zk_runs *runs);

/* Copies every run that takes less than half of its buffer into one of its own size, so that what
 * is charged is what is needed. False without memory: what was not copied stays as it was. */
bool zk_runs_settle(zk_runs *runs);

/* Whether runs are more than one message. */
bool zk_runs_can_cut(const zk_runs *runs);

/* Takes the front off runs that can be cut: what holds at most `max_bytes`, but one message at
 * least, and leaves one at least. `front` must be empty. What shares a buffer with the rest is copied.
 * False without memory, or if bytes have changed since they were checked; then nothing is cut. */
bool zk_runs_cut_front(zk_runs *runs, size_t max_bytes, zk_runs *front);

/* The same for a chunk; null in place of false. */
zk_chunk *zk_chunk_cut_front(zk_chunk *chunk, size_t max_bytes);

#endif
