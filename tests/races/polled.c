/* Threads that read record sets of any magic at once, as fetchers do, and take slices of what others
 * found, as their caller does: from one fetched set by one thread at a time, while slices that were
 * taken before are read and dropped wherever they are. The sanitizer does the judging.
 *
 *     polled ROUNDS FILE...      FILE: a sound record set */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "crc32c.h"
#include "fetched.h"
#include "sets.h"

enum { THREADS = 4, PLACES = 8 };

static _Atomic(zk_fetched *) waiting[PLACES]; /* fetched sets that nobody has in hand */
static _Atomic(zk_runs *) slices[PLACES];     /* slices on their way from thread to thread */
static atomic_ulong records;

static uint32_t chance(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void require(bool holds) {
    if (!holds)
        abort();
}

/* Reads and drops somebody else's slice. */
static void end_slice(zk_runs *slice) {
    if (!slice)
        return;
    unsigned long found = 0;
    for (size_t at = 0; at < slice->count; at++) {
        zk_cursor cursor = zk_run_begin(slice->items + at);
        zk_message message;
        int64_t offset;
        size_t here = 0;
        for (; zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE; here++)
            found += message.value_bytes > 0 ? message.value[0] != 0 : 1;
        require(here == slice->items[at].count);
    }
    atomic_fetch_add(&records, found);
    zk_runs_free(slice);
    free(slice);
}

static void end_fetched(zk_fetched *fetched) {
    if (!fetched)
        return;
    zk_fetched_free(fetched);
    free(fetched);
}

/* Takes some slices of whatever waits there, and leaves the rest to whoever comes. */
static void take_some(uint32_t *state) {
    zk_fetched *fetched = atomic_exchange(waiting + chance(state) % PLACES, NULL);
    if (!fetched)
        return;
    for (uint32_t left = 1 + chance(state) % 4; left && fetched->left; left--) {
        zk_runs *slice = calloc(1, sizeof *slice);
        require(slice != NULL);
        require(zk_fetched_take(fetched, 1 + chance(state) % 30, slice) == ZK_TAKEN);
        end_slice(atomic_exchange(slices + chance(state) % PLACES, slice));
    }
    end_fetched(atomic_exchange(waiting + chance(state) % PLACES, fetched));
}

static void read_one(uint32_t *state) {
    const size_t at = chance(state) % set_count;
    zk_buffer *set = zk_buffer_around(sets[at], sizes[at], NULL, NULL);
    const zk_set_limits limits = {0, 1 << 24, 1 << 24, chance(state) % 2 ? 4096 : 1 << 20};
    const zk_aborted aborted = {0, 4};
    zk_committed *filter = chance(state) % 2 ? zk_committed_new(&aborted, 1) : NULL;
    zk_reader *reader = zk_reader_new(set, &limits, filter);
    require(reader != NULL);
    zk_buffer_drop(set);
    require(zk_reader_read(reader) != ZK_SET_NO_MEMORY);
    zk_fetched *fetched = malloc(sizeof *fetched);
    require(fetched != NULL);
    *fetched = zk_fetched_from(&reader->runs);
    zk_reader_free(reader); /* the runs stay */
    end_fetched(atomic_exchange(waiting + chance(state) % PLACES, fetched));
}

static void *work(void *seed) {
    uint32_t state = (uint32_t)(uintptr_t)seed;
    for (long left = rounds; left; left--) {
        read_one(&state);
        for (int times = 0; times < 3; times++)
            take_some(&state);
        if (left % 256 == 0)
            zk_buffer_forget_spares();
    }
    return NULL;
}

int main(int count, char **words) {
    zk_crc32_choose();
    zk_crc32c_choose();
    if (!load_all(count, words, 2))
        return 2;
    pthread_t threads[THREADS];
    for (size_t at = 0; at < THREADS; at++)
        if (pthread_create(threads + at, NULL, work, (void *)(uintptr_t)(at + 1)) != 0)
            return 2;
    for (size_t at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    for (size_t at = 0; at < PLACES; at++) {
        end_slice(slices[at]);
        end_fetched(waiting[at]);
    }
    zk_buffer_forget_spares();
    for (size_t at = 0; at < set_count; at++)
        free(sets[at]);
    printf("%lu records read by threads that did not make them\n", atomic_load(&records));
    return atomic_load(&records) == 0;
}
