/* The queue of one stream: the native twin of `streams.chunk_queue.ChunkQueue`, whose rules it has.
 *
 * A mutex is held for a few instructions, never while anything of Python is called, made or freed, and
 * never while a chunk is freed. Signal handlers of Python run between bytecodes, so none ever
 * interrupts C code that holds it. In a forked child, whose other threads are gone with whatever they
 * held, nothing of a queue may be touched, the mutex neither: see zk_queue_is_ours.
 *
 * Entries that Python made stand in the same line as those of the pump; of them it knows a ticket,
 * what they are charged, and for chunks the claim. */
#ifndef ZK_QUEUE_H
#define ZK_QUEUE_H

#include "bell.h"
#include "chunk.h"

typedef struct zk_queue zk_queue;

/* For the pump. ---------------------------------------------------------------------------------
 * Thread: any, with the GIL or without. Whoever calls them keeps the Python `Queue` alive, and is
 * called by nobody but its bell. */

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

#endif
