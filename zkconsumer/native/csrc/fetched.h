/* Fetched runs, from which the caller takes a number of messages at a time. */
#ifndef ZK_FETCHED_H
#define ZK_FETCHED_H

#include "run.h"

typedef struct {
    zk_runs runs;
    size_t first; /* the runs before it are taken */
    size_t left;  /* the number of messages in the others */
} zk_fetched;

/* Takes ownership of the runs (`runs` is emptied). */
zk_fetched zk_fetched_from(zk_runs *runs);

/* Frees the rest. */
void zk_fetched_free(zk_fetched *fetched);

typedef enum { ZK_TAKEN, ZK_TAKE_BROKEN, ZK_TAKE_NO_MEMORY } zk_taking;

/* Moves up to `count` messages to `taken`, which must be empty. BROKEN: bytes have changed since they
 * were checked; then, and without memory, nothing is moved. */
zk_taking zk_fetched_take(zk_fetched *fetched, size_t count, zk_runs *taken);

#endif
