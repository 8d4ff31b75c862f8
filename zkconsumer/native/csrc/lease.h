/* The time until which messages may be delivered: written by one thread, read for each message. */
#ifndef ZK_LEASE_H
#define ZK_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic double until_s;
    _Atomic int64_t ran_at; /* the coarse clock when the lease was last found to run; -1: unknown */
} zk_lease;

static inline double zk_lease_until(zk_lease *lease) { return atomic_load(&lease->until_s); }

static inline void zk_lease_end_at(zk_lease *lease, double until_s) {
    atomic_store(&lease->until_s, until_s);
    atomic_store(&lease->ran_at, -1); /* after `until_s`: see zk_lease_is_over */
}

/* Returns whether it was found to run at this tick of the coarse clock: no further check is needed. */
static inline bool zk_lease_ran(zk_lease *lease, int64_t tick) {
    return atomic_load_explicit(&lease->ran_at, memory_order_relaxed) == tick;
}

/* Returns whether it is over by the exact clock; if not, caches that for this tick of the coarse one. An
 * end that is set at the same time is either seen here, or clears the cache after us. */
static inline bool zk_lease_is_over(zk_lease *lease, double now_s, int64_t tick) {
    const double until_s = atomic_load(&lease->until_s);
    if (now_s >= until_s)
        return true;
    atomic_store(&lease->ran_at, tick);
    if (atomic_load(&lease->until_s) != until_s)
        atomic_store(&lease->ran_at, -1);
    return false;
}

#endif
