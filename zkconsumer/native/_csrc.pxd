# What _core uses of csrc; the headers say what each of it does.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "crc32.h" nogil:
    ctypedef uint32_t (*zk_crc_function)(uint32_t crc, const uint8_t *data, size_t size)
    zk_crc_function zk_crc32
    void zk_crc32_choose()
    const char *zk_crc32_name()
    uint32_t zk_crc32_portable(uint32_t crc, const uint8_t *data, size_t size)


cdef extern from "crc32c.h" nogil:
    zk_crc_function zk_crc32c
    void zk_crc32c_choose()
    const char *zk_crc32c_name()
    uint32_t zk_crc32c_portable(uint32_t crc, const uint8_t *data, size_t size)


cdef extern from "buffer.h" nogil:
    enum:
        ZK_SPARE_MIN_BYTES
    ctypedef struct zk_buffer:
        uint8_t *data
        size_t used
        size_t capacity
    zk_buffer *zk_buffer_new(size_t size)
    zk_buffer *zk_buffer_around(
        const uint8_t *data, size_t size, void (*release)(void *) noexcept nogil, void *owner
    )
    zk_buffer *zk_buffer_share(zk_buffer *buffer)
    void zk_buffer_drop(zk_buffer *buffer)
    zk_buffer *zk_buffer_exact(size_t size)
    zk_buffer *zk_buffer_pooled(size_t size)


cdef extern from "sink.h" nogil:
    ctypedef enum zk_decoded:
        ZK_DECODED
        ZK_REFUSED
        ZK_NO_MEMORY
    ctypedef struct zk_sink:
        zk_buffer *buffer
        size_t limit
    zk_decoded zk_decompress(
        int codec, const uint8_t *data, size_t size, int magic, zk_sink *sink
    )
    bint zk_can_decompress_all(uint32_t codecs)
    const char *zk_zlib_version()
    const char *zk_lz4_version()
    const char *zk_zstd_version()


cdef extern from "run.h" nogil:
    enum:
        ZK_LOG_APPEND_MASK
    ctypedef struct zk_message:
        const uint8_t *key
        const uint8_t *value
        int64_t timestamp
        int32_t key_bytes
        int32_t value_bytes
        uint8_t magic
        uint8_t attributes
        int32_t header_count
        const uint8_t *headers
        const uint8_t *headers_end
    bint zk_header_next(
        const uint8_t **at, const uint8_t *end, const uint8_t **name, int32_t *name_bytes,
        const uint8_t **value, int32_t *value_bytes
    )
    ctypedef struct zk_run:
        zk_buffer *buffer
        size_t start
        size_t size
        int64_t base_offset
        int64_t append_time
        int32_t leader_epoch
        bint has_append_time
        int64_t first_offset
        int64_t last_offset
        size_t count
        size_t key_bytes
        size_t value_bytes
        size_t null_keys
        size_t null_values
        size_t timestamps
        size_t with_headers
        int64_t base_time
        int packed_codec
        size_t packed_at
        size_t packed_size
    ctypedef struct zk_runs:
        zk_run *items
        size_t count
        size_t capacity
    ctypedef struct zk_cursor:
        const uint8_t *at
        const uint8_t *end
        int64_t base_offset
    ctypedef enum zk_step:
        ZK_MESSAGE
        ZK_RUN_ENDS
        ZK_RUN_BROKEN
    int64_t zk_behind(int64_t offset)
    zk_cursor zk_run_begin(const zk_run *run)
    zk_step zk_run_next(zk_cursor *cursor, int64_t *offset, zk_message *message)
    bint zk_run_split(zk_run *run, size_t max_bytes, size_t max_count, zk_run *head)
    void zk_runs_free(zk_runs *runs)


cdef extern from "walk.h" nogil:
    ctypedef enum zk_set_status:
        ZK_SET_ENDS
        ZK_SET_FULL
        ZK_SET_REFUSED
        ZK_SET_NO_MEMORY
    ctypedef struct zk_set_limits:
        int64_t fetch_offset
        size_t bound_bytes
        size_t enough_bytes
        size_t piece_bytes


cdef extern from "order.h" nogil:
    ctypedef struct zk_order:
        size_t position
        int64_t low
        bint is_first
        uint32_t codecs
        int32_t leader_epoch
    bint zk_offsets_rise(const uint8_t *data, size_t size, int64_t end, zk_order *order)
    size_t zk_cut_off_bytes(const uint8_t *data, size_t size, size_t position)


cdef extern from "batches.h" nogil:
    enum:
        ZK_NO_LEADER_EPOCH
    ctypedef struct zk_aborted:
        int64_t first_offset
        int64_t producer_id
    ctypedef struct zk_committed:
        zk_aborted *to_come
        size_t count
        size_t next
        int64_t *producers
        bint *is_open
        size_t producer_count
    zk_committed *zk_committed_new(const zk_aborted *aborted, size_t count)
    void zk_committed_free(zk_committed *filter)
    ctypedef struct zk_walker:
        size_t remaining_bytes
        int64_t next_offset
    ctypedef struct zk_reader:
        zk_walker walk
        zk_runs runs
        zk_committed *committed
        int kept_codec
        size_t position
        int32_t last_leader_epoch
    zk_reader *zk_reader_new(
        zk_buffer *set, const zk_set_limits *limits, zk_committed *committed
    )
    void zk_reader_free(zk_reader *reader)
    zk_set_status zk_reader_read(zk_reader *reader)
    ctypedef struct zk_set_result:
        zk_set_status status
        size_t position
        int64_t next_offset
        size_t remaining_bytes
        int32_t leader_epoch
    zk_set_result zk_read_set(
        zk_buffer *set, size_t position, const zk_set_limits *limits, zk_runs *runs
    )


