/* One record batch of magic 2: parses its header and checks its records. Defined in
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

/* Parses the batch header of a whole entry, and checks its CRC. False: it is invalid.
 * size: the size in the entry's header, at least ZK_MIN_ENTRY_SIZE. */
bool zk_batch_begin(const uint8_t *entry, uint32_t size, zk_batch *batch);

/* Checks all records of a batch, `size` bytes of a buffer from `start` on, and makes a run of those at
 * or above the fetch offset; it holds no reference yet, and may be empty. False: a record is invalid. */
bool zk_batch_check(const zk_batch *batch, zk_buffer *buffer, size_t start, size_t size,
                    int64_t fetch_offset, zk_run *run);

/* Reads the marker in the records of a control batch. False: it is invalid. */
bool zk_batch_marker(const zk_batch *batch, zk_buffer *buffer, size_t start, size_t size,
                     zk_marker *marker);

#endif
