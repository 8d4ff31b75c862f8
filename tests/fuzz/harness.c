/* Feeds damaged record sets to the native core; the sanitizers it is built with do the judging.
 *
 *     harness SEED SECONDS FILE...      FILE: a sound record set to begin with
 *
 * Each round takes a set, wraps it perhaps, damages it, makes its checksums right again (or else
 * nothing behind the CRC would ever be reached), reads it, touches every byte of every message, and
 * makes columns of it and has it go through a stream's queue. Then a fetch loop gets some responses made
 * of such sets, without a socket and over one. Every now and then there is no memory.
 * Sets lie in blocks of exactly their size, so that one byte too far is one byte into the red. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "batch.h"
#include "batch_sets.h"
#include "batches.h"
#include "columns.h"
#include "crc32c.h"
#include "order.h"
#include "polled.h"
#include "queues.h"
#include "ranges.h"
#include "sets.h"
#include "shortage.h"
#include "sockets.h"
#include "world.h"

enum { MAX_SEEDS = 256 };

static bytes seeds[MAX_SEEDS], batch_seeds[MAX_SEEDS];
static int seed_count, batch_seed_count;
static uint64_t rounds, messages, refusals, touched;

bytes a_seed(void) { return seeds[below((size_t)seed_count)]; }

bytes a_batch_seed(void) { return batch_seeds[below((size_t)batch_seed_count)]; }

static void touch(const uint8_t *data, int32_t size) {
    for (int32_t at = 0; at < size; at++)
        touched += data[at];
}

static void read_run(const zk_run *run) {
    zk_cursor cursor = zk_run_begin(run);
    zk_message message;
    int64_t offset;
    size_t count = 0;
    zk_step step;
    for (; (step = zk_run_next(&cursor, &offset, &message)) == ZK_MESSAGE; count++) {
        touch(message.key, message.key_bytes);
        touch(message.value, message.value_bytes);
    }
    if (step == ZK_RUN_BROKEN || count != run->count)
        abort(); /* what was checked must be readable, all of it */
    messages += count;
}

static void read_runs(zk_runs *runs) {
    for (size_t at = 0; at < runs->count; at++) {
        zk_run *run = runs->items + at, head;
        read_run(run);
        const size_t most = below(run->size + 1);
        if (!zk_run_split(run, most, 1 + below(run->count), &head))
            abort();
        read_run(&head);
        zk_buffer_drop(head.buffer);
        read_run(run);
    }
}

static void drop(void *data) { free(data); }

/* The same reading where memory runs out: it ends with that word, or as the reading that has enough. */
static void read_without_memory(zk_buffer *buffer, const zk_set_limits *limits,
                                const zk_set_result *expected) {
    zk_runs runs = {0};
    begin_shortage(chance(), 1 + below(12));
    const zk_set_result result = zk_read_set(buffer, 0, limits, &runs);
    const bool has_failed = end_shortage();
    if (result.status == ZK_SET_NO_MEMORY ? !has_failed
                                          : result.status != expected->status ||
                                                result.position != expected->position ||
                                                result.next_offset != expected->next_offset)
        abort();
    for (size_t at = 0; at < runs.count; at++)
        read_run(runs.items + at);
    zk_runs_free(&runs);
}

static void read_set(bytes set) {
    static const size_t BOUNDS[] = {0, 100, 5000, 1 << 20, 1 << 24};
    const size_t bound = BOUNDS[below(5)];
    const int64_t fetch_offset = (int64_t)below(40);
    const size_t enough = below(2) ? bound : below(5000);
    const zk_set_limits limits = {fetch_offset, bound, enough, 4096 << below(9)};
    zk_order place = {.low = limits.fetch_offset, .is_first = below(4) > 0};
    const zk_order from = place;
    zk_offsets_rise(set.data, set.size, (int64_t)below(1000), &place);
    if (place.position > set.size || place.low < from.low)
        abort();
    const size_t cut_off = zk_cut_off_bytes(set.data, set.size, place.position);
    if (cut_off && cut_off <= set.size - place.position)
        abort();
    zk_buffer *buffer = zk_buffer_around(set.data, set.size, drop, set.data);
    zk_runs runs = {0};
    const zk_set_result result = zk_read_set(buffer, 0, &limits, &runs);
    if (result.position > set.size || result.next_offset < limits.fetch_offset ||
        result.remaining_bytes > bound)
        abort();
    refusals += result.status == ZK_SET_REFUSED;
    if (below(4) == 0)
        read_without_memory(buffer, &limits, &result);
    fill_columns(&runs);
    read_runs(&runs);
    zk_buffer_drop(buffer);
    queue_runs(&runs, fetch_offset);
    if (below(4) == 0)
        zk_buffer_forget_spares();
}

