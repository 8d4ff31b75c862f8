/* The first version of Fetch with each feature. Source: `wire.messages.fetch`. */
#ifndef ZK_FETCH_VERSIONS_H
#define ZK_FETCH_VERSIONS_H

enum {
    ZK_FETCH_THROTTLE = 1,     /* the response has a throttle time */
    ZK_FETCH_BOUNDED = 3,      /* a limit for the whole response; its first entry is never truncated */
    ZK_FETCH_TRANSACTIONS = 4, /* isolation, last stable offset, aborted transactions */
    ZK_FETCH_LOG_START = 5,
    ZK_FETCH_SESSIONS = 7,
    ZK_FETCH_UNTHROTTLED = 8, /* the broker responds at once; the client pauses */
    ZK_FETCH_EPOCHS = 9,      /* of leaders */
    ZK_FETCH_REPLICAS = 11,   /* our rack, and the preferred read replica */
    ZK_FETCH_FLEXIBLE = 12,   /* compact lengths, tagged fields; the last fetched epoch */
    ZK_FETCH_TOPIC_IDS = 13,  /* in place of topic names */
    ZK_FETCH_LAST = 13,
};

/* The size of a topic id. */
enum { ZK_TOPIC_ID_BYTES = 16 };

#endif
