#include "fetched.h"

#include <stdlib.h>
#include <string.h>

zk_fetched zk_fetched_from(zk_runs *runs) {
    zk_fetched fetched = {.runs = *runs};
    *runs = (zk_runs){0};
    for (size_t at = 0; at < fetched.runs.count; at++)
        fetched.left += fetched.runs.items[at].count;
    return fetched;
}

void zk_fetched_free(zk_fetched *fetched) {
    for (size_t at = fetched->first; at < fetched->runs.count; at++)
        zk_buffer_drop(fetched->runs.items[at].buffer);
    free(fetched->runs.items);
    *fetched = (zk_fetched){0};
}

zk_taking zk_fetched_take(zk_fetched *fetched, size_t count, zk_runs *taken) {
    if (count > fetched->left)
        count = fetched->left;
    zk_run *const items = fetched->runs.items + fetched->first;
    size_t whole = 0, left = count;
    while (left && items[whole].count <= left)
        left -= items[whole++].count;
    const size_t runs = whole + (left > 0);
    if (!runs)
        return ZK_TAKEN;
    zk_run *moved = malloc(runs * sizeof *moved);
    if (!moved)
        return ZK_TAKE_NO_MEMORY;
    if (left && !zk_run_split(items + whole, SIZE_MAX, left, moved + whole)) {
        free(moved);
        return ZK_TAKE_BROKEN;
    }
    memcpy(moved, items, whole * sizeof *moved);
    fetched->first += whole;
    fetched->left -= count;
    *taken = (zk_runs){moved, runs, runs};
    return ZK_TAKEN;
}
