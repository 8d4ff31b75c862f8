#define _GNU_SOURCE /* for MSG_NOSIGNAL */
#include "ranges.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batch.h"
#include "batches.h"
#include "bytes.h"
#include "frames.h"
#include "pump.h"
#include "sockets.h"
#include "world.h"

enum { MOST_ENTRIES = 600, MOST_LOG_BYTES = 1 << 22, MOST_REQUEST_BYTES = 4096, PATIENCE_MS = 20000 };
enum { DAMAGES = 12, STREAM_WAIT_MS = 1, LARGE_FROM = 60000, LARGE_MORE = 60000 };

uint64_t ranges_read, range_requests, range_records, range_reclaims;

typedef struct {
    size_t at, size;
    int64_t first, last;
} entry;

typedef struct {
    bytes sound, served; /* as it is, and with damage behind the end */
    bool is_damaged, has_pauses; /* behind its end; responses without records in between */
    bool ends_in_gap;            /* what is in front of its end was compacted away */
    atomic_bool is_healed;
    entry entries[MOST_ENTRIES];
    size_t count;
    int64_t from, until, high_watermark;
    int64_t *offsets; /* of the records that are to come */
    size_t expected, came;
    int64_t next; /* where the next chunk must begin */
    zk_pump *pump;
    zk_queue *queue;
    zk_claim *claim;
    int sockets[2];
    uint64_t seeds[2];
    uint64_t requests;
    size_t most_bytes; /* of a request */
    atomic_bool is_over;
} range;

static void require(bool holds) {
    if (!holds)
        abort();
}

/* --- the log ------------------------------------------------------------------------------------- */

static void put64(uint8_t *at, int64_t value) {
    for (int byte = 0; byte < 8; byte++)
        at[byte] = (uint8_t)((uint64_t)value >> (56 - 8 * byte));
}

/* A message of magic 0 that may need more than a request is sized to. */
static bytes large_message(void) {
    bytes made = new_bytes(26 + LARGE_FROM + below(LARGE_MORE));
    memset(made.data, 0, made.size);
    const uint32_t size = (uint32_t)made.size;
    for (int byte = 0; byte < 4; byte++) {
        made.data[8 + byte] = (uint8_t)((size - 12) >> (24 - 8 * byte));
        made.data[18 + byte] = 0xFF; /* no key */
        made.data[22 + byte] = (uint8_t)((size - 26) >> (24 - 8 * byte));
    }
    repair(made);
    return made;
}

/* Appends an entry at an offset: no checksum covers that. False: it can't be moved, or is too much. */
static bool append(range *self, const uint8_t *data, size_t size, int64_t first) {
    const bool is_batch = data[16] == ZK_BATCH_MAGIC;
    if ((!is_batch && data[17] & ZK_CODEC_MASK) || self->sound.size + size > MOST_LOG_BYTES ||
        self->count == MOST_ENTRIES)
        return false;
    uint8_t *to = self->sound.data + self->sound.size;
    memcpy(to, data, size);
    put64(to, first);
    const int64_t last = is_batch ? first + zk_int32(data + 23) : first;
    self->entries[self->count++] = (entry){self->sound.size, size, first, last};
    self->sound.size += size;
    return true;
}

static int64_t after_log(const range *self) {
    return self->count ? self->entries[self->count - 1].last + 1 : (int64_t)below(100);
}

static void append_set(range *self, bytes set) {
    for (size_t at = 0; set.size - at >= ZK_ENTRY_HEADER_BYTES + ZK_MIN_ENTRY_SIZE;) {
        const size_t size = (size_t)zk_be32(set.data + at + 8) + ZK_ENTRY_HEADER_BYTES;
        if (size > set.size - at)
            break;
        const int64_t next = after_log(self);
        const int64_t gap = below(6) ? 0 : (int64_t)(below(3) ? below(20) : below(1 << 24));
        append(self, set.data + at, size, next + gap);
        at += size;
    }
    free(set.data);
}

static void make_log(range *self) {
    self->sound = new_bytes(MOST_LOG_BYTES);
    self->sound.size = 0;
    const size_t large = 1 + below(12);
    for (size_t sets = 2 + below(100); sets || !self->count; sets -= sets > 0) {
        if (below(large) == 1)
            append_set(self, large_message());
        else if (below(4) == 0)
            append_set(self, copy(a_seed()));
        else
            append_set(self, copy(a_batch_seed()));
    }
    self->served = copy(self->sound);
}

