/* Until when messages may be handed out: written by one thread, read at each message by others. */
#ifndef ZK_LEASE_H
#define ZK_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    _Atomic double until_s;
    _Atomic int64_t ran_at; /* the coarse clock when it was last found to run; -1: not known */
} zk_lease;

static inline double zk_lease_until(zk_lease *lease) { return atomic_load(&lease->until_s); }

static inline void zk_lease_end_at(zk_lease *lease, double until_s) {
    atomic_store(&lease->until_s, until_s);
    atomic_store(&lease->ran_at, -1); /* behind the other: see zk_lease_is_over */
}

/* Whether nothing needs to be looked at: it ran when the coarse clock showed this. */
static inline bool zk_lease_ran(zk_lease *lease, int64_t tick) {
    return atomic_load_explicit(&lease->ran_at, memory_order_relaxed) == tick;
}

/* Whether it is over by the exact clock; if not, that is remembered for as long as the coarse one
 * shows the same. An end that is set meanwhile is either seen here, or forgets that after us. */
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
