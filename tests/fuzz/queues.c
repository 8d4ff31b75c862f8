#include "queues.h"

#include <stdlib.h>

#include "queue.h"
#include "sets.h"

static zk_queue *queue;

static void require(bool holds) {
    if (!holds)
        abort();
}

static size_t count_of(const zk_runs *runs) {
    size_t count = 0;
    for (size_t at = 0; at < runs->count; at++)
        count += runs->items[at].count;
    return count;
}

/* Reads all bytes of what came out; returns how many messages there were. */
static size_t read_all(const zk_runs *runs) {
    size_t count = 0;
    uint64_t sum = 0;
    for (size_t at = 0; at < runs->count; at++) {
        zk_cursor cursor = zk_run_begin(runs->items + at);
        zk_message message;
        int64_t offset;
        size_t here = 0;
        for (; zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE; here++) {
            require(here || offset == runs->items[at].first_offset);
            for (int32_t byte = 0; byte < message.value_bytes; byte++)
                sum += message.value[byte];
        }
        require(here == runs->items[at].count && sum + 1);
        count += here;
    }
    return count;
}

/* Looks at a chunk that is pending; returns how many messages came with it. */
static size_t check(const zk_chunk *chunk, size_t share, int64_t *at) {
    require(chunk->fetch_offset == *at);
    *at = chunk->next_offset;
    const size_t count = read_all(&chunk->runs);
    const bool is_alone = count <= 1 && zk_queue_used_bytes(queue) == chunk->size_bytes;
    require(is_alone || zk_queue_used_bytes(queue) <= share);
    require(chunk->size_bytes >= zk_runs_charge(&chunk->runs));
    return count;
}

/* Takes a whole chunk; returns how many messages came with it. */
static size_t take_whole(size_t share, int64_t *at) {
    zk_front front;
    zk_chunk *dropped = NULL;
    const bool is_there = zk_queue_look(queue, &front, &dropped);
    zk_chunks_free(dropped);
    zk_queue_done(queue);
    if (!is_there)
        return 0;
    zk_chunk *chunk = zk_queue_take(queue, front.number);
    require(chunk && !zk_queue_take(queue, front.number));
    require(chunk->fetch_offset == front.fetch_offset && chunk->size_bytes == front.size_bytes);
    const size_t count = check(chunk, share, at);
    zk_chunk_free(chunk);
    zk_queue_done(queue);
    return count;
}

/* Takes the head as a stream does; returns how many messages came with it. */
static size_t take_head(size_t share, int64_t *at) {
    zk_chunk head, *dropped = NULL;
    const zk_head_kind kind = zk_queue_head(queue, &head, &dropped);
    zk_chunks_free(dropped);
    if (kind == ZK_HEAD_NONE)
        return 0;
    require(kind == ZK_HEAD_CHUNK && zk_queue_name(queue, head.number) &&
            !zk_queue_name(queue, head.number));
    require(zk_queue_named_head(queue) == head.number && zk_queue_remove(queue));
    const size_t count = check(&head, share, at);
    zk_queue_done(queue);
    zk_runs_free(&head.runs);
    zk_claim_drop(head.claim);
    return count;
}

static size_t take(size_t share, int64_t *at) {
    return below(2) ? take_whole(share, at) : take_head(share, at);
}

/* Nobody queues a run without messages. */
static void drop_empty(zk_runs *runs) {
    size_t kept = 0;
    for (size_t at = 0; at < runs->count; at++) {
        if (runs->items[at].count)
            runs->items[kept++] = runs->items[at];
        else
            zk_buffer_drop(runs->items[at].buffer);
    }
    runs->count = kept;
}

void queue_runs(zk_runs *runs, int64_t fetch_offset) {
    drop_empty(runs);
    static const size_t SHARES[] = {1, 600, 3000, 20000, 1 << 20};
    const size_t share = SHARES[below(5)], whole = count_of(runs);
    if (!queue)
        queue = zk_queue_new(1 + below(20), NULL, NULL);
    require(queue && zk_queue_used_bytes(queue) == 0);
    zk_queue_set_share(queue, share);
    if (below(2))
        zk_runs_settle(runs);
    zk_wakeup *wakeup = below(2) ? zk_wakeup_new() : NULL;
    zk_claim *claim = zk_claim_new();
    zk_chunk *chunk = zk_chunk_new(claim, fetch_offset, INT64_MAX, runs);
    size_t count = 0;
    int64_t at = fetch_offset;
    while (!zk_queue_put(queue, chunk, wakeup)) {
        require(zk_queue_chunk_count(queue) > 0);
        count += take(share, &at);
        zk_queue_notify_pumps(queue);
        require(!wakeup || zk_wakeup_wait(wakeup, 0));
        if (wakeup)
            zk_wakeup_clear(wakeup);
        if (below(50) == 0) {
            zk_claim_set_active(claim, false);
            zk_chunk *dropped = NULL;
            zk_queue_discard(queue, &dropped);
            zk_chunks_free(dropped);
        }
    }
    if (zk_claim_is_active(claim)) {
        require(zk_queue_record_count(queue) == whole - count);
        while (zk_queue_chunk_count(queue))
            count += take(share, &at);
        require(count == whole && at == INT64_MAX);
    }
    require(zk_queue_used_bytes(queue) == 0 && zk_queue_chunk_count(queue) == 0);
    zk_claim_drop(claim);
    zk_wakeup_drop(wakeup);
    if (below(100) == 0)
        forget_queue();
}

void forget_queue(void) {
    zk_queue_free(queue);
    queue = NULL;
}
