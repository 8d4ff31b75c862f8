/* Reference-counted bytes: a response, or an arena that decompressed sets are appended to.
 *
 * A growing arena has one owner, and may move: keep positions in it, not pointers. Once it is shared, it
 * does not change any more. */
#ifndef ZK_BUFFER_H
#define ZK_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that a decoder may write beyond its output, so that it can copy in wide strides. */
enum { ZK_SLACK_BYTES = 512 };

/* From this size on memory is kept for the next buffer. */
enum { ZK_SPARE_MIN_BYTES = 512 * 1024 };

typedef struct zk_buffer {
    uint8_t *data;
    size_t used;
    size_t capacity; /* 0: the bytes belong to `owner` */
    atomic_size_t references;
    void (*release)(void *owner); /* for bytes with an owner; may be null */
    void *owner;
} zk_buffer;

/* An empty buffer with one reference, for at least this much and the slack; null without memory. */
zk_buffer *zk_buffer_new(size_t size);

/* A buffer of which this much is in use, whatever is in it; null without memory. Its capacity is one of few,
 * so that later ones can have its memory. */
zk_buffer *zk_buffer_pooled(size_t size);

/* A buffer of exactly this size, all of it in use, to copy bytes into; null without memory. It has no
 * slack. */
zk_buffer *zk_buffer_exact(size_t size);

/* A buffer around bytes of another owner, which must not change; null without memory.
 * release(owner) is called when the last reference is dropped, in that thread. */
zk_buffer *zk_buffer_around(const uint8_t *data, size_t size, void (*release)(void *), void *owner);

zk_buffer *zk_buffer_share(zk_buffer *buffer);

/* The memory that it keeps alive, its own or its owner's. */
static inline size_t zk_buffer_held(const zk_buffer *buffer) {
    return buffer->capacity > buffer->used ? buffer->capacity : buffer->used;
}

/* Drops a reference; null is fine. */
void zk_buffer_drop(zk_buffer *buffer);

/* Reserves space for `size` more bytes, and the slack; may move the data. */
bool zk_buffer_reserve(zk_buffer *buffer, size_t size);

/* Returns unused memory if that is most of it. Nothing may be added after that. */
void zk_buffer_trim(zk_buffer *buffer);

/* Frees the spare buffers: for leak checks. */
void zk_buffer_forget_spares(void);

#endif
