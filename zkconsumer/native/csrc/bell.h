/* Wakes a pump that waits in poll(); reference-counted. */
#ifndef ZK_BELL_H
#define ZK_BELL_H

typedef struct zk_bell zk_bell;

zk_bell *zk_bell_share(zk_bell *bell);

/* Gives a reference back; null is fine. */
void zk_bell_drop(zk_bell *bell);

/* Wakes whoever waits for it, now or at the next wait; cheap where it has rung already.
 * Takes no lock and never blocks: it may be called in any thread. */
void zk_bell_ring(zk_bell *bell);

#endif
