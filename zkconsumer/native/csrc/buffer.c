#include "buffer.h"

#include <stdlib.h>

/* Spare buffers, of arenas, received frames and columns: a large block fresh from the system costs a page
 * fault every 4 KiB, more than decoding into it. Slots are swapped atomically, so there is no lock that a
 * fork could leave locked. */
enum { SPARE_COUNT = 4, SPARE_STEP_BYTES = 256 * 1024 };
/* What one partition, or four, send at a time while they are far behind, and what surrounds it. */
static const size_t SPARE_MAX_BYTES = 4 * 1024 * 1024 + SPARE_STEP_BYTES;
static _Atomic(zk_buffer *) spares[SPARE_COUNT];

static void destroy(zk_buffer *buffer) {
    if (buffer->capacity)
        free(buffer->data);
    else if (buffer->release)
        buffer->release(buffer->owner);
    free(buffer);
}

static bool put_back(zk_buffer *buffer, int slot) {
    zk_buffer *nothing = NULL;
    return atomic_compare_exchange_strong(&spares[slot], &nothing, buffer);
}

static bool keep_as_spare(zk_buffer *buffer) {
    if (buffer->capacity < ZK_SPARE_MIN_BYTES || buffer->capacity > SPARE_MAX_BYTES)
        return false;
    for (int slot = 0; slot < SPARE_COUNT; slot++)
        if (put_back(buffer, slot))
            return true;
    return false;
}

/* Far larger ones are left for others: what waits in a frame is counted by its length. */
static bool fits(const zk_buffer *found, size_t capacity) {
    return found->capacity >= capacity && found->capacity - capacity <= capacity / 2;
}

static zk_buffer *take_spare(size_t capacity) {
    if (capacity < ZK_SPARE_MIN_BYTES || capacity > SPARE_MAX_BYTES)
        return NULL;
    zk_buffer *fitting = NULL, *small = NULL;
    bool has_free_slot = false;
    for (int slot = 0; slot < SPARE_COUNT && !fitting; slot++) {
        zk_buffer *found = atomic_exchange(&spares[slot], NULL);
        if (!found)
            has_free_slot = true;
        else if (fits(found, capacity))
            fitting = found;
        else if (!small && found->capacity < capacity)
            small = found;
        else if (!put_back(found, slot))
            destroy(found);
    }
    /* With all slots taken, one that is too small makes room for this size. */
    if (small && ((!fitting && !has_free_slot) || !keep_as_spare(small)))
        destroy(small);
    if (fitting) {
        fitting->used = 0;
        atomic_store(&fitting->references, 1);
    }
    return fitting;
}

static zk_buffer *make(size_t capacity) {
    zk_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->data = malloc(capacity);
    if (!buffer->data) {
        free(buffer);
        return NULL;
    }
    buffer->capacity = capacity;
    atomic_init(&buffer->references, 1);
    return buffer;
}

zk_buffer *zk_buffer_new(size_t size) {
    if (size > SIZE_MAX / 4)
        return NULL;
    zk_buffer *spare = take_spare(size + ZK_SLACK_BYTES);
    return spare ? spare : make(size + ZK_SLACK_BYTES);
}

zk_buffer *zk_buffer_pooled(size_t size) {
    if (size > SIZE_MAX / 4)
        return NULL;
    size_t capacity = size + ZK_SLACK_BYTES;
    if (capacity >= ZK_SPARE_MIN_BYTES && capacity <= SPARE_MAX_BYTES)
        capacity = (capacity + SPARE_STEP_BYTES - 1) / SPARE_STEP_BYTES * SPARE_STEP_BYTES;
    zk_buffer *buffer = zk_buffer_new(capacity - ZK_SLACK_BYTES);
    if (buffer)
        buffer->used = size;
    return buffer;
}

zk_buffer *zk_buffer_exact(size_t size) {
    zk_buffer *buffer = make(size ? size : 1);
    if (buffer)
        buffer->used = size;
    return buffer;
}

zk_buffer *zk_buffer_around(const uint8_t *data, size_t size, void (*release)(void *), void *owner) {
    zk_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->data = (uint8_t *)(uintptr_t)data; /* never written: its capacity is 0 */
    buffer->used = size;
    buffer->release = release;
    buffer->owner = owner;
    atomic_init(&buffer->references, 1);
    return buffer;
}

zk_buffer *zk_buffer_share(zk_buffer *buffer) {
    atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void zk_buffer_drop(zk_buffer *buffer) {
    /* Release and acquire: what others did with the bytes happens before they are reused. */
    if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)
        return;
    if (!keep_as_spare(buffer))
        destroy(buffer);
}

bool zk_buffer_reserve(zk_buffer *buffer, size_t size) {
    if (size > SIZE_MAX / 4 || buffer->used > SIZE_MAX / 4)
        return false;
    size_t needed = buffer->used + size + ZK_SLACK_BYTES;
    if (needed <= buffer->capacity)
        return true;
    size_t doubled = buffer->capacity * 2;
    size_t capacity = needed > doubled ? needed : doubled;
    uint8_t *data = realloc(buffer->data, capacity);
    if (!data)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void zk_buffer_trim(zk_buffer *buffer) {
    const size_t needed = buffer->used ? buffer->used : 1;
    if (buffer->capacity / 4 < needed)
        return;
    uint8_t *data = realloc(buffer->data, needed);
    if (data) {
        buffer->data = data;
        buffer->capacity = needed;
    }
}

void zk_buffer_forget_spares(void) {
    for (int slot = 0; slot < SPARE_COUNT; slot++) {
        zk_buffer *found = atomic_exchange(&spares[slot], NULL);
        if (found)
            destroy(found);
    }
}
