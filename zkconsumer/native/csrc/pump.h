/* The steady state of one broker connection without Python: ask, receive, check, decompress, queue.
 *
 * `fetch.fetcher.PythonFetchLoop` defines what a fetch loop does, and still does all of it that is odd.
 * The pump runs as long as partitions are plain: owned, their offset known, nothing of them in Python's
 * hands. For anything else it returns with complete state, and Python goes on.
 *
 * How slots map to `FetchPosition`. Between two loads a plain position is lent to a slot: fetch_offset,
 * needed_bytes and what is packed, as (bytes, at, offset and bytes asked for). Coming back, these are
 * read out of the slot. What was read of a set but is in no queue is forgotten: `at` and `fetch_offset`
 * say where to read again (see slots.h). So is a set that came early behind another one.
 *
 * What makes zk_pump_run return:
 *   ZK_PUMP_CALLED   somebody called (zk_pump_call), a slot is odd, or it is time to report. Nothing is in
 *                    flight: no request is sent any more, and the answer to the last one is taken first.
 *   ZK_PUMP_STOPPED  zk_pump_stop: at once, whatever is in flight. The connection must be closed.
 *   ZK_PUMP_BROKEN   the exchange failed, `failure` and `detail` say how. The connection must be closed.
 *   ZK_PUMP_SILENT   an answer is awaited, and nothing of it came for quiet_ms. All is as it was: the next
 *                    run goes on waiting for it.
 *   ZK_PUMP_NO_MEMORY
 *
 * Why nothing is lost or comes twice. Of a slot, `fetch_offset` moves in the one place where a queue
 * takes a chunk (or the front of one), to where that ended. Every answer counts only for a slot that
 * stands at the offset that was asked for, with nothing in front of it; an early one is kept until its
 * slot gets there, or dropped where it does not. So wherever a run ends, what is in queues ends where
 * the slots begin.
 *   - A connection that breaks: an answer counts when its frame has ended well; of half a frame nothing
 *     does.
 *   - A claim that is given up: its set is dropped at the next turn; a chunk that was put meanwhile is
 *     dropped by queue or stream. A new claim is a new slot, in a new load: nothing in flight is left.
 *   - A full queue: its slots keep their sets and are not asked. The others go on.
 *   - A stop: seen between two pieces, and in every wait.
 *   - A quota: the broker is asked nothing for as long as it says (from version 8 on; older ones keep
 *     their answer back). What is there is unpacked meanwhile, and calls and stops are heard.
 *
 * Memory: the queues' budget, and one response: a slot is asked only while it has nothing, or early,
 * and then what waits and what may come fit into its queue. One compressed entry is unpacked whole.
 *
 * Wake-ups: whoever calls, stops, or makes room changes what it has to tell, then rings; a turn of the
 * loop clears the bell first and looks afterwards.
 *
 * A fork copies no thread: in a child nobody runs the pump, and freeing it there does nothing.
 *
 * Thread: one, but for zk_pump_call and zk_pump_stop, which any thread and any signal handler may use. */
#ifndef ZK_PUMP_H
#define ZK_PUMP_H

#include <sys/types.h>

#include "asking.h"
#include "exchange.h"

typedef enum {
    ZK_PUMP_CALLED,
    ZK_PUMP_STOPPED,
    ZK_PUMP_BROKEN,
    ZK_PUMP_NO_MEMORY,
    ZK_PUMP_SILENT,
} zk_pump_end;

/* What happened since it was last taken. */
typedef struct {
    uint64_t fetches;
    uint64_t partitions; /* of all answers together */
    uint64_t bytes;      /* of their record sets */
    uint64_t records;    /* that came into queues */
    uint64_t duration_ms; /* from sending to having the answer, all together */
} zk_pump_counts;

typedef struct {
    zk_slots slots;
    zk_line line;
    zk_asking asking;
    zk_request request;
    zk_request_head head;
    uint8_t *client_id;
    zk_response response;
    zk_exchange exchange;
    zk_pump_counts counts;
    zk_bell *bell;
    atomic_bool stopping, is_called;
    pid_t process; /* that it belongs to */
    bool is_in_flight;
    bool is_early; /* the last request was: some that had nothing waiting were not asked */
    bool is_idle;  /* the last answer brought nothing, though the broker was not to wait */
    int64_t quiet_until_ms; /* the broker wants to be asked nothing before (its quota) */
    int64_t asked_ms;
    int64_t report_ms, reported_ms; /* how often to return for the counts; 0: never for them */
    int64_t timeout_ms;             /* for one exchange, the broker's wait included */
    size_t max_frame_bytes; /* no larger answer is taken, whatever was asked */
    size_t max_entry_bytes; /* how much one may bring beyond what was asked */
    zk_io failure;
    const char *detail;
} zk_pump;

/* Without slots and without a name; null without memory. */
zk_pump *zk_pump_new(void);
void zk_pump_free(zk_pump *pump);

/* Sets the client id, of at most INT16_MAX bytes; false without memory. */
bool zk_pump_name(zk_pump *pump, const uint8_t *client_id, size_t size);

/* Lends a slot what is packed of it: shares the bytes. */
void zk_pump_lend(zk_pump *pump, zk_slot *slot, zk_buffer *bytes, size_t at, int64_t offset,
                  size_t asked_bytes);

/* Drops all slots. */
void zk_pump_clear(zk_pump *pump);

/* Works over a connected socket that nobody closes or uses meanwhile. The correlation ids go on from
 * `head.correlation_id`. A silence counts from the beginning of the run, or from the last bytes in it;
 * one of `quiet_ms` ends it, unless that is 0. */
zk_pump_end zk_pump_run(zk_pump *pump, int socket, int64_t quiet_ms);

/* Has a run return soon, this one or the next, until zk_pump_hear takes all calls back: the caller does
 * so before it looks at what it was called for. */
void zk_pump_call(zk_pump *pump);
void zk_pump_hear(zk_pump *pump);

/* Whether the loan is for Python to look at: somebody called, or a slot is odd. */
bool zk_pump_is_called(const zk_pump *pump);

/* For how long from now on the broker is to be asked nothing. */
int64_t zk_pump_quiet_ms(const zk_pump *pump);

/* Has all runs return at once, for ever. */
void zk_pump_stop(zk_pump *pump);

#endif
