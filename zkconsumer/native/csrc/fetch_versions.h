/* What came with which version of Fetch. Source: `wire.messages.fetch`. */
#ifndef ZK_FETCH_VERSIONS_H
#define ZK_FETCH_VERSIONS_H

enum {
    ZK_FETCH_THROTTLE = 1,     /* the answer names a throttle time */
    ZK_FETCH_BOUNDED = 3,      /* one bound for the whole answer, and no first entry is cut */
    ZK_FETCH_TRANSACTIONS = 4, /* isolation, last stable offset, aborted transactions */
    ZK_FETCH_LOG_START = 5,
    ZK_FETCH_SESSIONS = 7,
    ZK_FETCH_UNTHROTTLED = 8, /* the broker answers at once, and leaves it to us to pause */
    ZK_FETCH_EPOCHS = 9,      /* of leaders */
    ZK_FETCH_REPLICAS = 11,   /* to read from: our rack, the one that is preferred */
    ZK_FETCH_FLEXIBLE = 12,   /* compact lengths, tagged fields; the epoch that was fetched last */
    ZK_FETCH_LAST = 12,       /* that names topics by their names */
};

#endif
