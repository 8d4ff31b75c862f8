/* DEFLATE, with the whole input at hand and an output that grows.
 *
 * Both make the inner loop short: 56 bits or more are refilled by one load, a symbol is one look-up
 * (two for rare ones), a match is copied in strides that may run over its end into the slack.
 *
 * It takes exactly what zlib takes, or less; what it does not take is refused, never guessed. */
#include "inflate.h"

#include <string.h>

#include "copy.h"
#include "inflate_codes.h"

enum { MAX_MATCH = 258 };

typedef struct {
    zk_bits in;
    zk_codes codes;
    bool codes_are_fixed; /* making them takes longer than many a block that uses them */
    zk_sink *sink;
    size_t start; /* where this stream's output begins: nothing before it may be referred to */
} inflater;

/* Gives back the whole bytes that were loaded and not taken; false if made-up ones were taken. */
static bool align_to_byte(zk_bits *in) {
    const unsigned whole = in->count >> 3;
    if (in->made_up > whole)
        return false;
    in->at -= whole - in->made_up;
    in->made_up = in->count = 0;
    in->bits = 0;
    return true;
}

static zk_decoded copy_stored(inflater *self) {
    zk_bits *in = &self->in;
    if (!align_to_byte(in) || in->end - in->at < 4)
        return ZK_REFUSED;
    const size_t size = zk_le16(in->at), check = zk_le16(in->at + 2);
    in->at += 4;
    if (size != (check ^ 0xFFFF) || size > (size_t)(in->end - in->at) ||
        size > zk_sink_room(self->sink))
        return ZK_REFUSED;
    zk_buffer *out = self->sink->buffer;
    if (!zk_buffer_reserve(out, size))
        return ZK_NO_MEMORY;
    memcpy(out->data + out->used, in->at, size);
    out->used += size;
    in->at += size;
    return ZK_DECODED;
}

static bool use_fixed_codes(inflater *self) {
    if (!self->codes_are_fixed)
        self->codes_are_fixed = zk_fixed_codes(&self->codes);
    return self->codes_are_fixed;
}

static bool read_codes(inflater *self) {
    self->codes_are_fixed = false;
    return zk_read_codes(&self->codes, &self->in);
}

/* Decodes symbols until the block ends, or the output has no room for the longest match. */
static zk_decoded decode_symbols(inflater *self, bool *ended) {
    zk_bits in = self->in; /* local, so that it lives in registers */
    zk_buffer *buffer = self->sink->buffer;
    uint8_t *const start = buffer->data + self->start;
    const size_t room = buffer->capacity - ZK_SLACK_BYTES;
    uint8_t *const limit = buffer->data + (room < self->sink->limit ? room : self->sink->limit);
    uint8_t *out = buffer->data + buffer->used;
    zk_decoded outcome = ZK_DECODED;
    while (out <= limit) {
        if (!zk_refill(&in)) {
            outcome = ZK_REFUSED;
            break;
        }
        uint32_t entry = zk_look_up(self->codes.literals, ZK_LITERAL_BITS, &in);
        if (entry & ZK_LITERAL) {
            *out++ = (uint8_t)(entry >> 16);
            entry = zk_look_up(self->codes.literals, ZK_LITERAL_BITS, &in);
            if (entry & ZK_LITERAL) {
                *out++ = (uint8_t)(entry >> 16);
                continue;
            }
        }
        if (!(entry & ZK_BASE)) {
            *ended = entry & ZK_END;
            outcome = *ended ? ZK_DECODED : ZK_REFUSED; /* no such code */
            break;
        }
        /* Up to 15 + 15 + 5 bits are taken by now, and a distance takes up to 15 + 13. */
        const size_t length = (entry >> 16) + zk_take(&in, entry >> 8 & 0xF);
        if (!zk_refill(&in)) {
            outcome = ZK_REFUSED;
            break;
        }
        entry = zk_look_up(self->codes.distances, ZK_DISTANCE_BITS, &in);
        const size_t distance = (entry >> 16) + zk_take(&in, entry >> 8 & 0xF);
        if (!(entry & ZK_BASE) || distance > (size_t)(out - start)) {
            outcome = ZK_REFUSED;
            break;
        }
        zk_copy_back(out, distance, length);
        out += length;
    }
    self->in = in;
    buffer->used = (size_t)(out - buffer->data);
    return outcome;
}

static zk_decoded decode_block(inflater *self) {
    bool ended = false;
    while (!ended) {
        /* Twice what a symbol can make: small outputs must not be asked about at every symbol. */
        if (!zk_buffer_reserve(self->sink->buffer, 2 * MAX_MATCH))
            return ZK_NO_MEMORY;
        const zk_decoded outcome = decode_symbols(self, &ended);
        if (self->sink->buffer->used > self->sink->limit) {
            self->sink->buffer->used = self->sink->limit;
            return ZK_REFUSED;
        }
        if (outcome != ZK_DECODED)
            return outcome;
    }
    return ZK_DECODED;
}

zk_decoded zk_inflate(const uint8_t *data, size_t size, zk_sink *sink, size_t *consumed) {
    inflater self;
    self.in = (zk_bits){data, data + size, 0, 0, 0};
    self.codes_are_fixed = false;
    self.sink = sink;
    self.start = sink->buffer->used;
    bool is_last = false;
    while (!is_last) {
        if (!zk_refill(&self.in))
            return ZK_REFUSED;
        is_last = zk_take(&self.in, 1);
        const uint32_t kind = zk_take(&self.in, 2);
        zk_decoded outcome;
        if (kind == 0)
            outcome = copy_stored(&self);
        else if (kind == 1)
            outcome = use_fixed_codes(&self) ? decode_block(&self) : ZK_REFUSED;
        else if (kind == 2)
            outcome = read_codes(&self) ? decode_block(&self) : ZK_REFUSED;
        else
            outcome = ZK_REFUSED;
        if (outcome != ZK_DECODED)
            return outcome;
    }
    if (!align_to_byte(&self.in))
        return ZK_REFUSED;
    *consumed = (size_t)(self.in.at - data);
    return ZK_DECODED;
}
