#define _GNU_SOURCE /* for MSG_NOSIGNAL and struct msghdr everywhere */
#include "exchange.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* the BSDs; Python ignores SIGPIPE anyway */
#endif

int64_t zk_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the socket. ZK_IO_DONE: look at it again. */
static zk_io wait_for(zk_exchange *exchange, short events) {
    const int64_t now_ms = zk_now_ms();
    int64_t left_ms = exchange->deadline_ms - now_ms;
    if (left_ms <= 0)
        return ZK_IO_TIMED_OUT;
    if (exchange->quiet_ms) {
        const int64_t quiet_ms = exchange->moved_ms + exchange->quiet_ms - now_ms;
        if (quiet_ms <= 0)
            return ZK_IO_SILENT;
        left_ms = quiet_ms < left_ms ? quiet_ms : left_ms;
    }
    struct pollfd both[2] = {
        {.fd = exchange->socket, .events = events},
        {.fd = zk_wakeup_descriptor(exchange->wakeup), .events = POLLIN},
    };
    const int ready = poll(both, 2, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
    if (ready < 0 && errno != EINTR) {
        exchange->error = errno;
        return ZK_IO_FAILED;
    }
    return ready > 0 && both[1].revents ? ZK_IO_WOKEN : ZK_IO_DONE;
}

static bool must_wait(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static zk_io failed(zk_exchange *exchange) {
    exchange->error = errno;
    return atomic_load(exchange->stopping) ? ZK_IO_STOPPED : ZK_IO_FAILED;
}

zk_io zk_send(zk_exchange *exchange, zk_request *request) {
    while (request->sent < request->size) {
        if (atomic_load(exchange->stopping))
            return ZK_IO_STOPPED;
        const ssize_t count = send(exchange->socket, request->data + request->sent,
                                   request->size - request->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) {
            request->sent += (size_t)count;
            exchange->moved_ms = zk_now_ms();
            continue;
        }
        if (!must_wait(errno))
            return failed(exchange);
        const zk_io waited = wait_for(exchange, POLLOUT);
        if (waited != ZK_IO_DONE)
            return waited;
    }
    return ZK_IO_DONE;
}

/* A response that keeps arriving over a slow link gets more time: repeated, it would take as long. */
static void extend_deadline(zk_exchange *exchange) {
    const int64_t more_ms = exchange->moved_ms + exchange->timeout_ms;
    const int64_t until_ms = more_ms < exchange->latest_ms ? more_ms : exchange->latest_ms;
    if (until_ms > exchange->deadline_ms)
        exchange->deadline_ms = until_ms;
}

static ssize_t receive(int socket, const zk_space *space) {
    struct iovec vectors[2] = {{space->data[0], space->size[0]}, {space->data[1], space->size[1]}};
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = space->size[1] ? 2 : 1};
    return recvmsg(socket, &message, MSG_DONTWAIT);
}

zk_io zk_receive(zk_exchange *exchange, zk_response *response) {
    for (;;) {
        if (atomic_load(exchange->stopping))
            return ZK_IO_STOPPED;
        zk_space space;
        if (!zk_response_space(response, &space))
            return ZK_IO_NO_MEMORY;
        const ssize_t count = receive(exchange->socket, &space);
        if (count > 0) {
            exchange->moved_ms = zk_now_ms();
            extend_deadline(exchange);
            exchange->has_received = true;
            const zk_parsed parsed = zk_response_take(response, (size_t)count);
            if (parsed == ZK_PARSED_PART)
                continue;
            return parsed == ZK_PARSED_ALL        ? ZK_IO_DONE
                   : parsed == ZK_PARSED_NONSENSE ? ZK_IO_NONSENSE
                                                  : ZK_IO_NO_MEMORY;
        }
        if (count == 0)
            return atomic_load(exchange->stopping) ? ZK_IO_STOPPED : ZK_IO_CLOSED;
        if (!must_wait(errno))
            return failed(exchange);
        const zk_io waited = wait_for(exchange, POLLIN);
        if (waited != ZK_IO_DONE)
            return waited;
    }
}
