/* Finds the batches of one response that belong to aborted transactions, as `records.transactions`
 * defines. */
#ifndef ZK_COMMITTED_H
#define ZK_COMMITTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZK_NO_PRODUCER_ID = -1 };

typedef struct {
    int64_t first_offset;
    int64_t producer_id;
} zk_aborted;

/* The marker in a control batch; NONE for a batch of records. */
typedef enum { ZK_MARKER_NONE, ZK_MARKER_ABORT, ZK_MARKER_COMMIT, ZK_MARKER_OTHER } zk_marker;

typedef struct {
    zk_aborted *to_come; /* by first offset */
    size_t count;
    size_t next;        /* the first one that has not begun */
    int64_t *producers; /* sorted, each once */
    bool *is_open;      /* by producer: whether it is in an aborted transaction */
    size_t producer_count;
} zk_committed;

/* A filter for the aborted transactions of a response, in any order; null without memory. */
zk_committed *zk_committed_new(const zk_aborted *aborted, size_t count);

/* Null is fine. */
void zk_committed_free(zk_committed *filter);

/* Returns whether the next batch is hidden from users. Calling it again for the same batch returns the
 * same, and changes nothing. */
bool zk_committed_drops(zk_committed *filter, int64_t last_offset, int64_t producer_id,
                        bool is_transactional, zk_marker marker);

#endif
