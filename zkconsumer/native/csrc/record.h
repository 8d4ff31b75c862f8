/* One record of a batch of magic 2; the layout is described in `records.batch_records`. */
#ifndef ZK_RECORD_H
#define ZK_RECORD_H

#include "message.h"
#include "varint.h"

/* The fields before a record's key. */
typedef struct {
    const uint8_t *body; /* the byte after them */
    const uint8_t *end;  /* of the record */
    int64_t time_delta;
    int32_t offset_delta;
} zk_record_front;

/* Parses the fields before a record's key. True: the record ends at or before `end`. */
static inline bool zk_record_begin(const uint8_t *at, const uint8_t *end, zk_record_front *front) {
    int32_t size;
    at = zk_varint(at, end, &size);
    if (!at || size < 1 || size > end - at)
        return false;
    front->end = at + size;
    at = zk_varlong(at + 1, front->end, &front->time_delta); /* after the unused attributes */
    if (!at)
        return false;
    front->body = zk_varint(at, front->end, &front->offset_delta);
    return front->body != NULL;
}

/* Reads length-prefixed bytes; returns the end, null if they are truncated. A length of -1 is null. */
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

/* Finds key, value and headers. True: all lie within the record; the headers are not parsed. */
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

/* Reads the next header of a record; its name is never null. False: there is none, or it is invalid. */
bool zk_header_next(const uint8_t **at, const uint8_t *end, const uint8_t **name,
                    int32_t *name_bytes, const uint8_t **value, int32_t *value_bytes);

/* Returns whether the headers are valid, as many as announced, and end with the record. */
bool zk_headers_are_sound(const zk_message *message);

#endif
