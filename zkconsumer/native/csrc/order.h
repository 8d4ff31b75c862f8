/* Whether the offsets that the entries of a fetched set claim fit together, by their headers alone.
 *
 * No checksum covers them. `records.offset_order` defines what is to be made of those that do not fit;
 * here is only the walk that finds the first of them. */
#ifndef ZK_ORDER_H
#define ZK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place in a set. */
typedef struct {
    size_t position;
    int64_t low;   /* no offset from here on may be below */
    bool is_first; /* no entry was in front of it that counts */
    uint32_t codecs; /* of the entries in front of it, and of one that is cut off: a bit for each */
} zk_order;

/* Walks on from a place: every entry must be at or above what lies in front of it, and below `end`.
 * False: one is not, and the place is that of the entry before it, which may be what is wrong; or its
 * own, where none was before it or where it is not below `end`. What is cut off, or what no reader
 * would take for an entry, ends the walk, and well: then the place is where it ended. */
bool zk_offsets_rise(const uint8_t *data, size_t size, int64_t end, zk_order *order);

#endif
