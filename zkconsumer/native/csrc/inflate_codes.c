#include "inflate_codes.h"

#include <string.h>

enum { LITERAL_SYMBOLS = 288, DISTANCE_SYMBOLS = 32, LENGTH_CODES = 19 };

/* What the symbols mean (RFC 1951, 3.2.5), as table entries without their bits. */
#define BASE(value, extra) ((uint32_t)(value) << 16 | ZK_BASE | (extra) << 8)
static const uint32_t LENGTHS[29] = {
    BASE(3, 0),   BASE(4, 0),   BASE(5, 0),   BASE(6, 0),   BASE(7, 0),  BASE(8, 0),
    BASE(9, 0),   BASE(10, 0),  BASE(11, 1),  BASE(13, 1),  BASE(15, 1), BASE(17, 1),
    BASE(19, 2),  BASE(23, 2),  BASE(27, 2),  BASE(31, 2),  BASE(35, 3), BASE(43, 3),
    BASE(51, 3),  BASE(59, 3),  BASE(67, 4),  BASE(83, 4),  BASE(99, 4), BASE(115, 4),
    BASE(131, 5), BASE(163, 5), BASE(195, 5), BASE(227, 5), BASE(258, 0)};
static const uint32_t DISTANCES[DISTANCE_SYMBOLS] = {
    BASE(1, 0),      BASE(2, 0),      BASE(3, 0),      BASE(4, 0),     BASE(5, 1),
    BASE(7, 1),      BASE(9, 2),      BASE(13, 2),     BASE(17, 3),    BASE(25, 3),
    BASE(33, 4),     BASE(49, 4),     BASE(65, 5),     BASE(97, 5),    BASE(129, 6),
    BASE(193, 6),    BASE(257, 7),    BASE(385, 7),    BASE(513, 8),   BASE(769, 8),
    BASE(1025, 9),   BASE(1537, 9),   BASE(2049, 10),  BASE(3073, 10), BASE(4097, 11),
    BASE(6145, 11),  BASE(8193, 12),  BASE(12289, 12), BASE(16385, 13), BASE(24577, 13),
    0,               0};
#undef BASE

static bool fill_tables(zk_codes *codes, const uint8_t *lengths, size_t literals, size_t distances) {
    uint32_t symbols[LITERAL_SYMBOLS] = {0}; /* 286 and 287 stay no code */
    for (uint32_t byte = 0; byte < 256; byte++)
        symbols[byte] = byte << 16 | ZK_LITERAL;
    symbols[256] = ZK_END;
    memcpy(symbols + 257, LENGTHS, sizeof LENGTHS);
    zk_code_table table = {codes->literals, ZK_LITERAL_ENTRIES, ZK_LITERAL_BITS, true};
    if (!zk_fill_table(&table, lengths, literals, symbols))
        return false;
    table = (zk_code_table){codes->distances, ZK_DISTANCE_ENTRIES, ZK_DISTANCE_BITS, true};
    return zk_fill_table(&table, lengths + literals, distances, DISTANCES);
}

bool zk_fixed_codes(zk_codes *codes) {
    uint8_t lengths[LITERAL_SYMBOLS + DISTANCE_SYMBOLS];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    memset(lengths + LITERAL_SYMBOLS, 5, DISTANCE_SYMBOLS);
    return fill_tables(codes, lengths, LITERAL_SYMBOLS, DISTANCE_SYMBOLS);
}

/* Reads the lengths of both codes, which are themselves coded by a third one. */
static bool read_lengths(zk_bits *in, const uint32_t *table, uint8_t *lengths, size_t total) {
    size_t count = 0;
    while (count < total) {
        if (!zk_refill(in))
            return false;
        const uint32_t entry = zk_look_up(table, ZK_LENGTHS_BITS, in);
        if (!(entry & ZK_LITERAL))
            return false;
        const uint32_t symbol = entry >> 16;
        if (symbol < 16) {
            lengths[count++] = (uint8_t)symbol;
            continue;
        }
        size_t repeats;
        uint8_t length = 0;
        if (symbol == 16) {
            if (count == 0)
                return false;
            length = lengths[count - 1];
            repeats = 3 + zk_take(in, 2);
        } else if (symbol == 17) {
            repeats = 3 + zk_take(in, 3);
        } else {
            repeats = 11 + zk_take(in, 7);
        }
        if (repeats > total - count)
            return false;
        memset(lengths + count, length, repeats);
        count += repeats;
    }
    return true;
}

bool zk_read_codes(zk_codes *codes, zk_bits *in) {
    static const uint8_t ORDER[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                11, 4,  12, 3, 13, 2, 14, 1, 15};
    if (!zk_refill(in))
        return false;
    const size_t literals = 257 + zk_take(in, 5), distances = 1 + zk_take(in, 5);
    const size_t used = 4 + zk_take(in, 4);
    if (literals > 286 || distances > 30)
        return false;
    uint8_t code_lengths[LENGTH_CODES] = {0};
    for (size_t at = 0; at < used; at++) {
        if (!zk_refill(in))
            return false;
        code_lengths[ORDER[at]] = (uint8_t)zk_take(in, 3);
    }
    uint32_t symbols[LENGTH_CODES], entries[ZK_LENGTHS_ENTRIES];
    for (uint32_t symbol = 0; symbol < LENGTH_CODES; symbol++)
        symbols[symbol] = symbol << 16 | ZK_LITERAL;
    zk_code_table table = {entries, ZK_LENGTHS_ENTRIES, ZK_LENGTHS_BITS, false};
    uint8_t lengths[286 + 30];
    return zk_fill_table(&table, code_lengths, LENGTH_CODES, symbols) &&
           read_lengths(in, entries, lengths, literals + distances) &&
           lengths[256] != 0 && /* or the block could not end */
           fill_tables(codes, lengths, literals, distances);
}
