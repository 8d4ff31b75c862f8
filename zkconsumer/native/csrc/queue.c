#define _POSIX_C_SOURCE 200809L
#include "queue_inside.h"

#include <stdlib.h>

static const size_t NO_BOUND = SIZE_MAX / 2;

zk_queue *zk_queue_new(size_t max_chunks, zk_on_change on_change, void *owner) {
    zk_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    if (pthread_mutex_init(&queue->mutex, NULL) != 0) {
        free(queue);
        return NULL;
    }
    queue->process = getpid();
    queue->max_chunks = max_chunks;
    queue->on_change = on_change;
    queue->owner = owner;
    queue->end = &queue->first;
    queue->share_bytes = SIZE_MAX;
    return queue;
}

void zk_queue_free(zk_queue *queue) {
    if (!queue || getpid() != queue->process)
        return;
    zk_chunks_free(queue->first);
    for (size_t at = 0; at < queue->wakeup_count; at++)
        zk_wakeup_drop(queue->wakeups[at]);
    free(queue->wakeups);
    zk_wakeup_drop(queue->stream);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

void zk_chunks_free(zk_chunk *chunks) {
    while (chunks) {
        zk_chunk *next = chunks->next;
        zk_chunk_free(chunks);
        chunks = next;
    }
}

/* --- capacity; with the mutex -------------------------------------------------------------------- */

static bool is_bounded(const zk_queue *queue) { return queue->share_bytes != SIZE_MAX; }

static size_t half_share(const zk_queue *queue) {
    if (!is_bounded(queue))
        return NO_BOUND;
    return queue->share_bytes > 1 ? queue->share_bytes / 2 : 1;
}

size_t zk_queue_count_active(const zk_queue *queue) {
    size_t count = 0;
    for (const zk_chunk *entry = queue->first; entry; entry = entry->next)
        count += entry->claim && zk_claim_is_active(entry->claim);
    return count;
}

static size_t used_bytes(const zk_queue *queue) {
    return zk_queue_charge(queue) + queue->reserved_bytes;
}

bool zk_queue_has_capacity(const zk_queue *queue, size_t size_bytes) {
    /* Chunks of inactive claims are counted only where they might make the difference. */
    if (queue->chunk_count + queue->reserved_chunks >= queue->max_chunks &&
        zk_queue_count_active(queue) + queue->reserved_chunks >= queue->max_chunks)
        return false;
    const size_t used = used_bytes(queue);
    return !is_bounded(queue) || !used ||
           (size_bytes <= queue->share_bytes && used <= queue->share_bytes - size_bytes);
}

static size_t free_share(const zk_queue *queue) {
    const size_t half = half_share(queue), used = used_bytes(queue);
    if (!zk_queue_has_capacity(queue, half / 4 ? half / 4 : 1))
        return 0;
    if (!is_bounded(queue))
        return half;
    const size_t left = used < queue->share_bytes ? queue->share_bytes - used : 1;
    return left < half ? left : half;
}

/* Without memory it notifies at once: a spurious wake-up does no harm. */
static void wait_for_capacity(zk_queue *queue, zk_wakeup *wakeup) {
    if (!wakeup)
        return;
    for (size_t at = 0; at < queue->wakeup_count; at++)
        if (queue->wakeups[at] == wakeup)
            return;
    if (queue->wakeup_count == queue->wakeup_capacity) {
        const size_t capacity = queue->wakeup_capacity ? queue->wakeup_capacity * 2 : 4;
        zk_wakeup **wakeups = realloc(queue->wakeups, capacity * sizeof *wakeups);
        if (!wakeups) {
            zk_wakeup_notify(wakeup);
            return;
        }
        queue->wakeups = wakeups;
        queue->wakeup_capacity = capacity;
    }
    queue->wakeups[queue->wakeup_count++] = zk_wakeup_share(wakeup);
}

/* --- entries; with the mutex --------------------------------------------------------------------- */

void zk_queue_link(zk_queue *queue, zk_chunk *entry) {
    entry->next = NULL;
    *queue->end = entry;
    queue->end = &entry->next;
    queue->is_stirred = true;
    if (entry->claim) {
        queue->chunk_count++;
        queue->queued_bytes += entry->size_bytes;
    }
}

/* Takes out the entry that `link` leads to. */
zk_chunk *zk_queue_unlink(zk_queue *queue, zk_chunk **link) {
    zk_chunk *entry = *link;
    *link = entry->next;
    if (queue->end == &entry->next)
        queue->end = link;
    if (entry->claim) {
        queue->chunk_count--;
        queue->queued_bytes -= entry->size_bytes;
    }
    entry->next = NULL;
    return entry;
}

void zk_queue_leave_and_wake(zk_queue *queue) {
    zk_wakeup *const wakeup = queue->stream;
    queue->stream = NULL;
    zk_queue_leave(queue);
    if (wakeup)
        zk_wakeup_notify(wakeup);
    zk_wakeup_drop(wakeup);
}

/* --- for the pump -------------------------------------------------------------------------------- */

size_t zk_queue_free_bytes(zk_queue *queue, zk_wakeup *pump) {
    if (!zk_queue_enter(queue))
        return 0;
    const size_t bytes = free_share(queue);
    if (!bytes)
        wait_for_capacity(queue, pump);
    zk_queue_leave(queue);
    return bytes;
}

ZK_QUEUE_READER(size_t, zk_queue_half_share, NO_BOUND, half_share(queue))

/* With the mutex, which it leaves. */
static void put(zk_queue *queue, zk_chunk *chunk) {
    const bool calls = queue->is_listened || queue->is_awaited;
    queue->is_awaited = false;
    chunk->number = ++queue->last_number;
    chunk->is_named = false;
    zk_queue_link(queue, chunk);
    zk_queue_leave_and_wake(queue);
    if (calls)
        queue->on_change(queue->owner);
}

/* Reserves capacity for the next front of a chunk until put_reserved. */
static bool reserve_capacity(zk_queue *queue, size_t size_bytes, zk_wakeup *pump) {
    if (!zk_queue_enter(queue))
        return false;
    const bool has_capacity = zk_queue_has_capacity(queue, size_bytes);
    if (has_capacity) {
        queue->reserved_chunks++;
        queue->reserved_bytes += size_bytes;
    } else {
        wait_for_capacity(queue, pump);
    }
    zk_queue_leave(queue);
    return has_capacity;
}

/* Puts the front that capacity was reserved for; null: only ends the reservation. */
static void put_reserved(zk_queue *queue, size_t size_bytes, zk_chunk *front) {
    if (!zk_queue_enter(queue))
        return;
    queue->reserved_chunks--;
    queue->reserved_bytes -= size_bytes;
    if (!front) {
        zk_queue_leave(queue);
        return;
    }
    put(queue, front);
}

bool zk_queue_put(zk_queue *queue, zk_chunk *chunk, zk_wakeup *pump) {
    if (!zk_claim_is_active(chunk->claim)) {
        zk_chunk_free(chunk);
        return true;
    }
    const size_t half = zk_queue_half_share(queue);
    while (chunk->size_bytes > half && zk_runs_can_cut(&chunk->runs)) {
        const size_t least = zk_runs_least_charge(&chunk->runs);
        const size_t part = half > least ? half : least;
        if (!reserve_capacity(queue, part, pump))
            return false;
        zk_chunk *front = zk_chunk_cut_front(chunk, half);
        put_reserved(queue, part, front);
        if (!front)
            break; /* no memory for cutting it: then it goes as it is */
    }
    if (!zk_queue_enter(queue))
        return false;
    if (!zk_queue_has_capacity(queue, chunk->size_bytes)) {
        wait_for_capacity(queue, pump);
        zk_queue_leave(queue);
        return false;
    }
    put(queue, chunk);
    return true;
}
