/* One record batch of magic 2: its head, and its records checked. The definitions are in
 * `records.batch_header` and `records.batch_records`. */
#ifndef ZK_BATCH_H
#define ZK_BATCH_H

#include "committed.h"
#include "run.h"

enum {
    ZK_BATCH_MAGIC = 2,
    ZK_BATCH_HEAD_BYTES = 61, /* up to the first record */
    ZK_TRANSACTIONAL_MASK = 0x10,
    ZK_CONTROL_MASK = 0x20,
};

typedef struct {
    int64_t base_offset;
    int64_t last_offset;
    int64_t base_time;
    int64_t max_time;
    int64_t producer_id;
    int32_t leader_epoch;
    int32_t last_delta;
    int32_t record_count;
    uint16_t attributes;
} zk_batch;

static inline int zk_batch_codec(const zk_batch *batch) {
    return batch->attributes & ZK_CODEC_MASK;
}

/* Reads the head of a whole entry and holds it against its CRC and itself. False: it is not sound.
 * size: what its header says, at least ZK_MIN_ENTRY_SIZE. */
bool zk_batch_begin(const uint8_t *entry, uint32_t size, zk_batch *batch);

/* Checks all records of a batch, which lie in `size` bytes of a buffer from `start` on, and makes a
 * run of those from the fetch offset on; it has no reference yet, and perhaps no record. False: not
 * all of it is sound. */
bool zk_batch_check(const zk_batch *batch, zk_buffer *buffer, size_t start, size_t size,
                    int64_t fetch_offset, zk_run *run);

/* Reads what a control batch says, whose records lie behind its head. False: it is not sound. */
bool zk_batch_marker(const zk_batch *batch, zk_buffer *buffer, size_t start, size_t size,
                     zk_marker *marker);

#endif
