#define _POSIX_C_SOURCE 200809L
#include "queue_inside.h"

#include <poll.h>
#include <stdlib.h>

enum { WITHOUT_WAKEUP_MS = 10 };

static bool is_dead(const zk_chunk *entry) {
    return entry->claim && !entry->is_named && !zk_claim_is_active(entry->claim);
}

static void drop_entry(zk_queue *queue, zk_chunk **link, zk_chunk **dropped) {
    zk_chunk *entry = zk_queue_unlink(queue, link);
    entry->next = *dropped;
    *dropped = entry;
}

void zk_queue_set_share(zk_queue *queue, size_t share_bytes) {
    if (!zk_queue_enter(queue))
        return;
    queue->share_bytes = share_bytes;
    zk_queue_leave(queue);
}

void zk_queue_set_listened(zk_queue *queue, bool is_listened) {
    if (!zk_queue_enter(queue))
        return;
    queue->is_listened = is_listened;
    zk_queue_leave(queue);
}

static size_t count_records(const zk_queue *queue) {
    size_t count = 0;
    for (const zk_chunk *entry = queue->first; entry; entry = entry->next)
        if (entry->claim && zk_claim_is_active(entry->claim))
            for (size_t at = 0; at < entry->runs.count; at++)
                count += entry->runs.items[at].count;
    return count;
}

static uint64_t named_head(const zk_queue *queue) {
    return queue->first && queue->first->is_named ? queue->first->number : 0;
}

ZK_QUEUE_READER(uint64_t, zk_queue_next_number, 0, ++queue->last_number)
ZK_QUEUE_READER(uint64_t, zk_queue_named_head, 0, named_head(queue))
ZK_QUEUE_READER(size_t, zk_queue_chunk_count, 0, zk_queue_count_active(queue))
ZK_QUEUE_READER(size_t, zk_queue_queued_bytes, 0, queue->queued_bytes)
ZK_QUEUE_READER(size_t, zk_queue_record_count, 0, count_records(queue))
ZK_QUEUE_READER(size_t, zk_queue_waiting_pumps, 0, queue->wakeup_count)
ZK_QUEUE_READER(size_t, zk_queue_used_bytes, 0, zk_queue_charge(queue))

bool zk_queue_fits(zk_queue *queue, size_t size_bytes) {
    if (!zk_queue_enter(queue))
        return false;
    const bool has_capacity = zk_queue_has_capacity(queue, size_bytes);
    zk_queue_leave(queue);
    return has_capacity;
}

bool zk_queue_add(zk_queue *queue, zk_chunk *entry) {
    if (!zk_queue_enter(queue))
        return false;
    if (entry->claim && !zk_queue_has_capacity(queue, entry->size_bytes)) {
        zk_queue_leave(queue);
        return false;
    }
    entry->is_named = true;
    zk_queue_link(queue, entry);
    zk_queue_leave_and_wake(queue);
    return true;
}

void zk_queue_wake(zk_queue *queue) {
    if (!zk_queue_enter(queue))
        return;
    queue->is_woken = true;
    zk_queue_leave_and_wake(queue);
}

bool zk_queue_was_woken(zk_queue *queue, bool by_entries) {
    if (!zk_queue_enter(queue))
        return true;
    const bool is_woken = queue->is_woken || (by_entries && queue->is_stirred);
    queue->is_woken = false;
    if (by_entries)
        queue->is_stirred = false;
    zk_queue_leave(queue);
    return is_woken;
}

/* Has the next change notify this wakeup; false: the stream need not wait. */
static bool await(zk_queue *queue, bool for_another, zk_wakeup *wakeup) {
    if (!zk_queue_enter(queue))
        return false;
    const bool is_there = for_another ? queue->is_stirred : queue->first != NULL;
    const bool waits = !is_there && !queue->is_woken;
    if (waits && wakeup)
        queue->stream = zk_wakeup_share(wakeup);
    zk_queue_leave(queue);
    return waits;
}

void zk_queue_wait(zk_queue *queue, bool for_another, int timeout_ms) {
    if (!await(queue, for_another, NULL))
        return;
    zk_wakeup *const wakeup = zk_wakeup_new();
    if (!wakeup) { /* no descriptors: poll the queue instead */
        poll(NULL, 0, timeout_ms < WITHOUT_WAKEUP_MS ? timeout_ms : WITHOUT_WAKEUP_MS);
        return;
    }
    if (await(queue, for_another, wakeup))
        zk_wakeup_wait(wakeup, timeout_ms);
    /* Not in a child that was forked meanwhile: the mutex is its parent's. */
    if (zk_queue_enter(queue)) {
        zk_wakeup_drop(queue->stream);
        queue->stream = NULL;
        zk_queue_leave(queue);
    }
    zk_wakeup_drop(wakeup);
}

static void drop_dead_heads(zk_queue *queue, zk_chunk **dropped) {
    while (queue->first && is_dead(queue->first))
        drop_entry(queue, &queue->first, dropped);
}

