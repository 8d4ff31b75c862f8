#define _GNU_SOURCE /* for MSG_DONTWAIT everywhere */
#include "socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "exchange.h"

/* How long to wait for more, once there is something: a caller must learn that a response arrives. */
enum { PAUSE_MS = 20 };

/* Waits for bytes; false: none came, and errno says why. */
static bool wait_for_bytes(int socket, int64_t left_ms) {
    struct pollfd one = {.fd = socket, .events = POLLIN};
    const int64_t wait_ms = left_ms < 0 ? 0 : left_ms < INT_MAX ? left_ms : INT_MAX;
    const int ready = poll(&one, 1, (int)wait_ms);
    if (ready == 0)
        errno = EAGAIN;
    return ready > 0;
}

ssize_t zk_socket_fill(int socket, uint8_t *data, size_t size, int64_t deadline_ms) {
    size_t filled = 0;
    for (;;) {
        const ssize_t count = recv(socket, data + filled, size - filled, MSG_DONTWAIT);
        if (count > 0)
            filled += (size_t)count;
        if (count == 0 || filled == size)
            return (ssize_t)filled;
        if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            break;
        int64_t left_ms = deadline_ms - zk_now_ms();
        if (filled && left_ms > PAUSE_MS)
            left_ms = PAUSE_MS;
        if (count < 0 ? !wait_for_bytes(socket, left_ms) : left_ms <= 0)
            break;
    }
    return filled ? (ssize_t)filled : -1;
}
