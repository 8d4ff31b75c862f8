/* The fields of a queue, for queue.c and queue_stream.c. */
#ifndef ZK_QUEUE_INSIDE_H
#define ZK_QUEUE_INSIDE_H

#include "queue.h"

#include <pthread.h>
#include <unistd.h>

struct zk_queue {
    pthread_mutex_t mutex; /* guards all fields below that change */
    pid_t process;         /* never changes, nor do the next three */
    size_t max_chunks;
    zk_on_change on_change;
    void *owner;
    zk_wakeup *stream; /* wakes the stream; null while it does not wait, so that it needs no descriptors */
    zk_chunk *first;
    zk_chunk **end; /* where the next entry is linked */
    uint64_t last_number;
    size_t share_bytes;
    size_t chunk_count; /* of active claims and others */
    size_t queued_bytes, pending_bytes;
    size_t reserved_chunks, reserved_bytes; /* reserved for pieces that are being cut */
    bool is_woken;    /* since the stream last checked */
    bool is_stirred;  /* an entry was put since then */
    bool is_listened; /* call on_change after each put */
    bool is_awaited;  /* call it after the next one */
    zk_wakeup **wakeups;  /* of the pumps that wait for capacity */
    size_t wakeup_count, wakeup_capacity;
};

/* Takes the mutex; false in a forked child. Checked each time, since not every fork runs hooks. */
static inline bool zk_queue_enter(zk_queue *queue) {
    if (getpid() != queue->process)
        return false;
    pthread_mutex_lock(&queue->mutex);
    return true;
}

static inline void zk_queue_leave(zk_queue *queue) { pthread_mutex_unlock(&queue->mutex); }

/* Defines a function that returns a value computed with the mutex; `without` in a forked child. */
#define ZK_QUEUE_READER(type, name, without, value) \
    type name(zk_queue *queue) {                    \
        if (!zk_queue_enter(queue))                 \
            return without;                         \
        const type found = value;                   \
        zk_queue_leave(queue);                      \
        return found;                               \
    }

/* The functions below are called with the mutex held. */

bool zk_queue_has_capacity(const zk_queue *queue, size_t size_bytes);
size_t zk_queue_count_active(const zk_queue *queue);

static inline size_t zk_queue_charge(const zk_queue *queue) {
    return queue->queued_bytes + queue->pending_bytes;
}

void zk_queue_link(zk_queue *queue, zk_chunk *entry);
zk_chunk *zk_queue_unlink(zk_queue *queue, zk_chunk **link);

/* Releases the mutex, and wakes the stream if it waits. */
void zk_queue_leave_and_wake(zk_queue *queue);

#endif
