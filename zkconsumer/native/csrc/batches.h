/* Reads one fetched record set of any magic into runs: what `records.decode_batches` defines.
 *
 * As walk.h does for messages, it takes what is certainly sound and stops in front of anything else.
 * It stops, too, in front of a batch whose codec it does not have; whoever has it gives the records,
 * and reading goes on. Takes no lock, and calls nothing but malloc: it may run in any thread, one at
 * a time. */
#ifndef ZK_BATCHES_H
#define ZK_BATCHES_H

#include "batch.h"
#include "walk_inside.h"

typedef struct {
    zk_walker walk; /* `walk.next_offset`, `walk.room_bytes`: how far it came */
    zk_set_limits limits;
    zk_runs runs; /* where `walk.runs` points */
    zk_buffer *set;
    zk_committed *committed; /* null: batches of aborted transactions are seen, too */
    size_t position;         /* behind the last entry that was read */
    int32_t last_leader_epoch; /* of the last batch that was read; -1 if not known */
} zk_reader;

/* A reader of the set from its first byte on; shares the set, and takes the filter over. Null
 * without memory. */
zk_reader *zk_reader_new(zk_buffer *set, const zk_set_limits *limits, zk_committed *committed);

/* Drops it and all it holds; null is fine. */
void zk_reader_free(zk_reader *reader);

/* Reads on. After FOREIGN give it the records of that batch, else it stops there again. */
zk_set_status zk_reader_read(zk_reader *reader);

/* The records of the batch at the position, as they lie there compressed, and how. */
typedef struct {
    int codec;
    size_t start, size;
} zk_foreign;

zk_foreign zk_reader_foreign(const zk_reader *reader);

/* Takes the records of the batch at the position, decompressed into a buffer of their own: not more
 * than there is room for. ENDS if all is well, as REFUSED else. */
zk_set_status zk_reader_take(zk_reader *reader, zk_buffer *body);

typedef struct {
    zk_set_status status; /* not FOREIGN: that is refused, too */
    size_t position;      /* behind the last entry that was read */
    int64_t next_offset;  /* behind the last record; never below the fetch offset */
    size_t room_bytes;    /* what is left of the bound */
} zk_set_result;

/* Reads a set from a position on at once, without a filter, and adds what it finds to `runs`. */
zk_set_result zk_read_set(zk_buffer *set, size_t position, const zk_set_limits *limits,
                          zk_runs *runs);

#endif
