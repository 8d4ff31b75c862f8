/* Copies bytes in strides.
 *
 * Most copies are short, and should take neither a loop nor a call. Bytes written beyond the end lie in
 * the slack: see ZK_SLACK_BYTES. */
#ifndef ZK_COPY_H
#define ZK_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies `length` bytes from `offset` bytes before `to`; the two may overlap. */
static inline void zk_copy_back(uint8_t *to, size_t offset, size_t length) {
    const uint8_t *from = to - offset;
    uint8_t *const end = to + length;
    if (offset >= 16) {
        do {
            memcpy(to, from, 16);
            to += 16;
            from += 16;
        } while (to < end);
        return;
    }
    if (offset < 8) {
        if (offset == 1) {
            memset(to, *from, length);
            return;
        }
        /* Bytes that repeat every `offset` bytes also repeat every PERIODS[offset]: the first multiple
         * that a stride of 8 does not overlap. */
        static const uint8_t PERIODS[8] = {8, 8, 8, 9, 8, 10, 12, 14};
        for (int byte = 0; byte < 8; byte++)
            to[byte] = from[byte];
        to += 8;
        from = to - PERIODS[offset];
    }
    while (to < end) {
        memcpy(to, from, 8);
        to += 8;
        from += 8;
    }
}

#endif