/* Chooses where it begins and ends, and damages what is behind the end. */
static void choose_range(range *self) {
    const bool is_at_large = below(2);
    const size_t begin = below(self->count);
    size_t end = begin + below(self->count - begin);
    while (is_at_large && end + 1 < self->count && self->entries[end].size < LARGE_FROM)
        end++;
    const entry *first = self->entries + begin, *last = self->entries + end;
    const int64_t least = begin ? first[-1].last + 1 : 0;
    self->from = least + (int64_t)below((size_t)(first->last - least + 1));
    const int64_t lowest = end > begin ? last->first : self->from;
    self->until = lowest + 1 + (int64_t)below((size_t)(last->last - lowest + 1));
    self->next = self->from;
    self->has_pauses = below(2);
    if (below(8) == 0) {
        self->ends_in_gap = true;
        self->count = end + 1;
        self->sound.size = self->served.size = last->at + last->size;
        self->until = last->last + 2 + (int64_t)below(1000);
        self->high_watermark = self->until + (int64_t)below(2);
        return;
    }
    self->high_watermark = below(2) ? INT64_MAX : last->last + 1 + (int64_t)below(3);
    const size_t behind = last->at + last->size;
    for (size_t left = below(2) ? below(1 + below(DAMAGES)) : 0; left && behind < self->served.size; left--) {
        const entry *hit = self->entries + end + 1 + below(self->count - end - 1);
        self->is_damaged = true;
        if (below(3) == 0) { /* it passes for one of the range */
            const size_t offsets = (size_t)(self->until - self->from);
            put64(self->served.data + hit->at, self->from + (int64_t)below(offsets));
            continue;
        }
        const size_t at = hit->at + (below(2) ? below(30) : below(hit->size));
        self->served.data[at < self->served.size ? at : behind] ^= (uint8_t)(1 << below(8));
    }
}

/* Reads the whole log, as a reader without an end does. */
static void expect_records(range *self) {
    zk_buffer *buffer = zk_buffer_around(self->sound.data, self->sound.size, NULL, NULL);
    zk_runs runs = {0};
    const zk_set_limits limits = {self->from, 1 << 26, 1 << 26, 1 << 20};
    const zk_set_result read = zk_read_set(buffer, 0, &limits, &runs);
    require(read.status == ZK_SET_ENDS && read.position == self->sound.size);
    size_t count = 0;
    for (size_t at = 0; at < runs.count; at++)
        count += runs.items[at].count;
    self->offsets = malloc(count * sizeof *self->offsets + 1);
    require(self->offsets != NULL);
    for (size_t at = 0; at < runs.count; at++) {
        zk_cursor cursor = zk_run_begin(runs.items + at);
        zk_message message;
        int64_t offset;
        while (zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE)
            if (offset < self->until)
                self->offsets[self->expected++] = offset;
    }
    zk_runs_free(&runs);
    zk_buffer_drop(buffer);
}

/* --- the broker ---------------------------------------------------------------------------------- */

static size_t whole_entries(const range *self, size_t at, size_t most_bytes) {
    size_t size = 0;
    for (; at < self->count && size + self->entries[at].size <= most_bytes; at++)
        size += self->entries[at].size;
    return size;
}

/* What it has from an offset on: as much as is asked for, at times less, or nothing. */
static bytes served(const range *self, int version, const part *asked) {
    size_t at = 0;
    while (at < self->count && self->entries[at].last < asked->offset)
        at++;
    const bytes *log = atomic_load(&self->is_healed) ? &self->sound : &self->served;
    if (at == self->count || (self->has_pauses && below(16) == 0))
        return new_bytes(0);
    const entry *first = self->entries + at;
    size_t size = log->size - first->at;
    if (size > asked->most_bytes)
        size = asked->most_bytes;
    if (size > first->size && below(8) == 0)
        size = first->size + below(size - first->size);
    if (size > first->size && below(2)) /* whole entries: what comes next is unknown */
        size = whole_entries(self, at, size);
    if (version >= ZK_FETCH_BOUNDED && size < first->size)
        size = first->size;
    bytes set = new_bytes(size);
    memcpy(set.data, log->data + first->at, size);
    return set;
}

