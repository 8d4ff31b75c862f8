/* From record sets to chunks in queues: what `PythonFetchLoop._unpack` and `position.unpack` do.
 *
 * Slots that have a set stand in a line. Each has its turn, goes to the end of the line, and gives its
 * queue one piece of the set a turn: so of several that share a full queue each comes to its right.
 * Where a chunk finds no room, nothing else of its queue passes it: so only one slot for each queue
 * holds more than came from the broker. */
#ifndef ZK_UNPACK_H
#define ZK_UNPACK_H

#include "slots.h"

typedef struct {
    size_t max_decompressed_bytes; /* of one compressed entry, and all that is in it */
    size_t growth_max_bytes;       /* how much one entry may need */
    size_t part_bytes;             /* how much each partition is asked for */
    size_t grown_bytes;            /* the same for one that is far behind, at most */
} zk_unpack_limits;

typedef struct {
    zk_unpack_limits limits;
    zk_slots *slots;
    zk_bell *bell; /* rung by queues that have room again */
    const atomic_bool *stopping;
    zk_slot *first, *last; /* the line */
    size_t waiting;        /* how many stand in it */
    size_t odd;            /* slots that Python must look at */
    uint64_t turns;
    uint64_t records; /* that came into queues since this was last taken */
    bool has_no_memory;
} zk_line;

/* Puts a slot that was given a set at the end of the line. */
void zk_line_enter(zk_line *line, zk_slot *slot);

/* Turns for everybody, until no queue takes any more, all is through, or `stopping` is set. */
void zk_line_unpack(zk_line *line);

#endif
