#define _POSIX_C_SOURCE 200809L
#include "pump.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The longest wait for capacity, as in `fetch.fetcher`. */
enum { LOOK_AROUND_MS = 1000 };
enum { MOST_THROTTLE_MS = 300 * 1000 }; /* see fetch/core/hedged_exchange.py */

/* Overhead of a response around its record sets, and per partition. */
enum { FRAME_BYTES = 1 << 20, PARTITION_BYTES = 1024 };

zk_pump *zk_pump_new(void) {
    zk_pump *pump = calloc(1, sizeof *pump);
    zk_wakeup *wakeup = zk_wakeup_new();
    if (!pump || !wakeup) {
        free(pump);
        zk_wakeup_drop(wakeup);
        return NULL;
    }
    atomic_init(&pump->stopping, false);
    atomic_init(&pump->is_called, false);
    pump->process = getpid();
    pump->wakeup = pump->unpacker.wakeup = pump->exchange.wakeup = wakeup;
    pump->unpacker.stopping = pump->exchange.stopping = &pump->stopping;
    pump->unpacker.slots = &pump->slots;
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
    zk_unpacker *unpacker = &pump->unpacker;
    unpacker->first = unpacker->last = NULL;
    unpacker->waiting = unpacker->reclaims = 0;
    unpacker->turns = 0;
    unpacker->has_ended = unpacker->has_no_memory = false;
    pump->is_in_flight = pump->is_early = pump->is_idle = false;
    pump->ends_at_head = pump->is_caught_up = false;
}

void zk_pump_free(zk_pump *pump) {
    /* In a forked child it is as its thread left it, in the middle of anything. */
    if (!pump || getpid() != pump->process)
        return;
    zk_pump_clear(pump);
    zk_request_free(&pump->request);
    zk_wakeup_drop(pump->wakeup);
    free(pump->client_id);
    free(pump);
}

void zk_pump_load_set(zk_pump *pump, zk_slot *slot, zk_buffer *bytes, size_t at, int64_t offset,
                  size_t requested_bytes) {
    slot->set = (zk_set){.bytes = zk_buffer_share(bytes),
                         .offset = offset,
                         .requested_bytes = requested_bytes};
    slot->at = at <= bytes->used ? at : bytes->used;
    zk_unpacker_add(&pump->unpacker, slot);
}

void zk_pump_call(zk_pump *pump) {
    atomic_store(&pump->is_called, true);
    zk_wakeup_notify(pump->wakeup);
}

void zk_pump_clear_call(zk_pump *pump) { atomic_store(&pump->is_called, false); }

void zk_pump_stop(zk_pump *pump) {
    atomic_store(&pump->stopping, true);
    zk_wakeup_notify(pump->wakeup);
}

bool zk_pump_is_called(const zk_pump *pump) {
    return pump->unpacker.reclaims || pump->is_caught_up || atomic_load(&pump->is_called);
}

static bool must_return(const zk_pump *pump) {
    /* A pause beyond the limit is reported when it begins, not when it is over. */
    if (zk_pump_is_called(pump) || pump->counts.throttle_ms > MOST_THROTTLE_MS)
        return true;
    return pump->report_ms && pump->counts.fetches &&
           zk_now_ms() - pump->reported_ms >= pump->report_ms;
}

/* The limit of the response. Source: `wire.response_bounds`. */
static size_t frame_bound(const zk_pump *pump) {
    size_t requested_bytes = pump->request.requested_bytes;
    if (pump->request.version >= ZK_FETCH_BOUNDED && requested_bytes > pump->plan.response_bytes)
        requested_bytes = pump->plan.response_bytes;
    const size_t bound = requested_bytes + pump->max_entry_bytes + FRAME_BYTES +
                         PARTITION_BYTES * pump->request.requested_count;
    return bound < pump->max_frame_bytes ? bound : pump->max_frame_bytes;
}

/* As `net.hedging.SLOW_TIMES`: by how much a response that keeps arriving may exceed the time-out. */
enum { SLOW_TIMES = 10 };

/* As `fetch.core.arrivals`: requests grow while responses take less than the time-out divided by this. */
enum { QUICK_TIMES = 4 };

/* Begins the exchange of the request that was built. */
static void begin_exchange(zk_pump *pump, bool is_early) {
    pump->is_in_flight = true;
    pump->is_early = is_early;
    pump->sent_ms = zk_now_ms();
    pump->exchange.deadline_ms = pump->sent_ms + pump->timeout_ms;
    pump->exchange.timeout_ms = pump->timeout_ms;
    pump->exchange.latest_ms = pump->sent_ms + SLOW_TIMES * pump->timeout_ms;
    pump->exchange.moved_ms = pump->sent_ms;
    zk_response_begin(&pump->response, &pump->slots, pump->request.version,
                      pump->head.correlation_id, frame_bound(pump));
    pump->head.correlation_id = (pump->head.correlation_id + 1) & INT32_MAX;
}

static void raise_to(uint64_t *largest, uint64_t value) {
    if (value > *largest)
        *largest = value;
}

static void count_response(zk_pump_counts *counts, const zk_response *response,
                           uint64_t duration_ms) {
    counts->fetches++;
    counts->partitions += response->set_count;
    counts->bytes += response->set_bytes;
    counts->received_bytes += response->frame_bytes;
    counts->duration_ms += duration_ms;
    counts->throttled_ms += (uint64_t)response->throttle_ms;
    raise_to(&counts->longest_ms, duration_ms);
    raise_to(&counts->largest_bytes, response->set_bytes);
}

