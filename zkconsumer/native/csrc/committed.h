/* Which batches of one answer belong to aborted transactions: what `records.transactions` defines. */
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

/* What a control batch says; none is for a batch of records. */
typedef enum { ZK_MARKER_NONE, ZK_MARKER_ABORT, ZK_MARKER_COMMIT, ZK_MARKER_OTHER } zk_marker;

typedef struct {
    zk_aborted *to_come; /* by first offset */
    size_t count;
    size_t next;        /* those in front of it have begun */
    int64_t *producers; /* sorted, each once */
    bool *is_open;      /* of each, whether it is in an aborted transaction */
    size_t producer_count;
} zk_committed;

/* A filter for an answer that names these, in any order; null without memory. */
zk_committed *zk_committed_new(const zk_aborted *aborted, size_t count);

/* Null is fine. */
void zk_committed_free(zk_committed *filter);

/* Whether a user must not see the next batch. Asked twice about one batch, it says the same twice,
 * and then stands where it stood after the first time. */
bool zk_committed_drops(zk_committed *filter, int64_t last_offset, int64_t producer_id,
                        bool is_transactional, zk_marker marker);

#endif
