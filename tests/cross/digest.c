/* Reads damaged record sets by chance and prints a digest of all that came out: two machines that
 * print the same read the same.
 *
 *     digest SEED ROUNDS best|portable FILE...      FILE: a sound record set to begin with
 *
 * The first line names the CRC-32 in use and may differ; "portable" keeps to that by tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "crc32c.h"
#include "order.h"
#include "sets.h"

enum { MAX_SEEDS = 256, MAX_CRC_BYTES = 700, ALIGNMENTS = 17 };

static bytes seeds[MAX_SEEDS];
static int seed_count;
static uint64_t digest = 0xCBF29CE484222325u, messages, refusals;

bytes a_seed(void) { return seeds[below((size_t)seed_count)]; }

static void add(uint64_t value) { /* FNV-1a, by words */
    digest = (digest ^ value) * 0x100000001B3u;
    digest ^= digest >> 29;
}

static void add_bytes(const uint8_t *data, int32_t size) {
    add((uint64_t)size);
    for (int32_t at = 0; at < size; at++)
        add(data[at]);
}

/* Every short length at every alignment, and some long ones: the fast way must be the portable one. */
static bool crc_is_right(void) {
    bytes data = new_bytes(1 << 20);
    for (size_t at = 0; at < data.size; at++)
        data.data[at] = (uint8_t)chance();
    bool is_right = zk_crc32(0, (const uint8_t *)"123456789", 9) == 0xCBF43926u &&
                    zk_crc32c(0, (const uint8_t *)"123456789", 9) == 0xE3069283u;
    for (size_t size = 0; size < MAX_CRC_BYTES; size++)
        for (size_t start = 0; start < ALIGNMENTS; start++) {
            const uint32_t first = (uint32_t)chance();
            const uint32_t found = zk_crc32(first, data.data + start, size);
            const uint32_t other = zk_crc32c(first, data.data + start, size);
            is_right = is_right && found == zk_crc32_portable(first, data.data + start, size) &&
                       other == zk_crc32c_portable(first, data.data + start, size);
            add(found);
            add(other);
        }
    for (size_t size = data.size; size > data.size - 100; size--)
        is_right = is_right &&
                   zk_crc32(0, data.data, size) == zk_crc32_portable(0, data.data, size) &&
                   zk_crc32c(0, data.data, size) == zk_crc32c_portable(0, data.data, size);
    free(data.data);
    return is_right;
}

static void add_run(const zk_run *run) {
    zk_cursor cursor = zk_run_begin(run);
    zk_message message;
    int64_t offset;
    while (zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE) {
        add((uint64_t)offset);
        add((uint64_t)(run->has_append_time ? run->append_time : message.timestamp));
        add_bytes(message.key, message.key_bytes);
        add_bytes(message.value, message.value_bytes);
        if (message.header_count)
            add_bytes(message.headers, (int32_t)(message.headers_end - message.headers));
        messages++;
    }
    add(run->count);
    add(run->key_bytes + run->value_bytes);
    add(run->null_keys + run->null_values + run->timestamps);
}

static void drop(void *data) { free(data); }

static void read_set(bytes set) {
    static const size_t BOUNDS[] = {0, 100, 5000, 1 << 20, 1 << 24};
    const size_t bound = BOUNDS[below(5)];
    const int64_t fetch_offset = (int64_t)below(40);
    const zk_set_limits limits = {fetch_offset, bound, bound, 4096 << below(9)};
    zk_order place = {.low = fetch_offset, .is_first = true};
    add(zk_offsets_rise(set.data, set.size, INT64_MAX, &place));
    add((uint64_t)place.low);
    zk_buffer *buffer = zk_buffer_around(set.data, set.size, drop, set.data);
    zk_runs runs = {0};
    const zk_set_result result = zk_read_set(buffer, 0, &limits, &runs);
    add(result.status);
    add(result.position);
    add((uint64_t)result.next_offset);
    add(result.remaining_bytes);
    refusals += result.status == ZK_SET_REFUSED;
    for (size_t at = 0; at < runs.count; at++)
        add_run(runs.items + at);
    zk_runs_free(&runs);
    zk_buffer_drop(buffer);
}

/* The same as a poll reads it, batches and all; what is packed by another's codec ends it. */
static void read_polled(bytes set) {
    const int64_t fetch_offset = (int64_t)below(40);
    const zk_set_limits limits = {fetch_offset, 1 << 20, 1 << 20, 4096 << below(9)};
    const zk_aborted aborted = {(int64_t)below(60), 4};
    zk_buffer *buffer = zk_buffer_around(set.data, set.size, NULL, NULL);
    zk_committed *filter = below(2) ? zk_committed_new(&aborted, 1) : NULL;
    zk_reader *reader = zk_reader_new(buffer, &limits, filter);
    add(zk_reader_read(reader));
    add(reader->position);
    add((uint64_t)reader->walk.next_offset);
    add(reader->walk.remaining_bytes);
    add((uint64_t)reader->last_leader_epoch);
    for (size_t at = 0; at < reader->runs.count; at++)
        add_run(reader->runs.items + at);
    zk_reader_free(reader);
    zk_buffer_drop(buffer);
}

static void one_round(void) {
    bytes set = copy(a_seed());
    for (size_t depth = below(3); depth; depth--) {
        if (below(2))
            set = damaged(set);
        repair(set);
        if (set.size && set.size < MAX_SET_BYTES / 2)
            set = wrapped(set);
    }
    if (below(2))
        set = damaged(set);
    if (below(8))
        repair(set);
    read_polled(set);
    read_set(set);
}

static bool load(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || seed_count == MAX_SEEDS)
        return false;
    bytes made = new_bytes(MAX_SET_BYTES);
    made.size = fread(made.data, 1, made.size, file);
    fclose(file);
    seeds[seed_count++] = made;
    return made.size > 0;
}

int main(int count, char **words) {
    if (count < 5)
        return 2;
    zk_crc32_choose();
    zk_crc32c_choose();
    const bool is_portable = strcmp(words[3], "portable") == 0;
    if (is_portable) {
        zk_crc32 = zk_crc32_portable;
        zk_crc32c = zk_crc32c_portable;
    }
    begin_chance(strtoull(words[1], NULL, 10));
    for (int at = 4; at < count; at++)
        if (!load(words[at]))
            return 2;
    printf("CRC-32 by %s, CRC-32C by %s\n", is_portable ? "portable" : zk_crc32_name(),
           is_portable ? "portable" : zk_crc32c_name());
    if (!crc_is_right())
        return 1;
    for (long left = atol(words[2]); left; left--)
        one_round();
    printf("%llu messages read, %llu sets refused, digest %016llx\n", (unsigned long long)messages,
           (unsigned long long)refusals, (unsigned long long)digest);
    return 0;
}
