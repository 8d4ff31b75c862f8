/* The state shared by the readers of messages and of batches while they walk one set. */
#ifndef ZK_WALK_INSIDE_H
#define ZK_WALK_INSIDE_H

#include "walk.h"

typedef struct {
    const zk_set_limits *limits;
    zk_runs *runs;
    zk_buffer *arena; /* that top-level sets are decompressed into; null before the first */
    size_t remaining_bytes;
    int64_t next_offset;
} zk_walker;

static inline void zk_walker_advance(zk_walker *self, int64_t offset) {
    if (offset >= self->next_offset)
        self->next_offset = zk_behind(offset);
}

/* Returns whether the next compressed set is left to another call. */
static inline bool zk_walker_has_enough(const zk_walker *self) {
    const size_t used = self->limits->bound_bytes - self->remaining_bytes;
    return used > 0 && used >= self->limits->enough_bytes;
}

/* Returns a reference to the buffer that a set at this depth is decompressed into; `left_bytes` is the
 * size of the entries still to be read. Top-level sets share the arena; it must not move while a set in it is
 * read, so each nested set gets a buffer of its own. Null without memory. */
zk_buffer *zk_walker_buffer(zk_walker *self, int depth, size_t left_bytes);

/* Begins another arena if this one has reached the size of a piece. */
void zk_walker_renew_arena(zk_walker *self);

/* Returns the unused memory of the arena. */
void zk_walker_end(zk_walker *self);

/* The runs before a set, to undo it or to detect that it added none. */
typedef struct {
    size_t count;
    zk_run last; /* the following runs may be merged into it */
} zk_mark;

zk_mark zk_mark_runs(const zk_runs *runs);
bool zk_nothing_added(const zk_runs *runs, const zk_mark *before);
void zk_undo_runs(zk_runs *runs, const zk_mark *before);

/* Reads messages of magic 0 and 1 from a position on: ENDS at the end of the set, REFUSED before any
 * other entry. The position moves after the last message that was read. */
zk_set_status zk_walk_messages(zk_walker *self, zk_buffer *set, size_t *position);

#endif
