#define _POSIX_C_SOURCE 200809L
#include "pump.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A wait for room ends at least so often, as in `fetch.fetcher`. */
enum { LOOK_AROUND_MS = 1000 };

/* Around the record sets of an answer, and for each partition besides. */
enum { FRAME_BYTES = 1 << 20, PARTITION_BYTES = 1024 };

zk_pump *zk_pump_new(void) {
    zk_pump *pump = calloc(1, sizeof *pump);
    zk_bell *bell = zk_bell_new();
    if (!pump || !bell) {
        free(pump);
        zk_bell_drop(bell);
        return NULL;
    }
    atomic_init(&pump->stopping, false);
    atomic_init(&pump->is_called, false);
    pump->process = getpid();
    pump->bell = pump->line.bell = pump->exchange.bell = bell;
    pump->line.stopping = pump->exchange.stopping = &pump->stopping;
    pump->line.slots = &pump->slots;
    return pump;
}

bool zk_pump_name(zk_pump *pump, const uint8_t *client_id, size_t size) {
    uint8_t *name = size <= INT16_MAX ? malloc(size + 1) : NULL;
    if (!name)
        return false;
    memcpy(name, client_id, size);
    free(pump->client_id);
    pump->client_id = name;
    pump->head.client_id = name;
    pump->head.client_id_bytes = size;
    return true;
}

void zk_pump_clear(zk_pump *pump) {
    zk_slots_clear(&pump->slots);
    zk_line *line = &pump->line;
    line->first = line->last = NULL;
    line->waiting = line->odd = 0;
    line->turns = 0;
    line->has_no_memory = false;
    pump->is_in_flight = pump->is_early = pump->is_idle = false;
}

void zk_pump_free(zk_pump *pump) {
    /* In a forked child it is as its thread left it, in the middle of anything. */
    if (!pump || getpid() != pump->process)
        return;
    zk_pump_clear(pump);
    zk_request_free(&pump->request);
    zk_bell_drop(pump->bell);
    free(pump->client_id);
    free(pump);
}

void zk_pump_lend(zk_pump *pump, zk_slot *slot, zk_buffer *bytes, size_t at, int64_t offset,
                  size_t asked_bytes) {
    slot->set = (zk_set){zk_buffer_share(bytes), offset, asked_bytes};
    slot->at = at <= bytes->used ? at : bytes->used;
    zk_line_enter(&pump->line, slot);
}

void zk_pump_call(zk_pump *pump) {
    atomic_store(&pump->is_called, true);
    zk_bell_ring(pump->bell);
}

void zk_pump_hear(zk_pump *pump) { atomic_store(&pump->is_called, false); }

void zk_pump_stop(zk_pump *pump) {
    atomic_store(&pump->stopping, true);
    zk_bell_ring(pump->bell);
}

bool zk_pump_is_called(const zk_pump *pump) {
    return pump->line.odd || atomic_load(&pump->is_called);
}

static bool must_return(const zk_pump *pump) {
    if (zk_pump_is_called(pump))
        return true;
    return pump->report_ms && pump->counts.fetches &&
           zk_now_ms() - pump->reported_ms >= pump->report_ms;
}

/* How large the answer may be. Source: `wire.response_bounds`. */
static size_t frame_bound(const zk_pump *pump) {
    size_t asked_bytes = pump->request.asked_bytes;
    if (pump->request.version >= ZK_FETCH_BOUNDED && asked_bytes > pump->asking.answer_bytes)
        asked_bytes = pump->asking.answer_bytes;
    const size_t bound = asked_bytes + pump->max_entry_bytes + FRAME_BYTES +
                         PARTITION_BYTES * pump->request.asked_count;
    return bound < pump->max_frame_bytes ? bound : pump->max_frame_bytes;
}

/* The request is made: it is to be sent. */
static void begin_exchange(zk_pump *pump, bool is_early) {
    pump->is_in_flight = true;
    pump->is_early = is_early;
    pump->asked_ms = zk_now_ms();
    pump->exchange.deadline_ms = pump->asked_ms + pump->timeout_ms;
    pump->exchange.moved_ms = pump->asked_ms;
    zk_response_begin(&pump->response, &pump->slots, pump->request.version,
                      pump->head.correlation_id, frame_bound(pump));
    pump->head.correlation_id = (pump->head.correlation_id + 1) & INT32_MAX;
}

