#include "huffman.h"

#include <string.h>

typedef struct {
    uint16_t count[ZK_MAX_CODE_BITS + 1];  /* codes of each length that are still to be placed */
    uint16_t sorted[288];                  /* symbols by length, then by value */
    unsigned longest;
} code_order;

static void sort_symbols(code_order *order, const uint8_t *lengths, size_t count) {
    uint16_t next[ZK_MAX_CODE_BITS + 2] = {0};
    memset(order->count, 0, sizeof order->count);
    for (size_t symbol = 0; symbol < count; symbol++)
        order->count[lengths[symbol]]++;
    order->count[0] = 0;
    order->longest = 0;
    for (unsigned length = 1; length <= ZK_MAX_CODE_BITS; length++) {
        next[length + 1] = (uint16_t)(next[length] + order->count[length]);
        if (order->count[length])
            order->longest = length;
    }
    for (size_t symbol = 0; symbol < count; symbol++)
        if (lengths[symbol])
            order->sorted[next[lengths[symbol]]++] = (uint16_t)symbol;
}

/* Whether the lengths use up the code space: all of it, or as little as a partial code may. */
static bool is_prefix_code(const code_order *order, bool may_be_partial) {
    int32_t left = 1;
    for (unsigned length = 1; length <= ZK_MAX_CODE_BITS; length++) {
        left = left * 2 - order->count[length];
        if (left < 0)
            return false;
    }
    return left == 0 || (may_be_partial && order->longest <= 1);
}

/* The next code of this length, counting from the bit that is read first. */
static uint32_t next_code(uint32_t code, unsigned length) {
    uint32_t bit = 1u << (length - 1);
    while (code & bit)
        bit >>= 1;
    return bit ? (code & (bit - 1)) + bit : 0;
}

static void fill(uint32_t *entries, size_t size, uint32_t from, unsigned length, uint32_t entry) {
    for (size_t at = from; at < size; at += (size_t)1 << length)
        entries[at] = entry;
}

/* How many bits a second table needs that begins with a code of this length. */
static unsigned second_bits(const code_order *order, unsigned first_bits, unsigned length) {
    unsigned bits = length - first_bits;
    int32_t left = 1 << bits;
    while (first_bits + bits < order->longest) {
        left -= order->count[first_bits + bits];
        if (left <= 0)
            break;
        bits++;
        left *= 2;
    }
    return bits;
}

bool zk_fill_table(zk_code_table *table, const uint8_t *lengths, size_t count,
                   const uint32_t *symbols) {
    code_order order;
    sort_symbols(&order, lengths, count);
    if (!is_prefix_code(&order, table->may_be_partial))
        return false;
    const size_t first_size = (size_t)1 << table->bits;
    memset(table->entries, 0, first_size * sizeof *table->entries);
    size_t used = first_size, second_at = 0, second_size = 0, placed = 0;
    uint32_t code = 0, second_of = UINT32_MAX;
    for (unsigned length = 1; length <= order.longest; length++) {
        while (order.count[length]) {
            const uint32_t entry = symbols[order.sorted[placed++]];
            const uint32_t front = code & (uint32_t)(first_size - 1);
            if (length <= table->bits) {
                fill(table->entries, first_size, code, length, entry | length);
            } else {
                if (front != second_of) {
                    const unsigned bits = second_bits(&order, table->bits, length);
                    second_of = front;
                    second_at = used;
                    second_size = (size_t)1 << bits;
                    used += second_size;
                    if (used > table->capacity)
                        return false;
                    memset(table->entries + second_at, 0, second_size * sizeof *table->entries);
                    table->entries[front] = (uint32_t)(second_at << 16) | ZK_SUBTABLE | bits << 8 |
                                            table->bits;
                }
                const unsigned rest = length - table->bits;
                fill(table->entries + second_at, second_size, code >> table->bits, rest,
                     entry | rest);
            }
            order.count[length]--;
            code = next_code(code, length);
        }
    }
    return true;
}
