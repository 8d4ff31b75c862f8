/* Copying what was decoded before, as every codec does. */
#ifndef ZK_COPY_H
#define ZK_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies `length` bytes that begin `offset` bytes before `to`, and may overlap with what they make.
 * Goes in strides where it can: up to 16 bytes are written behind the end (see ZK_SLACK_BYTES). */
static inline void zk_copy_back(uint8_t *to, size_t offset, size_t length) {
    const uint8_t *from = to - offset;
    uint8_t *const end = to + length;
    if (offset >= 16) {
        do {
            memcpy(to, from, 16);
            to += 16;
            from += 16;
        } while (to < end);
    } else if (offset >= 8) {
        do {
            memcpy(to, from, 8);
            to += 8;
            from += 8;
        } while (to < end);
    } else if (offset == 1) {
        memset(to, *from, length);
    } else {
        while (to < end)
            *to++ = *from++;
    }
}

#endif