static bool send_all(int socket, bytes frame) {
    for (size_t at = 0; at < frame.size;) {
        const ssize_t count = send(socket, frame.data + at, frame.size - at, MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        at += (size_t)count;
    }
    return true;
}

static void *serve(void *argument) {
    range *self = argument;
    uint8_t length[4], request[MOST_REQUEST_BYTES];
    begin_chance(self->seeds[0]);
    const size_t most_requests = 12 * self->count + 100;
    while (receive_all(self->sockets[1], length, sizeof length)) {
        const size_t size = zk_be32(length);
        require(size <= sizeof request && receive_all(self->sockets[1], request, size));
        part asked;
        require(parse_request(request, size, &asked) == 1);
        require(asked.offset >= self->from && asked.offset < self->until);
        require(asked.most_bytes && asked.most_bytes <= self->most_bytes);
        require(++self->requests <= most_requests); /* it goes on without an end */
        const int version = (int)(request[2] << 8 | request[3]);
        bytes set = served(self, version, &asked);
        bytes frame = make_response_of(version, zk_int32(request + 4), &asked, set,
                                       self->high_watermark);
        free(set.data);
        const bool is_sent = send_all(self->sockets[1], frame);
        free(frame.data);
        if (!is_sent)
            break;
    }
    return NULL;
}

/* --- the pump ------------------------------------------------------------------------------------ */

static void set_part(range *self, size_t size) {
    zk_pump *pump = self->pump;
    pump->plan.part_bytes = pump->unpacker.limits.part_bytes = size;
    const size_t grown = pump->unpacker.limits.grown_bytes;
    self->most_bytes = grown > size ? grown : size;
}

static void load_range(range *self, int64_t offset, size_t needed_bytes, const zk_set *set, size_t at) {
    zk_pump *pump = self->pump;
    zk_pump_clear(pump);
    pump->ends_at_head = true;
    require(zk_slots_begin(&pump->slots, 1, 1, 1));
    require(zk_slots_add_outlet(&pump->slots, self->queue));
    require(zk_slots_add_topic(&pump->slots, (const uint8_t *)"a topic's own id", ZK_TOPIC_ID_BYTES));
    zk_slot *slot = zk_slots_add(&pump->slots, 0, 0, self->claim);
    slot->fetch_offset = offset;
    slot->until_offset = self->until;
    slot->needed_bytes = needed_bytes;
    slot->is_behind = true;
    if (set)
        zk_pump_load_set(pump, slot, set->bytes, at, set->offset, set->requested_bytes);
}

/* As Python does with what it gets back. Returns false at the end. */
static bool go_on(range *self) {
    zk_pump *pump = self->pump;
    const zk_slot *slot = pump->slots.slots;
    require(!pump->is_in_flight && (pump->unpacker.reclaims || pump->is_caught_up));
    if (slot->fetch_offset >= self->until) {
        require(!slot->set.bytes && !slot->next.bytes && !slot->chunk && !slot->runs.count);
        require(!slot->reclaim && !slot->is_behind && !slot->needed_bytes);
        require(!pump->unpacker.waiting && !slot->outlet->waiting && !slot->outlet->first);
        return false;
    }
    const int64_t offset = slot->fetch_offset;
    if (self->ends_in_gap && offset == self->entries[self->count - 1].last + 1 && !slot->set.bytes) {
        require(!slot->reclaim && !slot->is_behind);
        return false;
    }
    const size_t part = pump->plan.part_bytes;
    size_t needed = slot->needed_bytes;
    zk_set set = slot->set;
    const size_t at = slot->at;
    range_reclaims += slot->reclaim != ZK_NO_RECLAIM;
    if (slot->reclaim == ZK_RECLAIM_SET) {
        const size_t cut_off = zk_cut_off_bytes(set.bytes->data, set.bytes->used, at);
        if (cut_off > part)
            needed = cut_off;
        else /* Either of two entries is at fault: the one at the end, or the one behind it. */
            require(!cut_off && self->is_damaged && !atomic_exchange(&self->is_healed, true));
        set.bytes = NULL;
    } else {
        require(!slot->reclaim || slot->reclaim == ZK_RECLAIM_TOO_LARGE);
    }
    if (set.bytes)
        zk_buffer_share(set.bytes);
    if (needed > part)
        set_part(self, needed);
    load_range(self, offset, needed, set.bytes ? &set : NULL, at);
    zk_buffer_drop(set.bytes);
    return true;
}

static void *fetch(void *argument) {
    range *self = argument;
    begin_chance(self->seeds[1]);
    size_t left = 4 * self->count + 100;
    do {
        require(left--); /* runs without progress */
        require(zk_pump_run(self->pump, self->sockets[0], 0) == ZK_PUMP_CALLED);
    } while (go_on(self));
    atomic_store(&self->is_over, true);
    return NULL;
}

/* --- the reader ---------------------------------------------------------------------------------- */

static void read_records(range *self, const zk_runs *runs) {
    for (size_t at = 0; at < runs->count; at++) {
        zk_cursor cursor = zk_run_begin(runs->items + at);
        zk_message message;
        int64_t offset;
        while (zk_run_next(&cursor, &offset, &message) == ZK_MESSAGE) {
            if (offset >= self->until)
                continue;
            require(self->came < self->expected && self->offsets[self->came] == offset);
            self->came++;
        }
    }
}

static bool take_one(range *self) {
    zk_front front;
    zk_chunk *dropped = NULL;
    if (!zk_queue_look(self->queue, &front, &dropped)) {
        zk_queue_done(self->queue);
        zk_queue_notify_pumps(self->queue);
        return false;
    }
    zk_chunk *chunk = zk_queue_take(self->queue, front.number);
    require(chunk && !dropped && chunk->fetch_offset == self->next);
    self->next = chunk->next_offset;
    read_records(self, &chunk->runs);
    zk_chunk_free(chunk);
    zk_queue_notify_pumps(self->queue);
    return true;
}

static void set_up(range *self) {
    zk_pump *pump = self->pump = zk_pump_new();
    require(pump && zk_pump_name(pump, (const uint8_t *)"fuzz", 4));
    pump->head.version = below(2) ? (int)below(ZK_FETCH_LAST + 1) : (int)below(ZK_FETCH_BOUNDED);
    pump->timeout_ms = PATIENCE_MS;
    pump->max_frame_bytes = pump->max_entry_bytes = MAX_ANSWER_BYTES;
    pump->plan.max_wait_ms = 1;
    pump->plan.response_bytes = INT32_MAX;
    pump->head.max_bytes = INT32_MAX;
    pump->unpacker.limits.max_decompressed_bytes = 1 << 24;
    pump->unpacker.limits.growth_max_bytes = MAX_ANSWER_BYTES;
    pump->unpacker.limits.grown_bytes = below(2) ? 0 : 1 << 18;
    set_part(self, below(3) ? 100000 + below(200000) : 100 + below(100000));
    self->queue = zk_queue_new(1 + below(20), NULL, NULL);
    self->claim = zk_claim_new();
    require(self->queue && self->claim);
    if (below(4))
        zk_queue_set_share(self->queue, below(2) ? 1 + below(1 << 14) : 1 + below(1 << 21));
    load_range(self, self->from, 0, NULL, 0);
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, self->sockets) == 0);
}

static void tear_down(range *self) {
    ranges_read++;
    range_requests += self->requests;
    range_records += self->came;
    zk_pump_free(self->pump);
    zk_queue_free(self->queue);
    zk_claim_drop(self->claim);
    free(self->offsets);
    free(self->sound.data);
    free(self->served.data);
}

void read_a_range(void) {
    const uint64_t next_seed = chance();
    range self = {0};
    make_log(&self);
    choose_range(&self);
    expect_records(&self);
    set_up(&self);
    self.seeds[0] = chance();
    self.seeds[1] = chance();
    pthread_t broker, fetcher;
    require(pthread_create(&broker, NULL, serve, &self) == 0);
    require(pthread_create(&fetcher, NULL, fetch, &self) == 0);
    while (!atomic_load(&self.is_over))
        if (!take_one(&self) || below(20) == 0)
            zk_queue_wait(self.queue, true, STREAM_WAIT_MS);
    pthread_join(fetcher, NULL);
    close(self.sockets[0]);
    pthread_join(broker, NULL);
    close(self.sockets[1]);
    while (take_one(&self))
        ;
    require(self.came == self.expected);
    require(self.next == self.pump->slots.slots[0].fetch_offset);
    tear_down(&self);
    begin_chance(next_seed);
}
