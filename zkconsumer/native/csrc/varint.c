#include "varint.h"

const uint8_t *zk_varint_slow(const uint8_t *at, const uint8_t *end, int bits, uint64_t *found) {
    *found = 0;
    for (int shift = 0; shift < bits && at < end; shift += 7) {
        const uint64_t part = *at & 0x7F;
        if (shift + 7 > bits && part >> (bits - shift))
            return NULL; /* it does not fit */
        *found |= part << shift;
        if (*at++ < 0x80)
            return at;
    }
    return NULL;
}
