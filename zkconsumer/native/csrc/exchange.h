/* A request out and its answer in, over a socket, without ever blocking in the socket itself.
 *
 * Every wait is one poll on the socket and the bell, so that whoever rings is heard at once. What is
 * half done stays in the request and the response: a call that ended with ZK_IO_RUNG or ZK_IO_SILENT is
 * made again. */
#ifndef ZK_EXCHANGE_H
#define ZK_EXCHANGE_H

#include "request.h"
#include "response.h"

typedef struct {
    int socket; /* connected; not closed by anybody during a call */
    zk_bell *bell;
    const atomic_bool *stopping;
    int64_t deadline_ms; /* of the whole exchange, by zk_now_ms */
    int64_t quiet_ms;    /* a silence so long ends a call with ZK_IO_SILENT; 0: none does */
    int64_t moved_ms;    /* when the last bytes went or came, or when silence began to count */
    bool has_heard;      /* some of an answer came since that was last taken back */
    int error;           /* with ZK_IO_FAILED: the errno */
} zk_exchange;

typedef enum {
    ZK_IO_DONE,
    ZK_IO_RUNG,
    ZK_IO_STOPPED,
    ZK_IO_FAILED,    /* by the system's word */
    ZK_IO_CLOSED,    /* by the broker */
    ZK_IO_TIMED_OUT, /* by the deadline */
    ZK_IO_NONSENSE,  /* the answer is none */
    ZK_IO_NO_MEMORY,
    ZK_IO_SILENT, /* nothing moved for quiet_ms */
} zk_io;

/* Milliseconds of a clock that only goes on. */
int64_t zk_now_ms(void);

/* Sends what is left of the request. */
zk_io zk_send(zk_exchange *exchange, zk_request *request);

/* Receives what is left of the answer. */
zk_io zk_receive(zk_exchange *exchange, zk_response *response);

#endif
