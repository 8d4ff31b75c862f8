#include "record.h"

enum { MIN_HEADER_BYTES = 2 };

bool zk_header_next(const uint8_t **at, const uint8_t *end, const uint8_t **name,
                    int32_t *name_bytes, const uint8_t **value, int32_t *value_bytes) {
    const uint8_t *next = zk_sized(*at, end, name, name_bytes);
    if (!next || *name_bytes < 0)
        return false;
    next = zk_sized(next, end, value, value_bytes);
    if (!next)
        return false;
    *at = next;
    return true;
}

bool zk_headers_are_sound(const zk_message *message) {
    const uint8_t *at = message->headers, *const end = message->headers_end, *name, *value;
    int32_t name_bytes, value_bytes;
    if (message->header_count > (end - at) / MIN_HEADER_BYTES)
        return false;
    for (int32_t left = message->header_count; left; left--)
        if (!zk_header_next(&at, end, &name, &name_bytes, &value, &value_bytes))
            return false;
    return at == end;
}
