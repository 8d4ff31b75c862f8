#include "claim.h"

#include <stdlib.h>

zk_claim *zk_claim_new(void) {
    zk_claim *claim = malloc(sizeof *claim);
    if (!claim)
        return NULL;
    atomic_init(&claim->references, 1);
    atomic_init(&claim->active, true);
    atomic_init(&claim->high_watermark, -1);
    atomic_init(&claim->log_start, -1);
    atomic_init(&claim->consumed, ZK_NO_OFFSET);
    atomic_init(&claim->delivered, ZK_NO_OFFSET);
    return claim;
}

zk_claim *zk_claim_share(zk_claim *claim) {
    atomic_fetch_add_explicit(&claim->references, 1, memory_order_relaxed);
    return claim;
}

void zk_claim_drop(zk_claim *claim) {
    if (claim && atomic_fetch_sub_explicit(&claim->references, 1, memory_order_acq_rel) == 1)
        free(claim);
}
