/* What the readers of messages and of batches have in common, while they walk through one set. */
#ifndef ZK_WALK_INSIDE_H
#define ZK_WALK_INSIDE_H

#include "walk.h"

enum { ZK_NO_LEADER_EPOCH = -1 };

typedef struct {
    const zk_set_limits *limits;
    zk_runs *runs;
    zk_buffer *arena; /* what top-level sets are decompressed into; null until the first */
    size_t remaining_bytes;
    int64_t next_offset;
} zk_walker;

static inline void zk_walker_advance(zk_walker *self, int64_t offset) {
    if (offset >= self->next_offset)
        self->next_offset = zk_behind(offset);
}

/* Whether the next compressed set is for another call. */
static inline bool zk_walker_has_enough(const zk_walker *self) {
    const size_t used = self->limits->bound_bytes - self->remaining_bytes;
    return used > 0 && used >= self->limits->enough_bytes;
}

/* Where a set at this depth is decompressed to, of which so many bytes may still come: a reference.
 * The arena of the top level takes one set after the other; it must not move while a set in it is
 * read, so nested ones get a buffer each. Null without memory. */
zk_buffer *zk_walker_buffer(zk_walker *self, int depth, size_t left_bytes);

/* Begins another arena if this one is large enough for its runs to be a piece. */
void zk_walker_renew_arena(zk_walker *self);

/* Gives back what no run needs. */
void zk_walker_end(zk_walker *self);

/* How the runs stood before a set, so that it can be undone, or seen to have brought nothing. */
typedef struct {
    size_t count;
    zk_run last; /* it may grow by what follows */
} zk_mark;

zk_mark zk_mark_runs(const zk_runs *runs);
bool zk_nothing_added(const zk_runs *runs, const zk_mark *before);
void zk_undo_runs(zk_runs *runs, const zk_mark *before);

/* Reads messages of magic 0 and 1 from a position on: ENDS where the set does, REFUSED in front of
 * all else. The position moves behind what was read. */
zk_set_status zk_walk_messages(zk_walker *self, zk_buffer *set, size_t *position);

#endif
