/* Reads one fetched record set of any magic into runs: what `records.decode` defines.
 *
 * As walk.h does for messages, it takes what is certainly sound and stops in front of anything else.
 * Takes no lock, and calls nothing but malloc and the libraries of codecs: it may run in any thread,
 * one at a time. */
#ifndef ZK_BATCHES_H
#define ZK_BATCHES_H

#include "batch.h"
#include "walk_inside.h"

typedef struct {
    zk_walker walk; /* `walk.next_offset`, `walk.remaining_bytes`: how far it came */
    zk_set_limits limits;
    zk_runs runs; /* where `walk.runs` points */
    zk_buffer *set;
    zk_committed *committed; /* null: batches of aborted transactions are seen, too */
    int kept_codec;          /* batches of this codec are kept as they came, too; 0: none */
    size_t position;         /* behind the last entry that was read */
    int32_t last_leader_epoch; /* of the last batch that was read; -1 if not known */
} zk_reader;

/* A reader of the set from its first byte on; shares the set, and takes the filter over. Null
 * without memory. */
zk_reader *zk_reader_new(zk_buffer *set, const zk_set_limits *limits, zk_committed *committed);

/* Drops it and all it holds; null is fine. */
void zk_reader_free(zk_reader *reader);

/* Reads on. */
zk_set_status zk_reader_read(zk_reader *reader);

typedef struct {
    zk_set_status status;
    size_t position;      /* behind the last entry that was read */
    int64_t next_offset;  /* behind the last record; never below the fetch offset */
    size_t remaining_bytes;    /* what is left of the bound */
} zk_set_result;

/* Reads a set from a position on at once, without a filter, and adds what it finds to `runs`. */
zk_set_result zk_read_set(zk_buffer *set, size_t position, const zk_set_limits *limits,
                          zk_runs *runs);

#endif
