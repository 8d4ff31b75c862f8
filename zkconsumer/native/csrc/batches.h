/* Reads one fetched record set of any magic into runs, as `records.decode` defines.
 *
 * Like walk.h for messages, it takes entries that are certainly valid, and stops before the first other
 * one. It takes no lock, and calls only malloc and the codec libraries. Thread: any, one at a time. */
#ifndef ZK_BATCHES_H
#define ZK_BATCHES_H

#include "batch.h"
#include "walk_inside.h"

typedef struct {
    zk_walker walk; /* its progress: `walk.next_offset`, `walk.remaining_bytes` */
    zk_set_limits limits;
    zk_runs runs; /* where `walk.runs` points */
    zk_buffer *set;
    zk_committed *committed; /* null: batches of aborted transactions are returned, too */
    int kept_codec;          /* batches of this codec are also kept compressed; 0: none */
    size_t position;         /* after the last entry that was read */
    int32_t last_leader_epoch; /* of the last batch that was read; -1 if not known */
} zk_reader;

/* Makes a reader of a whole set. Shares the set, and takes ownership of the filter. Null without
 * memory. */
zk_reader *zk_reader_new(zk_buffer *set, const zk_set_limits *limits, zk_committed *committed);

/* Frees it and all it holds; null is fine. */
void zk_reader_free(zk_reader *reader);

/* Continues reading. */
zk_set_status zk_reader_read(zk_reader *reader);

typedef struct {
    zk_set_status status;
    size_t position;        /* after the last entry that was read */
    int64_t next_offset;    /* after the last record; never below the fetch offset */
    size_t remaining_bytes; /* of the bound */
    int32_t leader_epoch;   /* of the last batch that was read, whether it has records or not; else -1 */
} zk_set_result;

/* Reads a set from a position on, in one go and without a filter; adds its runs to `runs`. */
zk_set_result zk_read_set(zk_buffer *set, size_t position, const zk_set_limits *limits,
                          zk_runs *runs);

#endif
