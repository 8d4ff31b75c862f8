/* Receives from a socket in one go what arrives in many pieces. */
#ifndef ZK_SOCKET_H
#define ZK_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Receives until the memory is full, the stream has ended, nothing more has come for a moment, or 100 ms have
 * passed since the first bytes; waits for those until the deadline (by zk_now_ms).
 *
 * Returns the number of bytes; 0: the stream has ended; -1: errno says why, EAGAIN if nothing came before
 * the deadline, EINTR if nothing came before a signal. `size` must not be 0. */
ssize_t zk_socket_fill(int socket, uint8_t *data, size_t size, int64_t deadline_ms);

#endif