static void one_round(void) {
    bytes set = copy(a_seed());
    for (size_t depth = below(3); depth; depth--) {
        set = damaged(set);
        repair(set);
        if (set.size && set.size < MAX_SET_BYTES / 2)
            set = wrapped(set);
    }
    set = damaged(set);
    if (below(8))
        repair(set);
    read_set(set);
    rounds++;
}

static bytes batches_by_chance(void) {
    bytes set = copy(a_batch_seed());
    if (below(4)) {
        set = damaged_batches(set);
        repair(set);
    }
    if (below(2))
        set = packed_batch(set);
    return set;
}

/* One set, or two back to back, of which either may be of messages. */
static void one_round_of_batches(void) {
    bytes set = batches_by_chance();
    if (below(2)) {
        bytes other = below(4) ? batches_by_chance() : copy(a_seed());
        bytes both = new_bytes(set.size + other.size);
        const size_t front = below(2) ? set.size : other.size;
        memcpy(both.data, front == set.size ? set.data : other.data, front);
        memcpy(both.data + front, front == set.size ? other.data : set.data, both.size - front);
        free(set.data);
        free(other.data);
        set = both;
    }
    if (below(8) == 0)
        set = damaged(set);
    if (below(8))
        repair(set);
    read_batches(set);
}

static bool load(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || seed_count == MAX_SEEDS || batch_seed_count == MAX_SEEDS)
        return false;
    bytes made = new_bytes(MAX_SET_BYTES);
    made.size = fread(made.data, 1, made.size, file);
    fclose(file);
    if (made.size <= 16)
        return false;
    if (made.data[16] == ZK_BATCH_MAGIC)
        batch_seeds[batch_seed_count++] = made;
    else
        seeds[seed_count++] = made;
    return true;
}

int main(int count, char **words) {
    if (count < 4)
        return 2;
    zk_crc32_choose();
    zk_crc32c_choose();
    begin_chance(strtoull(words[1], NULL, 10));
    for (int at = 3; at < count; at++)
        if (!load(words[at]))
            return 2;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t until = now.tv_sec + atol(words[2]);
    for (; now.tv_sec < until; clock_gettime(CLOCK_MONOTONIC, &now)) {
        for (int batch = 0; batch < 100; batch++)
            one_round();
        for (int batch = 0; batch < 100; batch++)
            one_round_of_batches();
        for (int batch = 0; batch < 10; batch++)
            answer_some();
        run_over_sockets();
        for (int batch = 0; batch < 4; batch++)
            read_a_range();
    }
    printf("%llu sets, %llu messages read, %llu sets refused (%llx)\n", (unsigned long long)rounds,
           (unsigned long long)messages, (unsigned long long)refusals, (unsigned long long)touched);
    printf("%llu sets of batches, %llu records, %llu headers, %llu refused\n",
           (unsigned long long)batch_sets, (unsigned long long)batch_records,
           (unsigned long long)headers_read, (unsigned long long)batch_refusals);
    printf("%llu responses, %llu chunks, %llu connections, %llu requests over them\n",
           (unsigned long long)answers_taken, (unsigned long long)chunks_taken,
           (unsigned long long)connections, (unsigned long long)requests_received);
    printf("%llu ranges, %llu records of them, %llu requests for them, %llu returned to Python\n",
           (unsigned long long)ranges_read, (unsigned long long)range_records,
           (unsigned long long)range_requests, (unsigned long long)range_reclaims);
    printf("%llu rows of columns, %llu columns refused, %llu allocations failed\n",
           (unsigned long long)rows_filled, (unsigned long long)columns_refused,
           (unsigned long long)failed_allocations());
    forget_queue();
    zk_buffer_forget_spares();
    for (int at = 0; at < seed_count; at++)
        free(seeds[at].data);
    for (int at = 0; at < batch_seed_count; at++)
        free(batch_seeds[at].data);
    return 0;
}
