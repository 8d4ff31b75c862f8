/* The part of a `PartitionClaim` that C shares: whether it is active, and how far its partition was read.
 *
 * Reference-counted, and free of Python: any thread may share and drop it, with the GIL or without.
 * Every field has one writer; see the table in `fetch.claim`. */
#ifndef ZK_CLAIM_H
#define ZK_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZK_NO_OFFSET INT64_MIN /* None in Python */

typedef struct zk_claim {
    atomic_size_t references;
    atomic_bool active;             /* false once it is given up: one store, from any thread */
    _Atomic int64_t high_watermark; /* the end of the log at the last fetch, -1 before the first */
    _Atomic int64_t log_start;      /* the start of the log at the last fetch; -1 if not known */
    _Atomic int64_t consumed;       /* the stream's: see `PartitionClaim` */
    _Atomic int64_t delivered;      /* likewise */
} zk_claim;

/* An active claim with one reference and unknown offsets; null without memory. */
zk_claim *zk_claim_new(void);

zk_claim *zk_claim_share(zk_claim *claim);

/* Drops a reference; null is fine. */
void zk_claim_drop(zk_claim *claim);

/* None of these publishes other data: relaxed is enough. */
static inline bool zk_claim_is_active(zk_claim *claim) {
    return atomic_load_explicit(&claim->active, memory_order_relaxed);
}

static inline void zk_claim_set_active(zk_claim *claim, bool active) {
    atomic_store_explicit(&claim->active, active, memory_order_relaxed);
}

static inline int64_t zk_claim_high_watermark(zk_claim *claim) {
    return atomic_load_explicit(&claim->high_watermark, memory_order_relaxed);
}

static inline void zk_claim_set_high_watermark(zk_claim *claim, int64_t offset) {
    atomic_store_explicit(&claim->high_watermark, offset, memory_order_relaxed);
}

static inline int64_t zk_claim_log_start(zk_claim *claim) {
    return atomic_load_explicit(&claim->log_start, memory_order_relaxed);
}

static inline void zk_claim_set_log_start(zk_claim *claim, int64_t offset) {
    atomic_store_explicit(&claim->log_start, offset, memory_order_relaxed);
}

/* Both are read when committing. */
static inline int64_t zk_claim_consumed(zk_claim *claim) {
    return atomic_load_explicit(&claim->consumed, memory_order_relaxed);
}

static inline void zk_claim_set_consumed(zk_claim *claim, int64_t offset) {
    atomic_store_explicit(&claim->consumed, offset, memory_order_relaxed);
}

static inline int64_t zk_claim_delivered(zk_claim *claim) {
    return atomic_load_explicit(&claim->delivered, memory_order_relaxed);
}

static inline void zk_claim_set_delivered(zk_claim *claim, int64_t offset) {
    atomic_store_explicit(&claim->delivered, offset, memory_order_relaxed);
}

#endif