cdef extern from "fetched.h" nogil:
    ctypedef struct zk_fetched:
        zk_runs runs
        size_t first
        size_t left
    zk_fetched zk_fetched_from(zk_runs *runs)
    void zk_fetched_free(zk_fetched *fetched)
    ctypedef enum zk_taking:
        ZK_TAKEN
        ZK_TAKE_BROKEN
        ZK_TAKE_NO_MEMORY
    zk_taking zk_fetched_take(zk_fetched *fetched, size_t count, zk_runs *taken)


cdef extern from "claim.h" nogil:
    const int64_t ZK_NO_OFFSET
    ctypedef struct zk_claim:
        pass
    int64_t zk_claim_consumed(zk_claim *claim)
    void zk_claim_set_consumed(zk_claim *claim, int64_t offset)
    int64_t zk_claim_delivered(zk_claim *claim)
    void zk_claim_set_delivered(zk_claim *claim, int64_t offset)
    zk_claim *zk_claim_new()
    void zk_claim_drop(zk_claim *claim)
    bint zk_claim_is_active(zk_claim *claim)
    void zk_claim_set_active(zk_claim *claim, bint active)
    int64_t zk_claim_high_watermark(zk_claim *claim)
    void zk_claim_set_high_watermark(zk_claim *claim, int64_t offset)
    int64_t zk_claim_log_start(zk_claim *claim)
    void zk_claim_set_log_start(zk_claim *claim, int64_t offset)


cdef extern from "chunk.h" nogil:
    ctypedef struct zk_chunk:
        zk_claim *claim
        int64_t fetch_offset
        int64_t next_offset
        int32_t leader_epoch
        size_t size_bytes
        zk_runs runs
        uint64_t number
    zk_chunk *zk_chunk_new(
        zk_claim *claim, int64_t fetch_offset, int64_t next_offset, zk_runs *runs
    )
    void zk_chunk_free(zk_chunk *chunk)
    size_t zk_runs_charge(const zk_runs *runs)
    bint zk_runs_settle(zk_runs *runs)
    bint zk_runs_copy(const zk_runs *runs, zk_runs *copy)
    bint zk_runs_can_cut(const zk_runs *runs)
    bint zk_runs_cut_front(zk_runs *runs, size_t max_bytes, zk_runs *front)


cdef extern from "wakeup.h" nogil:
    ctypedef struct zk_wakeup:
        pass
    zk_wakeup *zk_wakeup_new()
    void zk_wakeup_drop(zk_wakeup *wakeup)
    void zk_wakeup_notify(zk_wakeup *wakeup)
    void zk_wakeup_clear(zk_wakeup *wakeup)
    bint zk_wakeup_wait(const zk_wakeup *wakeup, int timeout_ms)


cdef extern from "queue.h" nogil:
    ctypedef struct zk_queue:
        pass
    ctypedef void (*zk_on_change)(void *owner) noexcept
    ctypedef enum zk_head_kind:
        ZK_HEAD_NONE
        ZK_HEAD_NAMED
        ZK_HEAD_CHUNK
        ZK_HEAD_NO_MEMORY
    bint zk_queue_put(zk_queue *queue, zk_chunk *chunk, zk_wakeup *pump)
    zk_queue *zk_queue_new(size_t max_chunks, zk_on_change on_change, void *owner)
    void zk_queue_free(zk_queue *queue)
    void zk_queue_set_share(zk_queue *queue, size_t share_bytes)
    size_t zk_queue_half_share(zk_queue *queue)
    void zk_queue_set_listened(zk_queue *queue, bint is_listened)
    uint64_t zk_queue_next_number(zk_queue *queue)
    bint zk_queue_fits(zk_queue *queue, size_t size_bytes)
    size_t zk_queue_free_bytes(zk_queue *queue, zk_wakeup *pump)
    bint zk_queue_add(zk_queue *queue, zk_chunk *entry)
    void zk_queue_wake(zk_queue *queue)
    bint zk_queue_was_woken(zk_queue *queue, bint by_entries)
    void zk_queue_wait(zk_queue *queue, bint for_another, int timeout_ms)
    zk_head_kind zk_queue_head(zk_queue *queue, zk_chunk *head, zk_chunk **dropped)
    bint zk_queue_name(zk_queue *queue, uint64_t number)
    uint64_t zk_queue_named_head(zk_queue *queue)
    bint zk_queue_remove(zk_queue *queue)
    ctypedef struct zk_front:
        uint64_t number
        int64_t fetch_offset
        int64_t next_offset
        size_t size_bytes
        int32_t leader_epoch
    bint zk_queue_look(zk_queue *queue, zk_front *front, zk_chunk **dropped)
    zk_chunk *zk_queue_take(zk_queue *queue, uint64_t number)
    bint zk_queue_await(zk_queue *queue)
    size_t zk_queue_record_count(zk_queue *queue)
    size_t zk_queue_queued_bytes(zk_queue *queue)
    void zk_queue_done(zk_queue *queue)
    void zk_queue_discard(zk_queue *queue, zk_chunk **dropped)
    void zk_queue_notify_pumps(zk_queue *queue)
    size_t zk_queue_chunk_count(zk_queue *queue)
    size_t zk_queue_used_bytes(zk_queue *queue)
    size_t zk_queue_waiting_pumps(zk_queue *queue)
    void zk_chunks_free(zk_chunk *chunks)
