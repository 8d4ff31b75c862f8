/* Copying bytes in strides, as every codec does.
 *
 * Most copies are short, so what counts is to have no loop and no call for them. Both functions write
 * up to 31 bytes behind the end: see ZK_SLACK_BYTES. */
#ifndef ZK_COPY_H
#define ZK_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies `length` bytes of input, of which `readable` (at least as many) are there. */
static inline void zk_copy_literals(uint8_t *to, const uint8_t *from, size_t length,
                                    size_t readable) {
    if (length <= 32 && readable >= 32) {
        memcpy(to, from, 16);
        memcpy(to + 16, from + 16, 16);
    } else {
        memcpy(to, from, length);
    }
}

/* Copies `length` bytes that begin `offset` bytes before `to`, and may overlap with what they make. */
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
        /* What repeats every `offset` bytes repeats every `period` too, the first multiple of it
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
