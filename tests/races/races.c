/* Threads that read record sets at once, hand their runs to each other, and drop them wherever they
 * are; the sanitizer it is built with does the judging.
 *
 *     races ROUNDS FILE...      FILE: a sound record set */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "sets.h"
#include "batches.h"

enum { THREADS = 4, PLACES = 16 };

static _Atomic(zk_run *) places[PLACES]; /* runs on their way from thread to thread */
static atomic_ulong messages;

static uint32_t chance(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Reads and drops somebody else's run. */
static void end_run(zk_run *run) {
    if (!run)
        return;
    zk_cursor cursor = zk_run_begin(run);
    zk_message message;
    int64_t offset;
    unsigned long found = 0;
    while (zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE)
        found++;
    if (found != run->count)
        abort();
    atomic_fetch_add(&messages, found);
    zk_buffer_drop(run->buffer);
    free(run);
}

static void hand_over(const zk_runs *runs, uint32_t *state) {
    for (size_t at = 0; at < runs->count; at++) {
        zk_run *run = malloc(sizeof *run);
        if (!run)
            abort();
        *run = runs->items[at];
        zk_buffer_share(run->buffer);
        end_run(atomic_exchange(&places[chance(state) % PLACES], run));
    }
}

static void *work(void *seed) {
    uint32_t state = (uint32_t)(uintptr_t)seed;
    for (long left = rounds; left; left--) {
        const size_t at = chance(&state) % set_count;
        zk_buffer *set = zk_buffer_around(sets[at], sizes[at], NULL, NULL);
        zk_runs runs = {0};
        const zk_set_limits limits = {0, 1 << 24, 1 << 24, chance(&state) % 2 ? 4096 : 1 << 20};
        zk_read_set(set, 0, &limits, &runs);
        zk_buffer_drop(set);
        hand_over(&runs, &state);
        zk_runs_free(&runs);
        zk_buffer *large = zk_buffer_new(600000 + chance(&state) % 400000); /* a spare, if there is */
        memset(large->data, 1, 64);
        zk_buffer_drop(large);
        if (left % 256 == 0)
            zk_buffer_forget_spares();
    }
    return NULL;
}

int main(int count, char **words) {
    zk_crc32_choose();
    if (!load_all(count, words, 1))
        return 2;
    pthread_t threads[THREADS];
    for (size_t at = 0; at < THREADS; at++)
        if (pthread_create(threads + at, NULL, work, (void *)(uintptr_t)(at + 1)) != 0)
            return 2;
    for (size_t at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    for (size_t at = 0; at < PLACES; at++)
        end_run(places[at]);
    zk_buffer_forget_spares();
    for (size_t at = 0; at < set_count; at++)
        free(sets[at]);
    printf("%lu messages read by threads that did not make them\n", atomic_load(&messages));
    return 0;
}
