/* Pumps that fill the queue of one stream, which waits, reads, gives claims up and is woken; the
 * sanitizer it is built with does the judging.
 *
 *     queue ROUNDS FILE...      FILE: a sound record set */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "queue.h"
#include "sets.h"
#include "batches.h"

enum { PUMPS = 3, PATIENCE_MS = 20000 };

static zk_queue *queue;
static _Atomic(zk_claim *) claims[PUMPS]; /* each its pump's; the stream only gives them up */
static atomic_int pumps_left;
static atomic_ulong sent, dropped_for;
static atomic_ulong awaits, calls; /* calls: that a chunk was awaited for */

static void require(bool holds) {
    if (!holds)
        abort();
}

static zk_chunk *read_chunk(zk_claim *claim, size_t at) {
    zk_buffer *set = zk_buffer_exact(sizes[at]);
    memcpy(set->data, sets[at], sizes[at]);
    const zk_set_limits limits = {0, 1 << 24, 1 << 24, 4096};
    zk_runs runs = {0};
    zk_read_set(set, 0, &limits, &runs);
    zk_buffer_drop(set);
    for (size_t run = 0; run < runs.count; run++)
        atomic_fetch_add(&sent, runs.items[run].count);
    return zk_chunk_new(claim, 0, 1, &runs);
}

static void *pump(void *number) {
    _Atomic(zk_claim *) *place = claims + (uintptr_t)number;
    zk_wakeup *wakeup = zk_wakeup_new();
    for (long left = rounds; left; left--) {
        zk_claim *claim = atomic_load(place);
        if (!zk_claim_is_active(claim)) {
            /* The stream may still look at it: it has a reference of its own. */
            atomic_store(place, zk_claim_new());
            zk_claim_drop(claim);
            claim = atomic_load(place);
        }
        zk_chunk *chunk = read_chunk(claim, (size_t)left % set_count);
        while (zk_queue_free_bytes(queue, wakeup) == 0 || !zk_queue_put(queue, chunk, wakeup)) {
            require(zk_wakeup_wait(wakeup, PATIENCE_MS));
            zk_wakeup_clear(wakeup);
        }
        if (left % 64 == 0)
            zk_queue_wake(queue);
    }
    zk_wakeup_drop(wakeup);
    atomic_fetch_sub(&pumps_left, 1);
    zk_queue_wake(queue);
    return NULL;
}

static void discard(void) {
    zk_chunk *dropped = NULL;
    zk_queue_discard(queue, &dropped);
    zk_chunks_free(dropped);
    zk_queue_notify_pumps(queue);
}

static size_t count_in(const zk_runs *runs) {
    size_t count = 0;
    for (size_t at = 0; at < runs->count; at++) {
        zk_cursor cursor = zk_run_begin(runs->items + at);
        zk_message message;
        int64_t offset;
        while (zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE)
            count++;
    }
    return count;
}

/* Gives up the claim of one chunk of many. */
static void give_up(zk_claim *claim) {
    static unsigned long taken;
    if (++taken % 50 == 0) {
        zk_claim_set_active(claim, false);
        atomic_fetch_add(&dropped_for, 1);
        discard();
    }
}

/* Takes one whole chunk, if any; returns how many messages it has. */
static size_t take_whole(bool *is_any) {
    zk_front front;
    zk_chunk *dropped = NULL;
    *is_any = zk_queue_look(queue, &front, &dropped);
    zk_chunks_free(dropped);
    if (*is_any) {
        zk_chunk *chunk = zk_queue_take(queue, front.number);
        require(chunk != NULL);
        zk_queue_notify_pumps(queue);
        const size_t count = count_in(&chunk->runs);
        give_up(chunk->claim);
        zk_chunk_free(chunk);
        return count;
    }
    zk_queue_done(queue);
    zk_queue_notify_pumps(queue);
    atomic_fetch_add(&awaits, !zk_queue_await(queue));
    return 0;
}

/* Takes the head, if any, as a stream does; returns how many messages it has. */
static size_t take_head(bool *is_any) {
    zk_chunk head, *dropped = NULL;
    const zk_head_kind kind = zk_queue_head(queue, &head, &dropped);
    zk_chunks_free(dropped);
    zk_queue_notify_pumps(queue);
    *is_any = kind == ZK_HEAD_CHUNK;
    if (!*is_any)
        return 0;
    const size_t count = count_in(&head.runs);
    /* Only a claim that was given up may be gone by now, and here nobody else does that. */
    require(zk_queue_name(queue, head.number) && zk_queue_remove(queue));
    zk_queue_notify_pumps(queue);
    zk_runs_free(&head.runs);
    give_up(head.claim);
    zk_claim_drop(head.claim);
    zk_queue_done(queue);
    zk_queue_notify_pumps(queue);
    return count;
}

static size_t take(bool *is_any) {
    static unsigned long turns;
    return ++turns % 2 ? take_whole(is_any) : take_head(is_any);
}

static void note_call(void *owner) {
    (void)owner;
    atomic_fetch_add(&calls, 1);
}

int main(int count, char **words) {
    zk_crc32_choose();
    if (!load_all(count, words, 1))
        return 2;
    queue = zk_queue_new(5, note_call, NULL);
    zk_queue_set_share(queue, 50000);
    pthread_t threads[PUMPS];
    atomic_store(&pumps_left, PUMPS);
    for (size_t at = 0; at < PUMPS; at++) {
        atomic_store(claims + at, zk_claim_new());
        if (pthread_create(threads + at, NULL, pump, (void *)(uintptr_t)at) != 0)
            return 2;
    }
    unsigned long got = 0;
    for (bool is_any = true; is_any || atomic_load(&pumps_left);) {
        got += take(&is_any);
        if (!is_any && !zk_queue_was_woken(queue, false))
            zk_queue_wait(queue, false, 1000);
    }
    for (size_t at = 0; at < PUMPS; at++)
        pthread_join(threads[at], NULL);
    for (bool is_any = true; is_any;)
        got += take(&is_any);
    require(zk_queue_used_bytes(queue) == 0 && zk_queue_chunk_count(queue) == 0);
    require(atomic_load(&calls) <= atomic_load(&awaits));
    require(got <= atomic_load(&sent) && got > atomic_load(&sent) / 4);
    zk_queue_free(queue);
    for (size_t at = 0; at < PUMPS; at++)
        zk_claim_drop(atomic_load(claims + at));
    zk_buffer_forget_spares();
    for (size_t at = 0; at < set_count; at++)
        free(sets[at]);
    printf("%lu of %lu messages read, %lu claims given up\n", got, atomic_load(&sent),
           atomic_load(&dropped_for));
    return 0;
}
