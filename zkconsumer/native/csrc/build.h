/* Sets to produce, made of runs: the definitions are `records.build` and `records.build_batch`.
 *
 * Records are numbered from 0, their time is their creator's: what a producer sends. */
#ifndef ZK_BUILD_H
#define ZK_BUILD_H

#include "run.h"

typedef struct {
    int magic;         /* of the set: 0, 1 or 2 */
    bool with_headers; /* keep headers; magic 2 only */
    int64_t now_ms;    /* the time of records without one */
} zk_build_terms;

/* A set that is being built. `data` has space for the zk_build_max_bytes of all its runs. */
typedef struct {
    zk_build_terms terms;
    uint8_t *data;
    size_t used;
    size_t capacity;
    size_t count;
    int64_t base_time; /* of magic 2: of its first record */
    int64_t max_time;  /* the newest; -1 without a record */
} zk_build;

typedef enum {
    ZK_BUILT,
    ZK_BUILD_BROKEN,    /* the bytes have changed since they were checked */
    ZK_BUILD_HEADERS,   /* a record has headers, and nothing but magic 2 can keep them */
    ZK_BUILD_TIMES,     /* two records lie too far apart in time for one batch */
    ZK_BUILD_TOO_LARGE, /* a record is too large for the format */
} zk_build_status;

/* The maximum size of a run's records in any format. */
size_t zk_build_max_bytes(const zk_run *run);

/* Adds the records of a run. */
zk_build_status zk_build_add(zk_build *build, const zk_run *run);

/* The fields in the header of a batch of magic 2. */
typedef struct {
    int64_t producer_id; /* -1: none; so are the next two */
    int32_t base_sequence;
    int16_t producer_epoch;
    uint16_t attributes;
    uint32_t record_count;
    int64_t base_time;
    int64_t max_time;
} zk_build_head;

/* Writes the head in front of the records (compressed or not) of a batch of `size` bytes, and its
 * CRC over all of it. */
void zk_build_seal(uint8_t *batch, size_t size, const zk_build_head *head);

/* How many records from the front of a run take at most `max_bytes` in a log of magic 0, their
 * headers counted as they are, and are at most `max_count`; `taken` gets their bytes. False if the
 * bytes have changed. */
bool zk_build_fits(const zk_run *run, size_t max_bytes, size_t max_count, size_t *count,
                   size_t *taken);

#endif
