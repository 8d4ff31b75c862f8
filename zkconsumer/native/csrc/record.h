/* One record of a batch of magic 2 as it lies there; the layout is described in
 * `records.batch_records`. */
#ifndef ZK_RECORD_H
#define ZK_RECORD_H

#include "message.h"
#include "varint.h"

/* What stands in front of a record's key. */
typedef struct {
    const uint8_t *body; /* the byte behind it */
    const uint8_t *end;  /* of the record */
    int64_t time_delta;
    int32_t offset_delta;
} zk_record_front;

/* Takes the front of a record apart. A true answer means that the record lies in front of `end`. */
static inline bool zk_record_begin(const uint8_t *at, const uint8_t *end, zk_record_front *front) {
    int32_t size;
    at = zk_varint(at, end, &size);
    if (!at || size < 1 || size > end - at)
        return false;
    front->end = at + size;
    at = zk_varlong(at + 1, front->end, &front->time_delta); /* attributes mean nothing yet */
    if (!at)
        return false;
    front->body = zk_varint(at, front->end, &front->offset_delta);
    return front->body != NULL;
}

/* Reads a length and finds what is behind the bytes that it counts; null where they are not there.
 * -1 is null, and counts none. */
static inline const uint8_t *zk_sized(const uint8_t *at, const uint8_t *end, const uint8_t **data,
                                      int32_t *size) {
    at = zk_varint(at, end, size);
    if (!at)
        return NULL;
    *data = at;
    if (*size <= 0)
        return *size < -1 ? NULL : at;
    return *size > end - at ? NULL : at + *size;
}

/* Finds key, value and headers. A true answer means that all of them lie inside of the record; what
 * is in the headers is not looked at. */
static inline bool zk_record_parts(const zk_record_front *front, zk_message *message) {
    const uint8_t *at = front->body;
    at = zk_sized(at, front->end, &message->key, &message->key_bytes);
    if (!at)
        return false;
    at = zk_sized(at, front->end, &message->value, &message->value_bytes);
    if (!at)
        return false;
    at = zk_varint(at, front->end, &message->header_count);
    if (!at)
        return false;
    message->headers = at;
    message->headers_end = front->end;
    return message->header_count ? message->header_count > 0 : at == front->end;
}

/* Reads the next of a record's headers; the name is never null. False where there is none whole. */
bool zk_header_next(const uint8_t **at, const uint8_t *end, const uint8_t **name,
                    int32_t *name_bytes, const uint8_t **value, int32_t *value_bytes);

/* Whether the headers are as many as there should be, and end with the record. */
bool zk_headers_are_sound(const zk_message *message);

#endif
