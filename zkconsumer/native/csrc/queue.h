/* The queue of one stream: the native twin of `streams.chunk_queue.ChunkQueue`, with the same rules.
 *
 * A mutex is held for a few instructions, never while Python objects are called, made or freed, and never
 * while a chunk is freed. Python's signal handlers run between bytecodes, so none interrupts C code that
 * holds it. A forked child lacks the parent's other threads, and must not touch a queue or its mutex:
 * there the queue is empty and accepts nothing.
 *
 * Entries made by Python are queued among those of the pump. The queue knows their number, by which
 * Python finds its object, and of chunks also the claim and the charge. */
#ifndef ZK_QUEUE_H
#define ZK_QUEUE_H

#include "wakeup.h"
#include "chunk.h"

typedef struct zk_queue zk_queue;

/* For the pump. Thread: any, with the GIL or without. The caller of these two keeps the Python `Queue`
 * alive meanwhile. ------------------------------------------------------------------------------- */

/* The size of the largest chunk that it accepts now: at most half of its share; SIZE_MAX / 2 without a
 * limit. 0: it is full, and `pump` (unless null) is notified once when it may have capacity. */
size_t zk_queue_free_bytes(zk_queue *queue, zk_wakeup *pump);

/* Takes ownership of the chunk; false: it does not fit, and `pump` is notified once when it may.
 * A chunk larger than half the share is split, and its front may be in although this returns false:
 * `chunk` then is the rest, to be offered again. A single message larger than the share is accepted
 * when the queue is empty. A chunk of an inactive claim is accepted and dropped.
 * May take the GIL, if a task of an event loop waits for the stream: hold no lock. */
bool zk_queue_put(zk_queue *queue, zk_chunk *chunk, zk_wakeup *pump);

/* Removes a waiting pump, which no longer uses the queue. */
void zk_queue_remove_wakeup(zk_queue *queue, zk_wakeup *wakeup);

/* For native/_queue.pxi. Thread: any, with the GIL, unless stated otherwise. ---------------------- */

/* Called without the mutex after each chunk of zk_queue_put, while there is a listener; and after the next
 * one that is awaited. */
typedef void (*zk_on_change)(void *owner);

/* Null without memory or descriptors. */
zk_queue *zk_queue_new(size_t max_chunks, zk_on_change on_change, void *owner);

/* Frees a queue that is no longer used. Takes no lock; does nothing in a forked child. */
void zk_queue_free(zk_queue *queue);

/* Sets its limit; SIZE_MAX: none. */
void zk_queue_set_share(zk_queue *queue, size_t share_bytes);

/* The intended maximum of a chunk: half of the share, at least 1. For the pump as well. */
size_t zk_queue_half_share(zk_queue *queue);

/* Sets whether on_change is called after each chunk. */
void zk_queue_set_listened(zk_queue *queue, bool is_listened);

/* Returns the number for the next entry. */
uint64_t zk_queue_next_number(zk_queue *queue);

bool zk_queue_fits(zk_queue *queue, size_t size_bytes);

/* Takes ownership of an entry that Python has an object for, by the number in it; of a chunk (an entry
 * with a claim) only if it fits as it is. */
bool zk_queue_add(zk_queue *queue, zk_chunk *entry);

void zk_queue_wake(zk_queue *queue);

/* Returns whether it was woken, or (with `by_entries`) an entry was put, since the last call. */
bool zk_queue_was_woken(zk_queue *queue, bool by_entries);

/* Waits up to timeout_ms for an entry (any; with `for_another` one that is put from now on) or a wake;
 * may end early. Without the GIL. Thread: the stream's. */
void zk_queue_wait(zk_queue *queue, bool for_another, int timeout_ms);

typedef enum { ZK_HEAD_NONE, ZK_HEAD_NAMED, ZK_HEAD_CHUNK, ZK_HEAD_NO_MEMORY } zk_head_kind;

/* Copies the head; for ZK_HEAD_CHUNK with references to its runs and its claim. Before that, chunks of
 * inactive claims that Python has no objects for are moved to `dropped`: a list, to be freed by
 * zk_chunks_free. */
zk_head_kind zk_queue_head(zk_queue *queue, zk_chunk *head, zk_chunk **dropped);

/* Records that Python has an object for the head; false if the head is another entry, or had one. */
bool zk_queue_name(zk_queue *queue, uint64_t number);

/* Returns the number of the head, if Python has an object for it; else 0. */
uint64_t zk_queue_named_head(zk_queue *queue);

/* Removes the head, for which Python has an object. True: it is a chunk, and pending from now on. */
bool zk_queue_remove(zk_queue *queue);

/* Ends the pending chunk: its charge is over. */
void zk_queue_done(zk_queue *queue);

/* For a reader that takes whole chunks, without an object of Python for each. It takes no entries that
 * Python has objects for, and stops in front of them. */

/* The head, for zk_queue_take. */
typedef struct {
    uint64_t number;
    int64_t fetch_offset, next_offset; /* see zk_chunk */
    size_t size_bytes;
    int32_t leader_epoch;
} zk_front;

/* Describes the head; false: there is none. Before that, drops chunks as zk_queue_head does. */
bool zk_queue_look(zk_queue *queue, zk_front *front, zk_chunk **dropped);

/* Removes the head, which is the caller's from now on; its charge is the pending one, in place of that of
 * the chunk taken before. Null if another entry is the head by now, or its claim is inactive. */
zk_chunk *zk_queue_take(zk_queue *queue, uint64_t number);

/* Returns whether a chunk of an active claim is there; if not, on_change is called after the next
 * zk_queue_put: once. False in a forked child. */
bool zk_queue_await(zk_queue *queue);

/* Returns the charge of the entries in it, without the pending one. */
size_t zk_queue_queued_bytes(zk_queue *queue);

/* Returns how many records are in chunks of active claims, except those that Python has objects for. */
size_t zk_queue_record_count(zk_queue *queue);

/* Removes the chunks of inactive claims; those that Python has objects for stay, without a charge. */
void zk_queue_discard(zk_queue *queue, zk_chunk **dropped);

/* Notifies the pumps that wait for capacity. */
void zk_queue_notify_pumps(zk_queue *queue);

size_t zk_queue_chunk_count(zk_queue *queue);
size_t zk_queue_used_bytes(zk_queue *queue);
/* Returns how many pumps wait for capacity. */
size_t zk_queue_waiting_pumps(zk_queue *queue);

/* Frees a list of chunks. */
void zk_chunks_free(zk_chunk *chunks);

#endif
