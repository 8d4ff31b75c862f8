/* Turns record sets into chunks in queues, as `PythonFetchLoop._unpack` and `position.unpack` do.
 *
 * Slots that have a set wait in a list, in round-robin order: in each turn a slot puts one piece of its
 * set into its queue, so that slots that share a full queue get equal shares of it. No chunk overtakes
 * one that did not fit: so only one slot per queue holds decoded records beside its set.
 *
 * Once a slot is at its end, the rest of its sets is dropped unread: damage there is not reported, damage
 * in front of the end is. */
#ifndef ZK_UNPACK_H
#define ZK_UNPACK_H

#include "slots.h"

typedef struct {
    size_t max_decompressed_bytes; /* limit for one compressed entry, nested ones included */
    size_t growth_max_bytes;       /* limit for one entry */
    size_t part_bytes;             /* max_bytes of each partition */
    size_t grown_bytes;            /* limit of max_bytes for one that is far behind */
} zk_unpack_limits;

typedef struct {
    zk_unpack_limits limits;
    zk_slots *slots;
    zk_wakeup *wakeup; /* notified by queues that have capacity again */
    const atomic_bool *stopping;
    zk_slot *first, *last; /* the waiting slots */
    size_t waiting;        /* their number */
    size_t reclaims;       /* the number of slots that Python must reclaim */
    uint64_t turns;
    uint64_t records; /* queued since this was last read */
    bool is_slow; /* the last response took long: a larger one might not arrive in time */
    bool has_ended; /* the sets of a slot ended at its end, since the slots were loaded */
    bool has_no_memory;
} zk_unpacker;

/* Appends a slot that got a set to the list. */
void zk_unpacker_add(zk_unpacker *unpacker, zk_slot *slot);

/* Unpacks round-robin until no queue takes more, everything is unpacked, or `stopping` is set. */
void zk_unpacker_run(zk_unpacker *unpacker);

#endif
