/* Wakes a pump that waits on a descriptor: rung by queues that have room again, and by Python.
 *
 * No ring is lost: whoever rings changes what it has to tell first, then rings; whoever waits calls
 * zk_bell_clear first and looks afterwards. A ring in between wakes the next wait. Ringing a bell that
 * is rung already costs one atomic exchange. */
#ifndef ZK_BELL_H
#define ZK_BELL_H

#include <stdbool.h>

typedef struct zk_bell zk_bell;

/* A bell with one reference; null without memory or descriptors. */
zk_bell *zk_bell_new(void);
zk_bell *zk_bell_share(zk_bell *bell);

/* Gives a reference back; null is fine. */
void zk_bell_drop(zk_bell *bell);

/* Wakes whoever waits, now or at its next wait. Any thread, signal handlers too; never blocks. */
void zk_bell_ring(zk_bell *bell);

/* Takes back all rings so far. */
void zk_bell_clear(zk_bell *bell);

/* For poll: readable while it is rung. */
int zk_bell_descriptor(const zk_bell *bell);

/* Waits for a ring, or so long; true if it is rung. It is not cleared. */
bool zk_bell_wait(const zk_bell *bell, int timeout_ms);

#endif
