# The native fetch loop as Python drives it; a part of _core.pyx. See csrc/pump.h.

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int16_t

cdef extern from "pump.h" nogil:
    ctypedef struct zk_set:
        zk_buffer *bytes
        int64_t offset
        size_t requested_bytes
    ctypedef struct zk_slot:
        int64_t fetch_offset
        int64_t until_offset
        size_t needed_bytes
        size_t grown_bytes
        int32_t leader_epoch
        bint is_behind
        uint64_t turn
        int reclaim
        int16_t error_code
        zk_set set
        size_t at
    ctypedef struct zk_topic:
        uint32_t size
    ctypedef struct zk_slots:
        zk_slot *slots
        size_t count
        zk_topic *topics
        size_t topic_count
    bint zk_slots_begin(zk_slots *slots, size_t slot_count, size_t topic_count, size_t outlets)
    bint zk_slots_add_topic(zk_slots *slots, const uint8_t *name, size_t size)
    bint zk_slots_add_outlet(zk_slots *slots, zk_queue *queue)
    zk_slot *zk_slots_add(zk_slots *slots, size_t outlet, int32_t partition, zk_claim *claim)
    ctypedef struct zk_unpack_limits:
        size_t max_decompressed_bytes
        size_t growth_max_bytes
        size_t part_bytes
        size_t grown_bytes
    ctypedef struct zk_unpacker:
        zk_unpack_limits limits
    ctypedef struct zk_fetch_plan:
        size_t part_bytes
        size_t response_bytes
        int32_t max_wait_ms
        bint has_others_waiting
    ctypedef struct zk_request_head:
        int version
        int32_t correlation_id
        int32_t min_bytes
        int32_t max_bytes
    ctypedef struct zk_exchange:
        int error
        bint has_received
    ctypedef struct zk_request:
        uint8_t *data
        size_t size
    ctypedef enum zk_io:
        ZK_IO_NONSENSE
        ZK_IO_TIMED_OUT
        ZK_IO_CLOSED
    enum:
        ZK_RECLAIM_SET
        ZK_RECLAIM_LEFT_OUT
        ZK_FETCH_TOPIC_IDS
        ZK_FETCH_LAST
        ZK_TOPIC_ID_BYTES
    ctypedef enum zk_pump_end:
        ZK_PUMP_CALLED
        ZK_PUMP_STOPPED
        ZK_PUMP_BROKEN
        ZK_PUMP_NO_MEMORY
        ZK_PUMP_SILENT
    ctypedef struct zk_pump_counts:
        uint64_t fetches
        uint64_t partitions
        uint64_t bytes
        uint64_t records
        uint64_t duration_ms
        uint64_t throttle_ms
        uint64_t throttled_ms
        uint64_t sent_bytes
        uint64_t received_bytes
        uint64_t longest_ms
        uint64_t largest_bytes
    void zk_queue_remove_wakeup(zk_queue *queue, zk_wakeup *wakeup)
    ctypedef struct zk_pump:
        zk_wakeup *wakeup
        zk_slots slots
        zk_unpacker unpacker
        zk_fetch_plan plan
        zk_request_head head
        zk_request request
        zk_exchange exchange
        zk_pump_counts counts
        bint ends_at_head
        int64_t report_ms
        int64_t timeout_ms
        size_t max_frame_bytes
        size_t max_entry_bytes
        zk_io failure
        const char *detail
    zk_pump *zk_pump_new()
    bint zk_pump_name(zk_pump *pump, const uint8_t *client_id, size_t size)
    void zk_pump_free(zk_pump *pump)
    void zk_pump_load_set(
        zk_pump *pump, zk_slot *slot, zk_buffer *data, size_t at, int64_t offset, size_t requested
    )
    void zk_pump_clear(zk_pump *pump)
    zk_pump_end zk_pump_run(zk_pump *pump, int socket, int64_t quiet_ms)
    void zk_pump_call(zk_pump *pump)
    bint zk_pump_is_called(zk_pump *pump)
    void zk_pump_clear_call(zk_pump *pump)
    void zk_pump_stop(zk_pump *pump)
    int64_t zk_pump_quiet_ms(zk_pump *pump)


