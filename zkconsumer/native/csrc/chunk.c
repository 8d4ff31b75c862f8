#include "chunk.h"

#include <stdlib.h>
#include <string.h>

enum { KNOWN_BUFFERS = 4 }; /* the last counted ones, which are not counted again */

size_t zk_runs_charge(const zk_runs *runs) {
    const zk_buffer *known[KNOWN_BUFFERS] = {NULL};
    size_t total = sizeof(zk_chunk) + runs->count * sizeof(zk_run);
    for (size_t at = 0; at < runs->count; at++) {
        const zk_buffer *buffer = runs->items[at].buffer;
        int index = 0;
        while (index < KNOWN_BUFFERS - 1 && known[index] != buffer)
            index++;
        if (known[index] != buffer)
            total += zk_buffer_held(buffer);
        memmove(known + 1, known, (size_t)index * sizeof *known);
        known[0] = buffer;
    }
    return total;
}

/* Returns the number of runs from `begin` on in the same buffer, and their size. */
static size_t side_by_side(const zk_runs *runs, size_t begin, size_t *bytes) {
    size_t end = begin;
    *bytes = 0;
    while (end < runs->count && runs->items[end].buffer == runs->items[begin].buffer)
        *bytes += runs->items[end++].size;
    return end - begin;
}

/* Copies runs into a buffer of their own. */
static bool move_out(zk_run *items, size_t count, size_t bytes) {
    zk_buffer *own = zk_buffer_exact(bytes);
    if (!own)
        return false;
    size_t at = 0;
    for (zk_run *run = items; run < items + count; run++) {
        memcpy(own->data + at, run->buffer->data + run->start, run->size);
        zk_buffer_drop(run->buffer);
        run->buffer = zk_buffer_share(own);
        run->start = at;
        run->packed_codec = 0; /* the compressed body is not copied */
        at += run->size;
    }
    zk_buffer_drop(own);
    return true;
}

bool zk_runs_settle(zk_runs *runs) {
    size_t bytes;
    for (size_t at = 0; at < runs->count;) {
        const size_t count = side_by_side(runs, at, &bytes);
        if (bytes < zk_buffer_held(runs->items[at].buffer) / 2 &&
            !move_out(runs->items + at, count, bytes))
            return false;
        at += count;
    }
    return true;
}

bool zk_runs_can_cut(const zk_runs *runs) {
    return runs->count > 1 || (runs->count == 1 && runs->items[0].count > 1);
}

size_t zk_runs_least_charge(const zk_runs *runs) {
    const size_t least = sizeof(zk_chunk) + sizeof(zk_run);
    if (!runs->count)
        return sizeof(zk_chunk);
    zk_cursor cursor = zk_run_begin(runs->items);
    const uint8_t *const start = cursor.at;
    zk_message message;
    int64_t offset;
    if (zk_run_next(&cursor, &offset, &message) != ZK_MESSAGE)
        return least + runs->items[0].size;
    return least + (size_t)(cursor.at - start);
}

bool zk_runs_copy(const zk_runs *runs, zk_runs *copy) {
    *copy = (zk_runs){0};
    if (!runs->count)
        return true;
    copy->items = malloc(runs->count * sizeof *copy->items);
    if (!copy->items)
        return false;
    copy->capacity = runs->count;
    for (; copy->count < runs->count; copy->count++) {
        copy->items[copy->count] = runs->items[copy->count];
        zk_buffer_share(runs->items[copy->count].buffer);
    }
    return true;
}

/* Moves the first runs to `front`. */
static bool move_front(zk_runs *runs, size_t count, zk_runs *front) {
    front->items = malloc(count * sizeof *front->items);
    if (!front->items)
        return false;
    memcpy(front->items, runs->items, count * sizeof *front->items);
    front->count = front->capacity = count;
    runs->count -= count;
    memmove(runs->items, runs->items + count, runs->count * sizeof *runs->items);
    return true;
}

/* Returns how many runs, with their whole buffers, fit into a chunk of `max_bytes`; not the last ones. */
static size_t whole_front(const zk_runs *runs, size_t max_bytes) {
    size_t charge = sizeof(zk_chunk), bytes, fitting = 0;
    while (fitting < runs->count) {
        const size_t count = side_by_side(runs, fitting, &bytes);
        charge += zk_buffer_held(runs->items[fitting].buffer) + count * sizeof(zk_run);
        if (charge > max_bytes || fitting + count == runs->count)
            break;
        fitting += count;
    }
    return fitting;
}

