/* zstd, by its library: one or more whole frames, and nothing else. */
#include "sink.h"

#ifdef ZK_WITH_ZSTD

#include <stdatomic.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "bytes.h"

enum { MAGIC_BYTES = 4, WINDOW_LOG_MAX = 27 /* as in `records.codecs` */ };
enum { SPARE_COUNT = 4, LIKELY_EXPANSION = 4 };
static const size_t SPARE_MAX_BYTES = 4 * 1024 * 1024;

/* Spare contexts, as in buffer.c: a new one costs more than a small batch. A reset makes one usable
 * after an error; one that allocated a large window is not kept. */
static _Atomic(ZSTD_DCtx *) spares[SPARE_COUNT];

static ZSTD_DCtx *take_context(void) {
    for (int slot = 0; slot < SPARE_COUNT; slot++) {
        ZSTD_DCtx *found = atomic_exchange(&spares[slot], NULL);
        if (found)
            return found;
    }
    ZSTD_DCtx *made = ZSTD_createDCtx();
    if (made && ZSTD_isError(ZSTD_DCtx_setParameter(made, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
        ZSTD_freeDCtx(made);
        made = NULL;
    }
    return made;
}

static void give_context(ZSTD_DCtx *context) {
    ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    for (int slot = 0; slot < SPARE_COUNT && ZSTD_sizeof_DCtx(context) <= SPARE_MAX_BYTES; slot++) {
        ZSTD_DCtx *nothing = NULL;
        if (atomic_compare_exchange_strong(&spares[slot], &nothing, context))
            return;
    }
    ZSTD_freeDCtx(context);
}

/* Returns whether a frame of the current format begins here: the library may also read older ones. */
static bool begins_frame(const ZSTD_inBuffer *input) {
    if (input->size - input->pos < MAGIC_BYTES)
        return false;
    const uint32_t magic = zk_le32((const uint8_t *)input->src + input->pos);
    return magic == ZSTD_MAGICNUMBER ||
           (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static zk_decoded decode_frame(ZSTD_DCtx *context, ZSTD_inBuffer *input, zk_sink *sink) {
    for (size_t wanted = input->size * LIKELY_EXPANSION;; wanted = 1) {
        zk_piece piece;
        if (!zk_sink_space(sink, wanted, &piece))
            return ZK_NO_MEMORY;
        ZSTD_outBuffer output = {piece.data, piece.size, 0};
        const size_t before = input->pos;
        const size_t outcome = ZSTD_decompressStream(context, &output, input);
        if (ZSTD_isError(outcome))
            return ZSTD_getErrorCode(outcome) == ZSTD_error_memory_allocation ? ZK_NO_MEMORY
                                                                              : ZK_REFUSED;
        sink->buffer->used += output.pos;
        if (outcome == 0)
            return ZK_DECODED;
        if (!output.pos && input->pos == before)
            return ZK_REFUSED; /* truncated, or more output than allowed */
    }
}

zk_decoded zk_unzstd(const uint8_t *data, size_t size, zk_sink *sink) {
    ZSTD_DCtx *context = take_context();
    if (!context)
        return ZK_NO_MEMORY;
    ZSTD_inBuffer input = {data, size, 0};
    zk_decoded decoded = ZK_DECODED;
    do
        decoded = begins_frame(&input) ? decode_frame(context, &input, sink) : ZK_REFUSED;
    while (decoded == ZK_DECODED && input.pos < size);
    give_context(context);
    return decoded;
}

const char *zk_zstd_version(void) { return ZSTD_versionString(); }

#else

zk_decoded zk_unzstd(const uint8_t *data, size_t size, zk_sink *sink) {
    (void)data, (void)size, (void)sink;
    return ZK_REFUSED;
}

const char *zk_zstd_version(void) { return NULL; }

#endif
