/* The steady state of one broker connection without Python: request, receive, check, decompress, queue.
 *
 * `fetch.fetcher.PythonFetchLoop` defines what a fetch loop does, and does everything that the pump does
 * not support. The pump runs while its partitions are supported: owned, with a known offset, and with
 * nothing pending in Python. For anything else it returns with complete state, and Python continues.
 *
 * How slots map to `PartitionState`. Between two loads a state is delegated to a slot: fetch_offset,
 * needed_bytes and its packed set, as (bytes, at, offset and bytes requested). `unload` reads these from
 * the slot. Its until_offset is only read. Records that were read but are in no queue are dropped: `at`
 * and `fetch_offset` are where to read again (see slots.h). An early set after another one is dropped,
 * too.
 *
 * When zk_pump_run returns:
 *   ZK_PUMP_CALLED   zk_pump_call was called, a slot must be reclaimed, the slots have caught up or are at
 *                    their ends (with ends_at_head), or the counts are due.
 *                    Nothing is in flight: no more requests are sent, and the last response is taken.
 *   ZK_PUMP_STOPPED  zk_pump_stop: at once, whatever is in flight. The connection must be closed.
 *   ZK_PUMP_BROKEN   the exchange failed, see `failure` and `detail`. The connection must be closed.
 *   ZK_PUMP_SILENT   a response is awaited, and nothing of it came for quiet_ms. The state is kept: the
 *                    next run continues to wait for it.
 *   ZK_PUMP_NO_MEMORY
 *
 * Why nothing is lost or duplicated. The `fetch_offset` of a slot moves in one place only: where a queue
 * takes a chunk (or the front of one), to the end of that. A response counts only for a slot that is at
 * the requested offset, with no set before it; an early one is kept until its slot gets there, or dropped
 * if it never does. So wherever a run ends, the queued records end where the slots begin.
 *   - A broken connection: a response counts once its frame is complete; nothing of a partial one does.
 *   - A revoked claim: its set is dropped in the next turn; a chunk that was put meanwhile is dropped by
 *     queue or stream. A new claim is a new slot, in a new load: nothing remains in flight.
 *   - A full queue: its slots keep their sets and are not requested. The others continue.
 *   - A stop: checked between two pieces, and in every wait.
 *   - A quota: no request is sent for the broker's throttle time (from version 8 on; older brokers delay
 *     their response; after an empty one to a request that named no wait, the pump waits itself). Meanwhile arrived sets are unpacked, and calls and stops take effect.
 *
 * Memory: the queues' budget, and one response: a slot is requested only while it has no set, or early,
 * if the waiting records and the next ones fit into its queue. A compressed entry is unpacked whole.
 *
 * Ends. With ends_at_head no slot keeps a run going that is at its end, or that has one and got an empty
 * response, whatever the broker tells of the log: Python finds out what is between.
 *
 * Wake-ups: to call, stop or free capacity means to change the state first, then to notify; each turn of
 * the loop clears the wakeup first and reads the state afterwards.
 *
 * A fork copies no thread: in a child the pump does not run, and freeing it does nothing.
 *
 * Thread: one, but for zk_pump_call and zk_pump_stop, which any thread and any signal handler may use. */
#ifndef ZK_PUMP_H
#define ZK_PUMP_H

#include <sys/types.h>

#include "exchange.h"
#include "fetch_plan.h"

typedef enum {
    ZK_PUMP_CALLED,
    ZK_PUMP_STOPPED,
    ZK_PUMP_BROKEN,
    ZK_PUMP_NO_MEMORY,
    ZK_PUMP_SILENT,
} zk_pump_end;

/* Counts since they were last read. */
typedef struct {
    uint64_t fetches;
    uint64_t partitions; /* of all responses together */
    uint64_t bytes;      /* of their record sets */
    uint64_t records;    /* put into queues */
    uint64_t duration_ms; /* from sending to the complete response, summed up */
    uint64_t throttle_ms; /* the longest pause that the broker requested */
    uint64_t throttled_ms; /* the throttle times of all responses */
    uint64_t sent_bytes;     /* of whole requests */
    uint64_t received_bytes; /* of complete responses, with their lengths */
    uint64_t longest_ms;     /* the longest duration of one fetch */
    uint64_t largest_bytes;  /* the largest response's record sets */
} zk_pump_counts;

typedef struct {
    zk_slots slots;
    zk_unpacker unpacker;
    zk_fetch_plan plan;
    zk_request request;
    zk_request_head head;
    uint8_t *client_id;
    zk_response response;
    zk_exchange exchange;
    zk_pump_counts counts;
    zk_wakeup *wakeup;
    atomic_bool stopping, is_called;
    pid_t process; /* that it belongs to */
    bool is_in_flight;
    bool is_early; /* the last request was early: it omitted partitions without waiting records */
    bool is_idle;  /* the last response was empty, and the request named no wait */
    bool ends_at_head; /* a run ends once no slot is behind; one at its end is not */
    bool is_caught_up; /* and now none is whose claim is active */
    int64_t quiet_until_ms; /* no request before this (the broker's quota) */
    int64_t sent_ms;
    int64_t report_ms, reported_ms; /* interval of returns for the counts; 0: none */
    int64_t timeout_ms;             /* of one exchange, the broker's wait included */
    size_t max_frame_bytes; /* limit of a response, whatever was requested */
    size_t max_entry_bytes; /* how far one entry may exceed what was requested */
    zk_io failure;
    const char *detail;
} zk_pump;

/* Without slots and without a name; null without memory. */
zk_pump *zk_pump_new(void);
void zk_pump_free(zk_pump *pump);

/* Sets the client id, of at most INT16_MAX bytes; false without memory. */
bool zk_pump_name(zk_pump *pump, const uint8_t *client_id, size_t size);

/* Gives a slot its packed set; shares the bytes. */
void zk_pump_load_set(zk_pump *pump, zk_slot *slot, zk_buffer *bytes, size_t at, int64_t offset,
                  size_t requested_bytes);

/* Drops all slots, and with them ends_at_head. */
void zk_pump_clear(zk_pump *pump);

/* Runs over a connected socket, which must not be closed or used meanwhile. Correlation ids continue
 * from `head.correlation_id`. A silence of `quiet_ms` since the start of the run, or since the last bytes
 * in it, ends it; 0: none does. */
zk_pump_end zk_pump_run(zk_pump *pump, int socket, int64_t quiet_ms);

/* Makes the present or next run return soon, until zk_pump_clear_call: clear the call before reading the
 * state that it was about. */
void zk_pump_call(zk_pump *pump);
void zk_pump_clear_call(zk_pump *pump);

/* Returns whether Python must reclaim the slots: it was called, a slot is unsupported, or with
 * ends_at_head no slot whose claim is active is behind. */
bool zk_pump_is_called(const zk_pump *pump);

/* Returns for how long no request may be sent. */
int64_t zk_pump_quiet_ms(const zk_pump *pump);

/* Makes the present run and all later ones return at once. */
void zk_pump_stop(zk_pump *pump);

#endif