zk_head_kind zk_queue_head(zk_queue *queue, zk_chunk *head, zk_chunk **dropped) {
    if (!zk_queue_enter(queue))
        return ZK_HEAD_NONE;
    drop_dead_heads(queue, dropped);
    zk_head_kind kind = ZK_HEAD_NONE;
    if (queue->first) {
        *head = *queue->first;
        if (head->is_named)
            kind = ZK_HEAD_NAMED;
        else if (!zk_runs_copy(&queue->first->runs, &head->runs))
            kind = ZK_HEAD_NO_MEMORY;
        else
            kind = ZK_HEAD_CHUNK;
        if (kind == ZK_HEAD_CHUNK)
            zk_claim_share(head->claim);
    }
    zk_queue_leave(queue);
    return kind;
}

bool zk_queue_name(zk_queue *queue, uint64_t number) {
    if (!zk_queue_enter(queue))
        return false;
    zk_runs runs = {0};
    const bool is_same = queue->first && queue->first->number == number && !queue->first->is_named;
    if (is_same) {
        queue->first->is_named = true;
        runs = queue->first->runs; /* Python's object has its own references */
        queue->first->runs = (zk_runs){0};
    }
    zk_queue_leave(queue);
    zk_runs_free(&runs);
    return is_same;
}

bool zk_queue_remove(zk_queue *queue) {
    if (!zk_queue_enter(queue))
        return false;
    zk_chunk *entry = queue->first ? zk_queue_unlink(queue, &queue->first) : NULL;
    const bool is_chunk = entry && entry->claim;
    if (is_chunk)
        queue->pending_bytes = entry->size_bytes;
    zk_queue_leave(queue);
    zk_chunk_free(entry);
    return is_chunk;
}

void zk_queue_done(zk_queue *queue) {
    if (!zk_queue_enter(queue))
        return;
    queue->pending_bytes = 0;
    zk_queue_leave(queue);
}

bool zk_queue_look(zk_queue *queue, zk_front *front, zk_chunk **dropped) {
    if (!zk_queue_enter(queue))
        return false;
    drop_dead_heads(queue, dropped);
    const zk_chunk *const head = queue->first;
    const bool is_there = head && !head->is_named;
    if (is_there)
        *front = (zk_front){
            .number = head->number,
            .fetch_offset = head->fetch_offset,
            .next_offset = head->next_offset,
            .size_bytes = head->size_bytes,
            .leader_epoch = head->leader_epoch,
        };
    zk_queue_leave(queue);
    return is_there;
}

zk_chunk *zk_queue_take(zk_queue *queue, uint64_t number) {
    if (!zk_queue_enter(queue))
        return NULL;
    zk_chunk *taken = queue->first;
    if (taken && taken->number == number && !taken->is_named && !is_dead(taken)) {
        zk_queue_unlink(queue, &queue->first);
        queue->pending_bytes = taken->size_bytes;
    } else {
        taken = NULL;
    }
    zk_queue_leave(queue);
    return taken;
}

bool zk_queue_await(zk_queue *queue) {
    if (!zk_queue_enter(queue))
        return false;
    const bool is_there = zk_queue_count_active(queue) > 0;
    queue->is_awaited = !is_there;
    zk_queue_leave(queue);
    return is_there;
}

void zk_queue_discard(zk_queue *queue, zk_chunk **dropped) {
    if (!zk_queue_enter(queue))
        return;
    for (zk_chunk **link = &queue->first; *link;) {
        zk_chunk *entry = *link;
        if (is_dead(entry)) {
            drop_entry(queue, link, dropped);
            continue;
        }
        if (entry->claim && !zk_claim_is_active(entry->claim)) {
            queue->queued_bytes -= entry->size_bytes;
            entry->size_bytes = 0;
        }
        link = &entry->next;
    }
    zk_queue_leave(queue);
}

void zk_queue_notify_pumps(zk_queue *queue) {
    if (!zk_queue_enter(queue))
        return;
    zk_wakeup **const wakeups = queue->wakeups;
    const size_t count = queue->wakeup_count;
    queue->wakeups = NULL;
    queue->wakeup_count = queue->wakeup_capacity = 0;
    zk_queue_leave(queue);
    for (size_t at = 0; at < count; at++) {
        zk_wakeup_notify(wakeups[at]);
        zk_wakeup_drop(wakeups[at]);
    }
    free(wakeups);
}

void zk_queue_remove_wakeup(zk_queue *queue, zk_wakeup *wakeup) {
    if (!zk_queue_enter(queue))
        return;
    zk_wakeup *removed = NULL;
    for (size_t at = 0; at < queue->wakeup_count && !removed; at++) {
        if (queue->wakeups[at] == wakeup) {
            removed = wakeup;
            queue->wakeups[at] = queue->wakeups[--queue->wakeup_count];
        }
    }
    zk_queue_leave(queue);
    zk_wakeup_drop(removed);
}