/* Returns how many runs of the first buffer, copied, fit into a chunk of `max_bytes`; not the very last
 * one. */
static size_t copied_front(const zk_runs *runs, size_t max_bytes, size_t *bytes) {
    size_t charge = sizeof(zk_chunk), count = 0;
    *bytes = 0;
    while (count + 1 < runs->count && runs->items[count].buffer == runs->items[0].buffer) {
        const zk_run *run = runs->items + count;
        charge += sizeof(zk_run) + run->size;
        if (charge > max_bytes && (count || run->count > 1))
            break;
        *bytes += run->size;
        count++;
    }
    return count;
}

static bool split_front(zk_runs *runs, size_t max_bytes, zk_runs *front) {
    const size_t overhead = sizeof(zk_chunk) + sizeof(zk_run);
    zk_run *const first = runs->items;
    const zk_run before = *first;
    front->items = malloc(sizeof *front->items);
    if (!front->items)
        return false;
    const size_t payload_bytes = max_bytes > overhead ? max_bytes - overhead : 0;
    if (!zk_run_split(first, payload_bytes, first->count - 1, front->items)) {
        free(front->items);
        *front = (zk_runs){0};
        return false;
    }
    front->count = front->capacity = 1;
    if (!move_out(front->items, 1, front->items[0].size)) {
        *first = before;
        zk_runs_free(front);
        return false;
    }
    return true;
}

static bool cut_front(zk_runs *runs, size_t max_bytes, zk_runs *front) {
    size_t count = whole_front(runs, max_bytes), bytes;
    if (count)
        return move_front(runs, count, front);
    count = copied_front(runs, max_bytes, &bytes);
    if (!count)
        return split_front(runs, max_bytes, front);
    /* Copied in place, so that there is nothing to undo. */
    const bool is_shared = runs->items[count].buffer == runs->items[0].buffer;
    if (is_shared || zk_buffer_held(runs->items[0].buffer) > bytes)
        if (!move_out(runs->items, count, bytes))
            return false;
    return move_front(runs, count, front);
}

bool zk_runs_cut_front(zk_runs *runs, size_t max_bytes, zk_runs *front) {
    if (!cut_front(runs, max_bytes, front))
        return false;
    /* The rest may now use little of its buffer. Without memory it keeps it. */
    zk_runs_settle(runs);
    return true;
}

static int32_t last_epoch(const zk_runs *runs) {
    return runs->count ? runs->items[runs->count - 1].leader_epoch : ZK_NO_LEADER_EPOCH;
}

zk_chunk *zk_chunk_new(zk_claim *claim, int64_t fetch_offset, int64_t next_offset, zk_runs *runs) {
    zk_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk)
        return NULL;
    chunk->claim = claim ? zk_claim_share(claim) : NULL;
    chunk->fetch_offset = fetch_offset;
    chunk->next_offset = next_offset;
    chunk->leader_epoch = last_epoch(runs);
    chunk->runs = *runs;
    chunk->size_bytes = zk_runs_charge(runs);
    *runs = (zk_runs){0};
    return chunk;
}

void zk_chunk_free(zk_chunk *chunk) {
    if (!chunk)
        return;
    zk_claim_drop(chunk->claim);
    zk_runs_free(&chunk->runs);
    free(chunk);
}

zk_chunk *zk_chunk_cut_front(zk_chunk *chunk, size_t max_bytes) {
    zk_runs none = {0};
    zk_chunk *front = zk_chunk_new(chunk->claim, chunk->fetch_offset, 0, &none);
    if (!front || !zk_runs_cut_front(&chunk->runs, max_bytes, &front->runs)) {
        zk_chunk_free(front);
        return NULL;
    }
    front->next_offset = zk_behind(front->runs.items[front->runs.count - 1].last_offset);
    front->leader_epoch = last_epoch(&front->runs);
    front->size_bytes = zk_runs_charge(&front->runs);
    chunk->fetch_offset = front->next_offset;
    chunk->size_bytes = zk_runs_charge(&chunk->runs);
    return front;
}
