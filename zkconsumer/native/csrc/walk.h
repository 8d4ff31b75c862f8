/* Reads messages of magic 0 and 1 into runs; batches.h has the reader for sets of any magic.
 *
 * `records.decode` defines the meaning of a set. This reads entries that are certainly valid and within
 * the limits, and stops before the first other one, which is left to that definition. */
#ifndef ZK_WALK_H
#define ZK_WALK_H

#include "run.h"

enum { ZK_MAX_DEPTH = 4 }; /* as in `records.legacy` */

typedef enum {
    ZK_SET_ENDS,    /* all whole entries were read */
    ZK_SET_FULL,    /* enough is decompressed: the rest is left to another call */
    ZK_SET_REFUSED, /* the entry at the position is invalid, or left to Python */
    ZK_SET_NO_MEMORY,
} zk_set_status;

typedef struct {
    int64_t fetch_offset; /* messages below it are skipped unread; not negative */
    size_t bound_bytes;   /* the maximum size of all decompressed sets together */
    size_t enough_bytes;  /* the decompressed size after which no further set is begun */
    size_t piece_bytes;   /* the approximate size of runs and arenas */
} zk_set_limits;

#endif
