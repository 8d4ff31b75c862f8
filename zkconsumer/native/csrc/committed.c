#include "committed.h"

#include <stdlib.h>

static int by_offset(const void *one, const void *other) {
    const int64_t first = ((const zk_aborted *)one)->first_offset;
    const int64_t second = ((const zk_aborted *)other)->first_offset;
    return (first > second) - (first < second);
}

static int by_number(const void *one, const void *other) {
    const int64_t first = *(const int64_t *)one, second = *(const int64_t *)other;
    return (first > second) - (first < second);
}

/* Lists the producers that can have an open transaction: so nothing has to grow later. */
static void note_producers(zk_committed *filter) {
    for (size_t at = 0; at < filter->count; at++)
        filter->producers[at] = filter->to_come[at].producer_id;
    qsort(filter->producers, filter->count, sizeof *filter->producers, by_number);
    for (size_t at = 0; at < filter->count; at++) {
        const int64_t producer_id = filter->producers[at];
        const size_t count = filter->producer_count;
        if (!count || filter->producers[count - 1] != producer_id)
            filter->producers[filter->producer_count++] = producer_id;
    }
}

zk_committed *zk_committed_new(const zk_aborted *aborted, size_t count) {
    zk_committed *filter = calloc(1, sizeof *filter);
    if (!filter)
        return NULL;
    filter->to_come = calloc(count + 1, sizeof *filter->to_come);
    filter->producers = calloc(count + 1, sizeof *filter->producers);
    filter->is_open = calloc(count + 1, sizeof *filter->is_open);
    if (!filter->to_come || !filter->producers || !filter->is_open) {
        zk_committed_free(filter);
        return NULL;
    }
    filter->count = count;
    for (size_t at = 0; at < count; at++)
        filter->to_come[at] = aborted[at];
    qsort(filter->to_come, count, sizeof *filter->to_come, by_offset);
    note_producers(filter);
    return filter;
}

void zk_committed_free(zk_committed *filter) {
    if (!filter)
        return;
    free(filter->to_come);
    free(filter->producers);
    free(filter->is_open);
    free(filter);
}

/* Returns the producer's state; null if none of its transactions was aborted. */
static bool *state_of(const zk_committed *filter, int64_t producer_id) {
    const int64_t *found = bsearch(&producer_id, filter->producers, filter->producer_count,
                                   sizeof *filter->producers, by_number);
    return found ? filter->is_open + (found - filter->producers) : NULL;
}

bool zk_committed_drops(zk_committed *filter, int64_t last_offset, int64_t producer_id,
                        bool is_transactional, zk_marker marker) {
    if (producer_id == ZK_NO_PRODUCER_ID)
        return marker != ZK_MARKER_NONE;
    for (; filter->next < filter->count; filter->next++) {
        const zk_aborted *one = filter->to_come + filter->next;
        if (one->first_offset > last_offset)
            break;
        *state_of(filter, one->producer_id) = true;
    }
    bool *is_open = state_of(filter, producer_id);
    if (marker == ZK_MARKER_NONE)
        return is_transactional && is_open && *is_open;
    if (marker == ZK_MARKER_ABORT && is_open)
        *is_open = false;
    return true;
}
