/* The fields of a queue, for the two files that use them: queue.c and queue_stream.c. */
#ifndef ZK_QUEUE_INSIDE_H
#define ZK_QUEUE_INSIDE_H

#include "queue.h"

#include <pthread.h>
#include <unistd.h>

struct zk_queue {
    pthread_mutex_t mutex; /* for all that follows, but what never changes */
    pid_t process;         /* never changes, as the next four */
    size_t max_chunks;
    zk_on_change on_change;
    void *owner;
    zk_wakeup *stream; /* wakes the stream; null where it does not wait, so that it costs no descriptors */
    zk_chunk *first;
    zk_chunk **end; /* where the next entry is linked */
    uint64_t last_number;
    size_t share_bytes;
    size_t chunk_count; /* of active claims and others */
    size_t queued_bytes, pending_bytes;
    size_t reserved_chunks, reserved_bytes; /* reserved for pieces that are being cut */
    bool is_woken;    /* since the stream last checked */
    bool is_stirred;  /* the same for entries */
    bool is_listened; /* on_change is to be called */
    zk_wakeup **wakeups;  /* of the pumps that wait for capacity */
    size_t wakeup_count, wakeup_capacity;
};

/* False in a forked child. Not kept from call to call: not every fork runs hooks. */
static inline bool zk_queue_enter(zk_queue *queue) {
    if (getpid() != queue->process)
        return false;
    pthread_mutex_lock(&queue->mutex);
    return true;
}

static inline void zk_queue_leave(zk_queue *queue) { pthread_mutex_unlock(&queue->mutex); }

/* The rest is called with the mutex. */

bool zk_queue_has_capacity(const zk_queue *queue, size_t size_bytes);
size_t zk_queue_count_active(const zk_queue *queue);

static inline size_t zk_queue_charge(const zk_queue *queue) {
    return queue->queued_bytes + queue->pending_bytes;
}

void zk_queue_link(zk_queue *queue, zk_chunk *entry);
zk_chunk *zk_queue_unlink(zk_queue *queue, zk_chunk **link);

/* Leaves the mutex and wakes the stream, if it waits. */
void zk_queue_leave_and_wake(zk_queue *queue);

#endif
