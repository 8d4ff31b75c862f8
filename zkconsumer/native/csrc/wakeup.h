/* Wakes a pump that waits on a descriptor: notified by queues that have capacity again, and by Python.
 *
 * No notification is lost: the notifier changes the shared state first and notifies afterwards; the
 * waiter calls zk_wakeup_clear first and reads the state afterwards. A notification in between ends
 * the next wait. Notifying twice costs one atomic exchange. */
#ifndef ZK_WAKEUP_H
#define ZK_WAKEUP_H

#include <stdbool.h>

typedef struct zk_wakeup zk_wakeup;

/* A wakeup with one reference; null without memory or descriptors. */
zk_wakeup *zk_wakeup_new(void);
zk_wakeup *zk_wakeup_share(zk_wakeup *wakeup);

/* Gives a reference back; null is fine. */
void zk_wakeup_drop(zk_wakeup *wakeup);

/* Ends the present wait, or the next one. Any thread, signal handlers too; never blocks. */
void zk_wakeup_notify(zk_wakeup *wakeup);

/* Clears all notifications so far. */
void zk_wakeup_clear(zk_wakeup *wakeup);

/* For poll: readable while it is notified. */
int zk_wakeup_descriptor(const zk_wakeup *wakeup);

/* Waits for a notification, for at most timeout_ms; true if there is one. Does not clear it. */
bool zk_wakeup_wait(const zk_wakeup *wakeup, int timeout_ms);

#endif
