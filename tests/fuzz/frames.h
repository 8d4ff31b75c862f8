/* Responses to Fetch in any version, made of sound and of damaged sets. */
#ifndef FUZZ_FRAMES_H
#define FUZZ_FRAMES_H

#include <stdbool.h>

#include "sets.h"

/* A partition that a response tells of. */
typedef struct {
    const uint8_t *topic;
    size_t topic_bytes;
    int32_t partition;
    int64_t offset;    /* that is asked for */
    size_t most_bytes; /* of its record set */
} part;

/* A whole frame, its length included, for parts of which those of one topic stand together. */
bytes make_response(int version, int32_t correlation_id, const part *parts, size_t count,
                    bool is_sound);

/* The same for one part, with this very set. */
bytes make_response_of(int version, int32_t correlation_id, const part *part, bytes set,
                       int64_t high_watermark);

/* Flips some bits of it, mostly near its beginning. */
void damage_frame(bytes frame);

#endif
