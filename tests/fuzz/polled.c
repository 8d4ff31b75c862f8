#include "polled.h"

#include <stdlib.h>
#include <string.h>

#include "batches.h"
#include "chunk.h"
#include "columns.h"
#include "crc32c.h"
#include "fetched.h"
#include "order.h"
#include "shortage.h"

enum { MOST_ABORTED = 6 };

uint64_t batch_sets, batch_records, batch_refusals, headers_read;
static uint64_t touched;

static void require(bool holds) {
    if (!holds)
        abort();
}

static void touch(const uint8_t *data, int32_t size) {
    for (int32_t at = 0; at < size; at++)
        touched += data[at];
}

static void read_headers(const zk_message *message) {
    const uint8_t *at = message->headers, *name, *value;
    int32_t name_bytes, value_bytes;
    for (int32_t left = message->header_count; left; left--) {
        require(zk_header_next(&at, message->headers_end, &name, &name_bytes, &value,
                               &value_bytes));
        touch(name, name_bytes);
        touch(value, value_bytes);
        headers_read++;
    }
    require(at == message->headers_end);
}

/* Reads all of a run; what was checked must be there, and of a batch in order. */
static size_t read_run(const zk_run *run, int64_t fetch_offset) {
    zk_cursor cursor = zk_run_begin(run);
    zk_message message;
    int64_t offset, last = -1;
    size_t count = 0, with_headers = 0, nulls = 0;
    zk_step step;
    for (; (step = zk_run_next(&cursor, &offset, &message)) == ZK_MESSAGE; count++) {
        require(count || offset == run->first_offset);
        require(offset >= fetch_offset && (!run->is_batch || offset > last));
        last = offset;
        touch(message.key, message.key_bytes);
        touch(message.value, message.value_bytes);
        nulls += (message.key_bytes < 0) + (size_t)(message.value_bytes < 0);
        with_headers += message.header_count > 0;
        if (message.header_count)
            read_headers(&message);
    }
    require(step == ZK_RUN_ENDS && count == run->count && last == run->last_offset);
    require(with_headers == run->with_headers && nulls == run->null_keys + run->null_values);
    return count;
}

static zk_committed *some_filter(void) {
    if (below(2))
        return NULL;
    zk_aborted aborted[MOST_ABORTED];
    const size_t count = below(MOST_ABORTED + 1);
    for (size_t at = 0; at < count; at++) {
        aborted[at].first_offset = (int64_t)below(100);
        aborted[at].producer_id = (int64_t)below(8) + 4000 * (int64_t)below(2);
    }
    zk_committed *filter = zk_committed_new(aborted, count);
    require(filter != NULL);
    return filter;
}

static void drop(void *data) { free(data); }

/* Takes one; without memory nothing is taken, and it is taken again. */
static void take_slice(zk_fetched *fetched, size_t most, zk_runs *taken) {
    const size_t left = fetched->left;
    if (below(4) == 0)
        begin_shortage(chance(), 2);
    zk_taking done = zk_fetched_take(fetched, most, taken);
    if (end_shortage() && done == ZK_TAKE_NO_MEMORY) {
        require(fetched->left == left && taken->count == 0);
        done = zk_fetched_take(fetched, most, taken);
    }
    require(done == ZK_TAKEN);
}

/* Takes slices of random sizes, and reads each when others are taken already. */
static void take_slices(zk_fetched *fetched, int64_t fetch_offset) {
    zk_runs before = {0};
    size_t whole = fetched->left, count = 0;
    while (fetched->left) {
        zk_runs taken = {0};
        const size_t most = below(4) ? 1 + below(20) : below(fetched->left + 2);
        const size_t left = fetched->left;
        take_slice(fetched, most, &taken);
        if (below(4) == 0)
            zk_runs_settle(&taken); /* as a stream does */
        require(left - fetched->left == (most < left ? most : left));
        for (size_t at = 0; at < before.count; at++)
            count += read_run(before.items + at, fetch_offset);
        zk_runs_free(&before);
        before = taken;
        if (below(30) == 0)
            break; /* the rest is dropped unread */
    }
    whole -= fetched->left;
    for (size_t at = 0; at < before.count; at++)
        count += read_run(before.items + at, fetch_offset);
    zk_runs_free(&before);
    require(count == whole);
    batch_records += count;
}

/* A reading of which some allocations fail: it ends with that word, or not before its first one. */
static void read_without_memory(zk_buffer *set, const zk_set_limits *limits) {
    zk_committed *filter = some_filter();
    begin_shortage(chance(), 1 + below(12));
    zk_reader *reader = zk_reader_new(set, limits, filter);
    const zk_set_status status = reader ? zk_reader_read(reader) : ZK_SET_NO_MEMORY;
    require(end_shortage() || status != ZK_SET_NO_MEMORY);
    if (!reader)
        zk_committed_free(filter);
    else
        for (size_t at = 0; at < reader->runs.count; at++)
            read_run(reader->runs.items + at, limits->fetch_offset);
    zk_reader_free(reader);
}

/* What is kept of a batch lies in its run's buffer, behind the run. */
static void look_at_packed(const zk_run *run) {
    if (!run->packed_codec)
        return;
    require(run->count > 1 && run->start + run->size <= run->packed_at);
    require(run->packed_at + run->packed_size <= run->buffer->used);
    (void)zk_crc32c(0, run->buffer->data + run->packed_at, run->packed_size);
}

void read_batches(bytes set) {
    static const size_t BOUNDS[] = {0, 100, 5000, 1 << 20, 1 << 24};
    const size_t bound = BOUNDS[below(5)];
    const int64_t fetch_offset = below(2) ? 0 : (int64_t)below(60);
    const size_t enough = below(2) ? bound : below(5000);
    const zk_set_limits limits = {fetch_offset, bound, enough, 4096 << below(9)};
    zk_order place = {.low = fetch_offset, .is_first = below(4) > 0};
    const int64_t end = below(2) ? INT64_MAX : (int64_t)below(100);
    zk_offsets_rise(set.data, set.size, end, &place);
    require(place.position <= set.size && place.low >= fetch_offset);
    zk_buffer *buffer = zk_buffer_around(set.data, set.size, drop, set.data);
    zk_reader *reader = zk_reader_new(buffer, &limits, some_filter());
    require(reader != NULL);
    reader->kept_codec = (int)(set.size % 5);
    if (below(4) == 0)
        read_without_memory(buffer, &limits);
    zk_buffer_drop(buffer);
    const zk_set_status status = zk_reader_read(reader);
    require(status != ZK_SET_NO_MEMORY && reader->position <= set.size);
    require(reader->walk.next_offset >= fetch_offset && reader->walk.remaining_bytes <= bound);
    batch_refusals += status == ZK_SET_REFUSED;
    fill_columns(&reader->runs);
    for (size_t at = 0; at < reader->runs.count; at++)
        look_at_packed(reader->runs.items + at);
    zk_fetched fetched = zk_fetched_from(&reader->runs);
    if (below(2)) {
        zk_reader_free(reader);
        reader = NULL;
    }
    take_slices(&fetched, fetch_offset);
    zk_fetched_free(&fetched);
    zk_reader_free(reader);
    batch_sets++;
}
