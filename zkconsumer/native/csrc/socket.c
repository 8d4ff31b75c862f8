#define _GNU_SOURCE /* for MSG_DONTWAIT everywhere */
#include "socket.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "exchange.h"

/* How long to wait for more, once there is something, and how long to go on: a caller must learn that a
 * response arrives, and signal handlers get their turn. */
enum { PAUSE_MS = 20, MOST_MS = 100 };

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
    bool has_begun = false;
    for (;;) {
        const ssize_t count = recv(socket, data + filled, size - filled, MSG_DONTWAIT);
        if (count > 0)
            filled += (size_t)count;
        if (count == 0 || filled == size)
            return (ssize_t)filled;
        if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            /* What came before a reset is worth nothing, and the next call would not see the reset. */
            return errno == EINTR && filled ? (ssize_t)filled : -1;
        const int64_t now_ms = zk_now_ms();
        if (filled && !has_begun && deadline_ms > now_ms + MOST_MS)
            deadline_ms = now_ms + MOST_MS;
        has_begun = filled > 0;
        int64_t left_ms = deadline_ms - now_ms;
        if (filled && left_ms > PAUSE_MS)
            left_ms = PAUSE_MS;
        if (count < 0 ? !wait_for_bytes(socket, left_ms) : left_ms <= 0)
            break;
    }
    return filled ? (ssize_t)filled : -1;
}
