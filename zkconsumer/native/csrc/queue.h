/* The queue of one stream: the native twin of `streams.chunk_queue.ChunkQueue`, whose rules it has.
 *
 * A mutex is held for a few instructions, never while anything of Python is called, made or freed, and
 * never while a chunk is freed. Signal handlers of Python run between bytecodes, so none ever
 * interrupts C code that holds it. In a forked child, whose other threads are gone with whatever they
 * held, nothing of a queue may be touched, the mutex neither: there it is empty and takes nothing.
 *
 * Entries that Python made stand in the same line as those of the pump. Of them it knows a number, by
 * which Python finds its object, and for chunks the claim and what they are charged. */
#ifndef ZK_QUEUE_H
#define ZK_QUEUE_H

#include "bell.h"
#include "chunk.h"

typedef struct zk_queue zk_queue;

/* For the pump. Thread: any, with the GIL or without. Whoever calls these two keeps the Python `Queue`
 * alive meanwhile. ------------------------------------------------------------------------------- */

/* How large a chunk it could take now: at most half of its share; SIZE_MAX / 2 where it has no
 * bound. 0: none, and the bell rings once as soon as there may be room. */
size_t zk_queue_room(zk_queue *queue, zk_bell *pump);

/* Takes the chunk over, or returns false where there is no room for it, and the bell rings once as
 * soon as there may be.
 * A chunk larger than half the share is cut, and its front may be in although the answer is false:
 * `chunk` then is what is left, to be offered again. One message that is larger than the share gets
 * in when nothing else is there. A chunk of an inactive claim is taken and dropped.
 * May take the GIL, where a task of an event loop waits for the stream: hold no lock. */
bool zk_queue_put(zk_queue *queue, zk_chunk *chunk, zk_bell *pump);

/* Rings this bell no more: whoever it wakes is through with the queue. */
void zk_queue_forget_bell(zk_queue *queue, zk_bell *bell);

/* For native/_queue.pxi. Thread: any, with the GIL, but where it says otherwise. ------------------ */

/* Called, without the mutex, after zk_queue_put has put something, while somebody listens. */
typedef void (*zk_on_change)(void *owner);

/* Null without memory or descriptors. */
zk_queue *zk_queue_new(size_t max_chunks, zk_on_change on_change, void *owner);

/* Nobody may use it any more. Takes no lock; in a forked child it leaves everything as it is. */
void zk_queue_free(zk_queue *queue);

/* What it may hold; SIZE_MAX: no bound. */
void zk_queue_set_share(zk_queue *queue, size_t share_bytes);

/* The largest that a chunk should be: half of the share, at least 1. For the pump as well. */
size_t zk_queue_half_share(zk_queue *queue);

/* Whether on_change is to be called. */
void zk_queue_set_listened(zk_queue *queue, bool is_listened);

/* A number for an entry that is about to be made. */
uint64_t zk_queue_next_number(zk_queue *queue);

bool zk_queue_fits(zk_queue *queue, size_t size_bytes);

/* As zk_queue_room, without a bell. */
size_t zk_queue_free_bytes(zk_queue *queue);

/* Takes an entry over that Python has an object for, with the number in it; a chunk (an entry with a
 * claim) only if it fits as it is. */
bool zk_queue_add(zk_queue *queue, zk_chunk *entry);

void zk_queue_wake(zk_queue *queue);

/* Whether it was woken, or (with `by_entries`) anything was put, since this was asked last. */
bool zk_queue_was_woken(zk_queue *queue, bool by_entries);

/* Waits for an entry (any, or with `for_another` one that is put from now on) or a wake; may end early.
 * Without the GIL, for at most so long. Thread: the stream's. */
void zk_queue_wait(zk_queue *queue, bool for_another, int timeout_ms);

typedef enum { ZK_HEAD_NONE, ZK_HEAD_NAMED, ZK_HEAD_CHUNK, ZK_HEAD_NO_MEMORY } zk_head_kind;

/* Copies the head; for ZK_HEAD_CHUNK with its runs and its claim (both are the caller's then). Before
 * that, chunks of inactive claims that Python knows nothing of are taken out, into `dropped`: a list,
 * to be freed by zk_chunks_free. */
zk_head_kind zk_queue_head(zk_queue *queue, zk_chunk *head, zk_chunk **dropped);

/* Python has an object for the head now; false if it is another one by now, or had one. */
bool zk_queue_name(zk_queue *queue, uint64_t number);

/* The number of the head, if Python has an object for it; else 0. */
uint64_t zk_queue_named_head(zk_queue *queue);

/* Takes the head out, for which Python has an object. True: it is a chunk, and in hand from then on. */
bool zk_queue_remove(zk_queue *queue);

/* Nothing is in hand any more. */
void zk_queue_done(zk_queue *queue);

/* Takes out what nobody needs any more, and charges nothing for what is left of it in Python. */
void zk_queue_discard(zk_queue *queue, zk_chunk **dropped);

/* Rings the bells of those who found no room. */
void zk_queue_ring(zk_queue *queue);

size_t zk_queue_chunk_count(zk_queue *queue);
size_t zk_queue_used_bytes(zk_queue *queue);
/* How many pumps wait for room: their bells. */
size_t zk_queue_waiting_pumps(zk_queue *queue);

/* Frees a list of chunks. */
void zk_chunks_free(zk_chunk *chunks);

#endif