/* An answer has ended well. */
static void take_answer(zk_pump *pump) {
    const zk_response *response = &pump->response;
    pump->is_in_flight = false;
    pump->counts.fetches++;
    pump->counts.partitions += response->set_count;
    pump->counts.bytes += response->set_bytes;
    pump->counts.duration_ms += (uint64_t)(zk_now_ms() - pump->asked_ms);
    zk_note_waiting(&pump->slots);
    for (size_t at = 0; at < pump->slots.count; at++)
        if (pump->slots.slots[at].is_asked)
            zk_take_answer(&pump->line, pump->slots.slots + at, response->version);
    /* After an early one it is first to be asked about all. */
    pump->is_idle = !pump->is_early && pump->head.max_wait_ms == 0 && response->set_bytes == 0;
    if (response->throttle_ms && response->version >= ZK_FETCH_UNTHROTTLED)
        pump->quiet_until_ms = zk_now_ms() + response->throttle_ms;
    else if (response->set_bytes && pump->line.waiting && !must_return(pump) &&
        zk_ask_early(&pump->asking, &pump->line, &pump->request, &pump->head)) {
        begin_exchange(pump, true);
        /* Now, not after decoding. What fails here fails again when the answer is waited for. */
        zk_send(&pump->exchange, &pump->request);
    }
}

static zk_io exchange(zk_pump *pump) {
    const zk_io sent = zk_send(&pump->exchange, &pump->request);
    return sent == ZK_IO_DONE ? zk_receive(&pump->exchange, &pump->response) : sent;
}

int64_t zk_pump_quiet_ms(const zk_pump *pump) {
    if (!pump->quiet_until_ms)
        return 0;
    const int64_t left_ms = pump->quiet_until_ms - zk_now_ms();
    return left_ms > 0 ? left_ms : 0;
}

/* Asks, or waits where there is nothing to ask or to hear. */
static bool ask_or_wait(zk_pump *pump) {
    if (pump->is_idle && pump->asking.max_wait_ms) {
        /* The wait that the broker was spared, where room in a queue ends it. */
        pump->is_idle = false;
        zk_bell_wait(pump->bell, pump->asking.max_wait_ms);
        return true;
    }
    pump->is_idle = false;
    const int64_t quiet_ms = zk_pump_quiet_ms(pump);
    if (quiet_ms) {
        zk_bell_wait(pump->bell, quiet_ms < LOOK_AROUND_MS ? (int)quiet_ms : LOOK_AROUND_MS);
        return true;
    }
    if (zk_ask(&pump->asking, &pump->slots, &pump->request, &pump->head))
        begin_exchange(pump, false);
    else if (!pump->request.has_failed)
        zk_bell_wait(pump->bell, LOOK_AROUND_MS);
    return !pump->request.has_failed;
}

static zk_pump_end broken(zk_pump *pump, zk_io failure) {
    if (failure == ZK_IO_STOPPED)
        return ZK_PUMP_STOPPED;
    if (failure == ZK_IO_NO_MEMORY)
        return ZK_PUMP_NO_MEMORY;
    if (failure == ZK_IO_SILENT)
        return ZK_PUMP_SILENT;
    pump->failure = failure;
    pump->detail = failure == ZK_IO_NONSENSE ? pump->response.fault : NULL;
    return ZK_PUMP_BROKEN;
}

zk_pump_end zk_pump_run(zk_pump *pump, int socket, int64_t quiet_ms) {
    pump->exchange.socket = socket;
    pump->exchange.quiet_ms = quiet_ms;
    pump->exchange.has_heard = false;
    pump->reported_ms = pump->exchange.moved_ms = zk_now_ms();
    for (;;) {
        zk_bell_clear(pump->bell);
        zk_line_unpack(&pump->line);
        pump->counts.records += pump->line.records;
        pump->line.records = 0;
        if (atomic_load(&pump->stopping))
            return ZK_PUMP_STOPPED;
        if (pump->line.has_no_memory)
            return ZK_PUMP_NO_MEMORY;
        if (pump->is_in_flight) {
            const zk_io done = exchange(pump);
            if (done == ZK_IO_DONE)
                take_answer(pump);
            else if (done != ZK_IO_RUNG)
                return broken(pump, done);
        } else if (must_return(pump)) {
            return ZK_PUMP_CALLED;
        } else if (!ask_or_wait(pump)) {
            return ZK_PUMP_NO_MEMORY;
        }
    }
}
