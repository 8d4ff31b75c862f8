/* Reads messages of magic 0 and 1 into runs; batches.h has the reader for sets of any magic.
 *
 * `records.decode` defines what a set means. This takes what is sound and within the bounds, and
 * stops in front of the first entry of which that is not certain: that one is for the definition. */
#ifndef ZK_WALK_H
#define ZK_WALK_H

#include "run.h"

enum { ZK_MAX_DEPTH = 4 }; /* as in `records.legacy` */

typedef enum {
    ZK_SET_ENDS,    /* all whole entries were read */
    ZK_SET_FULL,    /* enough is decompressed: the rest is for another call */
    ZK_SET_REFUSED, /* the entry at the position is not sound, or not for us to judge */
    ZK_SET_NO_MEMORY,
} zk_set_status;

typedef struct {
    int64_t fetch_offset; /* messages below are passed over unread; not negative */
    size_t bound_bytes;   /* what all compressed sets together may become */
    size_t enough_bytes;  /* with so much decompressed no further set is begun */
    size_t piece_bytes;   /* about how large runs and arenas become */
} zk_set_limits;

/* What the headers of a set tell. */
typedef struct {
    int64_t next_offset; /* behind the last whole entry; the fetch offset where none is whole */
    size_t needed_bytes; /* by the entry that is cut off at its end */
    bool is_sound;       /* it can be relied on: something whole is in it, and nothing odd */
    bool is_compressed;
    int32_t leader_epoch; /* that the last whole entry names */
} zk_ahead;

/* A look at the headers alone, so that the next request can leave before this answer is decoded. */
zk_ahead zk_look_ahead(const uint8_t *data, size_t size, int64_t fetch_offset);

#endif
