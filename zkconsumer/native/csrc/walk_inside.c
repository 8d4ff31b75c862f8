#include "walk_inside.h"

enum { MIN_ARENA_BYTES = 16 * 1024, LIKELY_EXPANSION = 8 };

zk_buffer *zk_walker_buffer(zk_walker *self, int depth, size_t left_bytes) {
    if (depth == 0 && self->arena)
        return zk_buffer_share(self->arena);
    const size_t most = self->limits->piece_bytes + self->limits->piece_bytes / 4;
    size_t size = left_bytes * LIKELY_EXPANSION;
    if (size > most)
        size = most;
    zk_buffer *buffer = zk_buffer_new(size < MIN_ARENA_BYTES ? MIN_ARENA_BYTES : size);
    if (buffer && depth == 0)
        self->arena = zk_buffer_share(buffer);
    return buffer;
}

void zk_walker_renew_arena(zk_walker *self) {
    if (!self->arena || self->arena->used < self->limits->piece_bytes)
        return;
    zk_buffer_drop(self->arena); /* its runs keep it alive */
    self->arena = NULL;
}

void zk_walker_end(zk_walker *self) {
    if (self->arena)
        zk_buffer_trim(self->arena);
    zk_buffer_drop(self->arena);
    self->arena = NULL;
}

zk_mark zk_mark_runs(const zk_runs *runs) {
    return (zk_mark){runs->count, runs->count ? runs->items[runs->count - 1] : (zk_run){0}};
}

bool zk_nothing_added(const zk_runs *runs, const zk_mark *before) {
    return runs->count == before->count &&
           (!runs->count || runs->items[runs->count - 1].size == before->last.size);
}

void zk_undo_runs(zk_runs *runs, const zk_mark *before) {
    zk_runs_cut(runs, before->count);
    if (before->count)
        runs->items[before->count - 1] = before->last;
}