static bool is_any_behind(const zk_slots *slots, bool (*is_over)(const zk_slot *)) {
    for (size_t at = 0; at < slots->count; at++) {
        const zk_slot *slot = slots->slots + at;
        if (slot->is_behind && zk_claim_is_active(slot->claim) && !is_over(slot))
            return true;
    }
    return false;
}

/* Notes whether the run has to end, since those that were behind have caught up, or were given up. */
static bool ends_now(zk_pump *pump) {
    pump->is_caught_up = pump->ends_at_head && !is_any_behind(&pump->slots, zk_slot_is_at_end);
    return pump->is_caught_up;
}

/* Returns whether the run will end once what arrived is in the queues. Another request would delay that:
 * partitions that are not behind have no more records, so the broker would wait for some. */
static bool ends_soon(const zk_pump *pump) {
    return pump->ends_at_head && !is_any_behind(&pump->slots, zk_slot_is_complete);
}

/* Sends the rest of the request. */
static zk_io send_request(zk_pump *pump) {
    zk_request *request = &pump->request;
    if (request->sent == request->size)
        return ZK_IO_DONE;
    const zk_io sent = zk_send(&pump->exchange, request);
    if (sent == ZK_IO_DONE)
        pump->counts.sent_bytes += request->size;
    return sent;
}

/* Takes a complete response. */
static void take_response(zk_pump *pump) {
    const zk_response *response = &pump->response;
    pump->is_in_flight = false;
    const int64_t took_ms = zk_now_ms() - pump->sent_ms;
    count_response(&pump->counts, response, (uint64_t)took_ms);
    pump->unpacker.is_slow = took_ms * QUICK_TIMES > pump->timeout_ms;
    zk_note_waiting(&pump->slots);
    for (size_t at = 0; at < pump->slots.count; at++)
        if (pump->slots.slots[at].is_requested)
            zk_take_response(&pump->unpacker, pump->slots.slots + at, response);
    ends_now(pump);
    /* After an early request, one for all partitions comes first. */
    pump->is_idle = !pump->is_early && pump->head.max_wait_ms == 0 && response->set_bytes == 0;
    const int32_t throttle_ms = response->throttle_ms;
    const bool is_pause = zk_response_is_pause(response);
    if (throttle_ms && (response->version >= ZK_FETCH_UNTHROTTLED || is_pause)) {
        raise_to(&pump->counts.throttle_ms, (uint64_t)throttle_ms);
        pump->quiet_until_ms =
            zk_now_ms() + (throttle_ms < MOST_THROTTLE_MS ? throttle_ms : MOST_THROTTLE_MS);
    } else if (response->set_bytes && pump->unpacker.waiting && !must_return(pump) &&
               !ends_soon(pump) &&
               zk_plan_early_request(&pump->plan, &pump->unpacker, &pump->request, &pump->head)) {
        begin_exchange(pump, true);
        /* Now, not after decoding. A failure here recurs when the response is awaited. */
        send_request(pump);
    }
}

static zk_io exchange(zk_pump *pump) {
    const zk_io sent = send_request(pump);
    return sent == ZK_IO_DONE ? zk_receive(&pump->exchange, &pump->response) : sent;
}

int64_t zk_pump_quiet_ms(const zk_pump *pump) {
    if (!pump->quiet_until_ms)
        return 0;
    const int64_t left_ms = pump->quiet_until_ms - zk_now_ms();
    return left_ms > 0 ? left_ms : 0;
}

/* Sends a request, or waits if there is none to send. */
static bool request_or_wait(zk_pump *pump) {
    if (pump->is_idle && pump->plan.max_wait_ms) {
        /* We wait in place of the broker: free capacity ends that. */
        pump->is_idle = false;
        zk_wakeup_wait(pump->wakeup, pump->plan.max_wait_ms);
        return true;
    }
    pump->is_idle = false;
    const int64_t quiet_ms = zk_pump_quiet_ms(pump);
    if (quiet_ms) {
        zk_wakeup_wait(pump->wakeup, quiet_ms < LOOK_AROUND_MS ? (int)quiet_ms : LOOK_AROUND_MS);
        return true;
    }
    if (zk_plan_request(&pump->plan, &pump->slots, &pump->request, &pump->head))
        begin_exchange(pump, false);
    else if (!pump->request.has_failed && !ends_now(pump))
        zk_wakeup_wait(pump->wakeup, LOOK_AROUND_MS);
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
    pump->exchange.has_received = false;
    pump->reported_ms = pump->exchange.moved_ms = zk_now_ms();
    for (;;) {
        zk_wakeup_clear(pump->wakeup);
        zk_unpacker_run(&pump->unpacker);
        pump->counts.records += pump->unpacker.records;
        pump->unpacker.records = 0;
        if (atomic_load(&pump->stopping))
            return ZK_PUMP_STOPPED;
        if (pump->unpacker.has_no_memory)
            return ZK_PUMP_NO_MEMORY;
        if (pump->is_in_flight) {
            const zk_io done = exchange(pump);
            if (done == ZK_IO_DONE)
                take_response(pump);
            else if (done != ZK_IO_WOKEN)
                return broken(pump, done);
        } else if (must_return(pump) || (pump->unpacker.has_ended && ends_now(pump))) {
            return ZK_PUMP_CALLED;
        } else if (!request_or_wait(pump)) {
            return ZK_PUMP_NO_MEMORY;
        }
    }
}
