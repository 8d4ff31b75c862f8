/* A pipe, which every system has. A write to a full pipe is dropped: the waiter wakes anyway. */
#define _GNU_SOURCE /* for pipe2 */
#include "wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct zk_wakeup {
    atomic_size_t references;
    atomic_bool is_notified;
    int read_end, write_end; /* the two ends of a pipe */
};

#ifdef __linux__
static bool open_pipe(int ends[2]) { return pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0; }
#else
static bool prepare(int descriptor) {
    const int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0;
}

static bool open_pipe(int ends[2]) {
    if (pipe(ends) != 0)
        return false;
    if (prepare(ends[0]) && prepare(ends[1]))
        return true;
    close(ends[0]);
    close(ends[1]);
    return false;
}
#endif

zk_wakeup *zk_wakeup_new(void) {
    zk_wakeup *wakeup = calloc(1, sizeof *wakeup);
    int ends[2];
    if (!wakeup || !open_pipe(ends)) {
        free(wakeup);
        return NULL;
    }
    atomic_init(&wakeup->references, 1);
    atomic_init(&wakeup->is_notified, false);
    wakeup->read_end = ends[0];
    wakeup->write_end = ends[1];
    return wakeup;
}

zk_wakeup *zk_wakeup_share(zk_wakeup *wakeup) {
    atomic_fetch_add_explicit(&wakeup->references, 1, memory_order_relaxed);
    return wakeup;
}

void zk_wakeup_drop(zk_wakeup *wakeup) {
    if (!wakeup || atomic_fetch_sub_explicit(&wakeup->references, 1, memory_order_acq_rel) != 1)
        return;
    close(wakeup->read_end);
    close(wakeup->write_end);
    free(wakeup);
}

void zk_wakeup_notify(zk_wakeup *wakeup) {
    if (atomic_exchange(&wakeup->is_notified, true))
        return;
    const int before = errno; /* a signal handler may be here */
    ssize_t done;
    do
        done = write(wakeup->write_end, "!", 1);
    while (done < 0 && errno == EINTR);
    errno = before;
}

void zk_wakeup_clear(zk_wakeup *wakeup) {
    char drained[16];
    while (read(wakeup->read_end, drained, sizeof drained) > 0)
        ;
    /* An exchange, not a store: makes visible what the last notifier did before it notified. */
    atomic_exchange(&wakeup->is_notified, false);
}

int zk_wakeup_descriptor(const zk_wakeup *wakeup) { return wakeup->read_end; }

bool zk_wakeup_wait(const zk_wakeup *wakeup, int timeout_ms) {
    struct pollfd pipe_end = {.fd = wakeup->read_end, .events = POLLIN};
    return poll(&pipe_end, 1, timeout_ms) > 0;
}