PUMP_CALLED, PUMP_STOPPED, PUMP_BROKEN = ZK_PUMP_CALLED, ZK_PUMP_STOPPED, ZK_PUMP_BROKEN
PUMP_SILENT = ZK_PUMP_SILENT
IO_NONSENSE, IO_TIMED_OUT, IO_CLOSED = ZK_IO_NONSENSE, ZK_IO_TIMED_OUT, ZK_IO_CLOSED


@cython.final
cdef class Packed:
    """The bytes of a record set that a slot gave back, for as long as Python looks at them."""

    cdef zk_buffer *buffer
    cdef Py_ssize_t size

    def __init__(self):
        raise TypeError("packed sets come out of pumps")

    def __dealloc__(self):
        zk_buffer_drop(self.buffer)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.buffer.data, self.buffer.used, 1, flags)


cdef Packed _packed(zk_buffer *buffer):
    cdef Packed made = Packed.__new__(Packed)
    made.buffer = zk_buffer_share(buffer)
    return made


@cython.final
cdef class Pump:
    cdef zk_pump *pump
    cdef list queues  # kept alive for as long as slots point to them

    def __cinit__(self):
        self.pump = zk_pump_new()
        if self.pump == NULL:
            raise MemoryError("no memory or no descriptors for a pump")
        self.queues = []

    def __dealloc__(self):
        zk_pump_free(self.pump)

    def configure(
        self,
        *,
        int32_t min_bytes,
        int32_t max_bytes,
        int32_t max_wait_ms,
        int64_t timeout_ms,
        size_t max_decompressed_bytes,
        size_t growth_max_bytes,
        int64_t report_ms,
    ):
        self.pump.head.min_bytes = min_bytes
        self.pump.head.max_bytes = self.pump.plan.response_bytes = max_bytes
        self.pump.plan.max_wait_ms = max_wait_ms
        self.pump.timeout_ms = timeout_ms
        self.pump.unpacker.limits.max_decompressed_bytes = max_decompressed_bytes
        self.pump.unpacker.limits.growth_max_bytes = growth_max_bytes
        self.pump.report_ms = report_ms

    def load(
        self,
        list queues not None,
        list topics not None,
        *,
        size_t part_bytes,
        size_t grown_bytes,
        bint others_wait,
        bint ends_at_head=False,
    ):
        zk_pump_clear(self.pump)
        self.queues = queues
        cdef size_t count = sum([len(slots) for _, slots in topics])
        if not zk_slots_begin(&self.pump.slots, count, len(topics), len(queues)):
            raise MemoryError
        self.pump.plan.part_bytes = self.pump.unpacker.limits.part_bytes = part_bytes
        self.pump.unpacker.limits.grown_bytes = grown_bytes
        self.pump.plan.has_others_waiting = others_wait
        self.pump.ends_at_head = ends_at_head
        cdef Queue queue
        for queue in queues:
            zk_slots_add_outlet(&self.pump.slots, queue.queue)
        for name, slots in topics:
            self._load_topic(name, slots)

    cdef _load_topic(self, bytes name, list slots):
        cdef Progress progress
        cdef zk_slot *slot
        if not zk_slots_add_topic(&self.pump.slots, <const uint8_t *>name, len(name)):
            raise MemoryError
        for (
            outlet,
            partition,
            progress,
            fetch_offset,
            needed_bytes,
            grown_bytes,
            packed,
            leader_epoch,
            is_behind,
            until_offset,
        ) in slots:
            slot = zk_slots_add(&self.pump.slots, outlet, partition, progress.claim)
            if slot == NULL:
                raise MemoryError
            slot.fetch_offset = fetch_offset
            slot.needed_bytes = needed_bytes
            # It may have grown where there was more for each.
            slot.grown_bytes = min(<size_t>grown_bytes, self.pump.unpacker.limits.grown_bytes)
            slot.leader_epoch = leader_epoch
            slot.is_behind = is_behind
            slot.until_offset = until_offset
            if packed is not None:
                self._load_set(slot, packed)

    cdef _load_set(self, zk_slot *slot, tuple packed):
        cdef object data = packed[0]
        cdef size_t at = packed[1]
        cdef int64_t offset = packed[2]
        cdef size_t requested_bytes = packed[3]
        cdef object owner = data.obj
        cdef zk_buffer *buffer
        cdef const uint8_t[::1] view
        if isinstance(owner, Packed) and data.nbytes == (<Packed>owner).buffer.used:
            zk_pump_load_set(self.pump, slot, (<Packed>owner).buffer, at, offset, requested_bytes)
            return
        view = data
        buffer = zk_buffer_new(view.shape[0])
        if buffer == NULL:
            raise MemoryError
        if view.shape[0]:
            memcpy(buffer.data, &view[0], view.shape[0])
        buffer.used = view.shape[0]
        zk_pump_load_set(self.pump, slot, buffer, at, offset, requested_bytes)
        zk_buffer_drop(buffer)

    def unload(self):
        cdef list made = []
        cdef zk_slot *slot
        cdef size_t at
        for at in range(self.pump.slots.count):
            slot = self.pump.slots.slots + at
            packed = None
            if slot.set.bytes != NULL:
                packed = (
                    memoryview(_packed(slot.set.bytes)),
                    slot.set.offset,
                    slot.set.requested_bytes,
                    slot.at,
                    0,
                    True,
                )
            made.append(
                (
                    slot.fetch_offset,
                    slot.needed_bytes,
                    slot.grown_bytes,
                    slot.turn,
                    slot.reclaim == ZK_RECLAIM_SET,
                    slot.error_code,
                    slot.reclaim == ZK_RECLAIM_LEFT_OUT,
                    packed,
                    slot.is_behind,
                )
            )
        zk_pump_clear(self.pump)
        self._forget_queues(self.pump)
        return made

    cdef _forget_queues(self, zk_pump *pump):
        cdef Queue queue
        for queue in self.queues:
            zk_queue_remove_wakeup(queue.queue, pump.wakeup)
        self.queues = []

    def close(self):
        cdef zk_pump *pump
        with cython.critical_section(self):
            pump = self.pump
            self.pump = NULL  # others may call and stop it
        if pump == NULL:
            return
        zk_pump_clear(pump)
        self._forget_queues(pump)
        zk_pump_free(pump)

    def run(
        self,
        int socket,
        *,
        int version,
        int32_t correlation_id,
        bytes client_id not None,
        size_t max_response_bytes,
        size_t max_entry_bytes,
        int64_t quiet_ms,
    ):
        cdef zk_pump_end end
        if not zk_pump_name(self.pump, <const uint8_t *>client_id, len(client_id)):
            raise MemoryError
        if not 0 <= version <= ZK_FETCH_LAST:
            raise ValueError(f"no version {version} of Fetch is known here")
        if version >= ZK_FETCH_TOPIC_IDS and not self._has_topic_ids():
            raise ValueError(f"version {version} of Fetch needs the ids of all topics")
        self.pump.head.version = version
        self.pump.max_frame_bytes = max_response_bytes
        self.pump.max_entry_bytes = max_entry_bytes
        self.pump.head.correlation_id = correlation_id
        with nogil:
            end = zk_pump_run(self.pump, socket, quiet_ms)
        if end == ZK_PUMP_NO_MEMORY:
            raise MemoryError
        detail = ""
        if end == ZK_PUMP_BROKEN and self.pump.detail != NULL:
            detail = self.pump.detail.decode()
        return (
            <int>end,
            self.pump.head.correlation_id,
            zk_pump_is_called(self.pump),
            <int>self.pump.failure,
            self.pump.exchange.error,
            detail,
            <bint>self.pump.exchange.has_received,
        )

    cdef bint _has_topic_ids(self):
        cdef size_t at
        for at in range(self.pump.slots.topic_count):
            if self.pump.slots.topics[at].size != ZK_TOPIC_ID_BYTES:
                return False
        return True

    def quiet_ms(self):
        return zk_pump_quiet_ms(self.pump)

    def last_request(self):
        return self.pump.request.data[: self.pump.request.size]

    def counts(self):
        cdef zk_pump_counts counts = self.pump.counts
        memset(&self.pump.counts, 0, sizeof(zk_pump_counts))
        return (
            counts.fetches,
            counts.partitions,
            counts.bytes,
            counts.records,
            counts.duration_ms,
            counts.throttle_ms,
            counts.sent_bytes,
            counts.received_bytes,
            counts.longest_ms,
            counts.largest_bytes,
            counts.throttled_ms,
        )

    @cython.critical_section
    def clear_call(self):
        zk_pump_clear_call(self.pump)

    @cython.critical_section
    def call(self):
        if self.pump != NULL:
            zk_pump_call(self.pump)

    @cython.critical_section
    def stop(self):
        if self.pump != NULL:
            zk_pump_stop(self.pump)
