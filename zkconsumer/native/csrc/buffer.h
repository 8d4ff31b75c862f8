/* Reference-counted bytes: a response, or an arena that decompressed sets are appended to.
 *
 * While an arena grows it has one owner, and growing may move it: whoever points into it keeps
 * positions, not pointers. Once it is shared it does not change any more. */
#ifndef ZK_BUFFER_H
#define ZK_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a decoder may write beyond what it was asked for, so that it can copy in wide strides. */
enum { ZK_SLACK_BYTES = 512 };

typedef struct zk_buffer {
    uint8_t *data;
    size_t used;     /* how many bytes mean something */
    size_t capacity; /* how many there are; 0 where they belong to somebody else */
    atomic_size_t references;
    void (*release)(void *owner); /* for bytes that belong to somebody else; may be null */
    void *owner;
} zk_buffer;

/* An empty buffer with one reference, for at least this much and the slack; null without memory. */
zk_buffer *zk_buffer_new(size_t size);

/* A buffer of exactly this size, all of it in use, for bytes to be copied into at once; null without
 * memory. There is no slack behind them. */
zk_buffer *zk_buffer_exact(size_t size);

/* A buffer around somebody else's bytes, which must not change; null without memory.
 * release(owner) is called when the last reference goes, in whichever thread that is. */
zk_buffer *zk_buffer_around(const uint8_t *data, size_t size, void (*release)(void *), void *owner);

zk_buffer *zk_buffer_share(zk_buffer *buffer);

/* What it takes of the memory, its own or somebody else's. */
static inline size_t zk_buffer_held(const zk_buffer *buffer) {
    return buffer->capacity > buffer->used ? buffer->capacity : buffer->used;
}

/* Gives a reference back; null is fine. */
void zk_buffer_drop(zk_buffer *buffer);

/* Makes room for so many bytes behind those in use, and the slack; may move the data. */
bool zk_buffer_reserve(zk_buffer *buffer, size_t size);

/* Gives memory back where there is far more than what is in use. Nothing may be added any more. */
void zk_buffer_trim(zk_buffer *buffer);

/* Frees what is kept for reuse: for leak checks. */
void zk_buffer_forget_spares(void);

#endif
