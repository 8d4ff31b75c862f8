/* Walks the headers of a fetched set: do the offsets of its entries ascend, and where does it end?
 *
 * No checksum covers the offsets. `records.offset_order` defines how to handle an entry that does not
 * fit; this only finds the first one. Streams and polls send the next request by the position and the
 * offset at the end of the walk, before the set is decoded. */
#ifndef ZK_ORDER_H
#define ZK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A position in a set, between two entries. */
typedef struct {
    size_t position;
    int64_t low;          /* the smallest valid offset from here on */
    bool is_first;        /* no entry that counts precedes it */
    uint32_t codecs;      /* of the entries before it and of a truncated one after it: a bit for each */
    int32_t leader_epoch; /* of the entry before it; ZK_NO_LEADER_EPOCH if it names none */
} zk_order;

/* Advances `order`: every entry must be at or above the one before it, and below `end`.
 * False: one is not. Then `order` is at the entry before it, as either may be wrong; or at this one, if
 * none precedes it or if it is not below `end`. A truncated entry, or bytes that no reader would take
 * for one, end the walk without a fault: `order` is where it ended. */
bool zk_offsets_rise(const uint8_t *data, size_t size, int64_t end, zk_order *order);

/* The size of the truncated entry at a position; 0 if there is none, or it is whole.
 * Source: `records.entries.cut_off_entry`. */
size_t zk_cut_off_bytes(const uint8_t *data, size_t size, size_t position);

#endif
