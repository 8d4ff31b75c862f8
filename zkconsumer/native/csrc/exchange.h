/* Sends a request and receives its response over a socket, without ever blocking in the socket itself.
 *
 * Every wait is one poll on the socket and the wakeup, which ends it at once. Partial progress stays in
 * the request and the response: a call that ended with ZK_IO_WOKEN or ZK_IO_SILENT is repeated. */
#ifndef ZK_EXCHANGE_H
#define ZK_EXCHANGE_H

#include "request.h"
#include "response.h"

typedef struct {
    int socket; /* connected; must not be closed during a call */
    zk_wakeup *wakeup;
    const atomic_bool *stopping;
    int64_t deadline_ms; /* of the whole exchange, by zk_now_ms; later while a response arrives */
    int64_t timeout_ms;  /* from the last bytes of a response to the deadline */
    int64_t latest_ms;   /* the deadline gets no later */
    int64_t quiet_ms;    /* silence that ends a call with ZK_IO_SILENT; 0: none does */
    int64_t moved_ms;    /* time of the last bytes sent or received, or start of the call */
    bool has_received;   /* part of a response arrived since this was reset */
    int error;           /* with ZK_IO_FAILED: the errno */
} zk_exchange;

typedef enum {
    ZK_IO_DONE,
    ZK_IO_WOKEN,
    ZK_IO_STOPPED,
    ZK_IO_FAILED,    /* a system error */
    ZK_IO_CLOSED,    /* by the broker */
    ZK_IO_TIMED_OUT, /* by the deadline */
    ZK_IO_NONSENSE,  /* the response is malformed */
    ZK_IO_NO_MEMORY,
    ZK_IO_SILENT, /* nothing moved for quiet_ms */
} zk_io;

/* Milliseconds of the monotonic clock. */
int64_t zk_now_ms(void);

/* Sends the rest of the request. */
zk_io zk_send(zk_exchange *exchange, zk_request *request);

/* Receives the rest of the response. */
zk_io zk_receive(zk_exchange *exchange, zk_response *response);

#endif
