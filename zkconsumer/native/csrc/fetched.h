/* Runs that wait for their caller, who takes so many messages off their front at a time. */
#ifndef ZK_FETCHED_H
#define ZK_FETCHED_H

#include "run.h"

typedef struct {
    zk_runs runs;  /* those in front of `first` are gone */
    size_t first;
    size_t left;   /* how many messages are in the others */
} zk_fetched;

/* Takes the runs over (`runs` is emptied). */
zk_fetched zk_fetched_from(zk_runs *runs);

/* Drops what is left. */
void zk_fetched_free(zk_fetched *fetched);

typedef enum { ZK_TAKEN, ZK_TAKE_BROKEN, ZK_TAKE_NO_MEMORY } zk_taking;

/* Moves up to `count` messages to `taken`, which must be empty. BROKEN if bytes have changed since
 * they were checked; then, and without memory, nothing is moved. */
zk_taking zk_fetched_take(zk_fetched *fetched, size_t count, zk_runs *taken);

#endif
