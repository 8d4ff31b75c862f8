/* A pipe, which every system has; a ring that finds it full is dropped: it is loud enough by then. */
#define _GNU_SOURCE /* for pipe2 */
#include "bell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct zk_bell {
    atomic_size_t references;
    atomic_bool is_rung;
    int hears, tells; /* the two ends of a pipe */
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

zk_bell *zk_bell_new(void) {
    zk_bell *bell = calloc(1, sizeof *bell);
    int ends[2];
    if (!bell || !open_pipe(ends)) {
        free(bell);
        return NULL;
    }
    atomic_init(&bell->references, 1);
    atomic_init(&bell->is_rung, false);
    bell->hears = ends[0];
    bell->tells = ends[1];
    return bell;
}

zk_bell *zk_bell_share(zk_bell *bell) {
    atomic_fetch_add_explicit(&bell->references, 1, memory_order_relaxed);
    return bell;
}

void zk_bell_drop(zk_bell *bell) {
    if (!bell || atomic_fetch_sub_explicit(&bell->references, 1, memory_order_acq_rel) != 1)
        return;
    close(bell->hears);
    close(bell->tells);
    free(bell);
}

void zk_bell_ring(zk_bell *bell) {
    if (atomic_exchange(&bell->is_rung, true))
        return;
    const int before = errno; /* a signal handler may be here */
    ssize_t done;
    do
        done = write(bell->tells, "!", 1);
    while (done < 0 && errno == EINTR);
    errno = before;
}

void zk_bell_clear(zk_bell *bell) {
    char heard[16];
    while (read(bell->hears, heard, sizeof heard) > 0)
        ;
    /* An exchange, not a store: what the last ringer did before it rang is seen from here on. */
    atomic_exchange(&bell->is_rung, false);
}

int zk_bell_descriptor(const zk_bell *bell) { return bell->hears; }

bool zk_bell_wait(const zk_bell *bell, int timeout_ms) {
    struct pollfd one = {.fd = bell->hears, .events = POLLIN};
    return poll(&one, 1, timeout_ms) > 0;
}
