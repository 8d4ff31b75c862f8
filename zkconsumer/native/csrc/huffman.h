/* Tables that turn the next bits of a DEFLATE stream into a symbol in one or two look-ups. */
#ifndef ZK_HUFFMAN_H
#define ZK_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZK_MAX_CODE_BITS = 15,
    ZK_LITERAL_BITS = 11, /* bits that the first look-up takes */
    ZK_DISTANCE_BITS = 9,
    ZK_LENGTHS_BITS = 7,
    /* Proven maxima are 2,342 and 594 entries; filling checks the bound all the same. */
    ZK_LITERAL_ENTRIES = 2400,
    ZK_DISTANCE_ENTRIES = 640,
    ZK_LENGTHS_ENTRIES = 128,
};

/* An entry: bits 0-7 how many bits it takes, bits 8-11 extra bits, bits 12-15 its kind,
 * bits 16-31 its value (a literal; a base; where the second table begins). 0 is no code. */
enum {
    ZK_LITERAL = 1 << 12,
    ZK_BASE = 2 << 12,      /* a length or a distance: value plus so many extra bits */
    ZK_END = 4 << 12,       /* of the block */
    ZK_SUBTABLE = 8 << 12,  /* look again, with the extra bits behind the first ones */
};

typedef struct {
    uint32_t *entries;
    size_t capacity;
    unsigned bits;       /* of the first look-up */
    bool may_be_partial; /* one code of one bit may stand alone; so may none at all */
} zk_code_table;

/* Fills a table from code lengths.
 * symbols: the entry of each symbol, without its bits. False: these lengths make no prefix code. */
bool zk_fill_table(zk_code_table *table, const uint8_t *lengths, size_t count,
                   const uint32_t *symbols);

#endif
