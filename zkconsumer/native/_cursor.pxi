# The chunk that a stream is reading, message by message; a part of _core.pyx.

from zkconsumer.clock import SystemClock as _SystemClock
from zkconsumer.clock import seconds_of as _seconds_of
from zkconsumer.clock import system_s as _system_s

cdef extern from *:
    """
    #include <time.h>
    #ifdef CLOCK_BOOTTIME
    #define ZK_CLOCK CLOCK_BOOTTIME /* goes on while the machine is suspended, as SystemClock */
    #else
    #define ZK_CLOCK CLOCK_MONOTONIC
    #endif
    #ifdef CLOCK_MONOTONIC_COARSE
    #define ZK_COARSE_CLOCK CLOCK_MONOTONIC_COARSE /* 5 ns to read, and moves every few ms */
    #else
    #define ZK_COARSE_CLOCK ZK_CLOCK
    #endif
    """
    const clockid_t ZK_CLOCK
    const clockid_t ZK_COARSE_CLOCK


cdef extern from "lease.h" nogil:
    ctypedef struct zk_lease:
        pass
    double zk_lease_until(zk_lease *lease)
    void zk_lease_end_at(zk_lease *lease, double until_s)
    bint zk_lease_ran(zk_lease *lease, int64_t tick)
    bint zk_lease_is_over(zk_lease *lease, double now_s, int64_t tick)


@cython.final
cdef class Lease:
    cdef readonly object now_s
    cdef bint is_machines
    cdef zk_lease lease

    def __init__(self, clock not None):
        self.is_machines = type(clock) is _SystemClock
        self.now_s = _system_s if self.is_machines else _seconds_of(clock)
        self.end_at(None)

    def end_at(self, until_ms):
        zk_lease_end_at(&self.lease, float("inf") if until_ms is None else <double>until_ms / 1000)

    @property
    def until_s(self):
        return zk_lease_until(&self.lease)

    cdef inline int is_over(self) except -1:
        """Return whether it has expired; reads the clock, to notice that the process was stopped.

        The exact clock is read when the coarse one has moved, as it has wherever time was lost.
        """
        cdef timespec now
        cdef int64_t tick
        if not self.is_machines:
            return <double>self.now_s() >= zk_lease_until(&self.lease)
        clock_gettime(ZK_COARSE_CLOCK, &now)
        tick = <int64_t>now.tv_sec * 1_000_000_000 + now.tv_nsec
        if zk_lease_ran(&self.lease, tick):
            return 0
        clock_gettime(ZK_CLOCK, &now)
        return zk_lease_is_over(&self.lease, now.tv_sec + now.tv_nsec * 1e-9, tick)


@cython.final
@cython.no_gc
cdef class ChunkPosition:
    # The records keep what the cursor points into.
    cdef Runs records
    cdef size_t run_index
    cdef zk_cursor cursor

    def __init__(self):
        raise TypeError("positions come out of cursors")


cdef inline void _begin_run(Runs records, size_t index, zk_cursor *cursor) noexcept:
    if index < records.runs.count:
        cursor[0] = zk_run_begin(records.runs.items + index)
    else:
        cursor.at = cursor.end = NULL


cdef inline zk_step _next_of(
    Runs records, size_t *index, zk_cursor *cursor, int64_t *offset, zk_message *message
) noexcept:
    """Step to the next message of all runs; sets the index to that of its run."""
    cdef zk_step step
    while True:
        step = zk_run_next(cursor, offset, message)
        if step != ZK_RUN_ENDS or index[0] >= records.runs.count:
            return step
        index[0] += 1
        _begin_run(records, index[0], cursor)


@cython.final
cdef class NativeCursor:
    cdef Lease lease
    cdef bint consumes_delivered
    cdef object key_decoder
    cdef object value_decoder
    cdef object current
    cdef Progress progress
    cdef Origin origin
    # The position; `records` is None without a chunk.
    cdef Runs records
    cdef size_t run_index
    cdef zk_cursor cursor

    def __init__(
        self, *, bint consumes_delivered, Lease lease not None, key_decoder, value_decoder
    ):
        self.consumes_delivered = consumes_delivered
        self.lease = lease
        self.key_decoder = key_decoder
        self.value_decoder = value_decoder

    @property
    def chunk(self):
        with cython.critical_section(self):  # metrics read it while it is replaced
            return self.current

    @chunk.setter
    def chunk(self, chunk):
        cdef Runs records = None
        cdef Progress progress = None
        cdef Origin origin = None
        cdef zk_cursor cursor
        memset(&cursor, 0, sizeof(zk_cursor))
        if chunk is not None:
            held = chunk.records
            # Its claim may be given up in this moment, and its records discarded.
            records = held if held != () else Runs.__new__(Runs)
            progress = chunk.claim
            topic, partition = chunk.claim.topic_partition
            origin = Origin(topic, partition, self.key_decoder, self.value_decoder)
            if records is None or progress is None:
                raise TypeError("not a native chunk")
            _begin_run(records, 0, &cursor)
        # The previous chunk is released last, when the cursor is complete again.
        with cython.critical_section(self):
            self.cursor = cursor
            self.run_index = 0
            self.progress, progress = progress, self.progress
            self.origin, origin = origin, self.origin
            self.records, records = records, self.records
            self.current, chunk = chunk, self.current

    @property
    def position(self):
        return self._position()

    @cython.critical_section
    cdef ChunkPosition _position(self):
        cdef ChunkPosition position = ChunkPosition.__new__(ChunkPosition)
        position.records = self.records
        position.run_index = self.run_index
        position.cursor = self.cursor
        return position

    @position.setter
    def position(self, ChunkPosition position not None):
        with cython.critical_section(self):
            if position.records is not self.records:
                raise ValueError("a position in another chunk")
            self.run_index = position.run_index
            self.cursor = position.cursor

    @property
    def is_exhausted(self):
        cdef ChunkPosition position = self._position()
        cdef size_t index
        if position.records is None:
            return True
        if position.cursor.at != position.cursor.end:
            return False
        for index in range(position.run_index + 1, position.records.runs.count):
            if position.records.runs.items[index].size:
                return False
        return True

    def __iter__(self):
        return self

    def __next__(self):
        cdef Message message = self._step()
        if message is None:
            raise StopIteration
        return message

    def iterate(self, slow not None):
        cdef _Iteration made = _Iteration.__new__(_Iteration)
        made.cursor = self
        made.slow = slow
        return made

    def peek(self, Py_ssize_t most):
        cdef list found = []
        cdef ChunkPosition position = self._position()
        cdef zk_message message
        cdef zk_step step
        cdef int64_t offset = 0
        if position.records is None:
            return found, position
        while len(found) < most:
            step = _next_of(position.records, &position.run_index, &position.cursor, &offset, &message)
            if step != ZK_MESSAGE:
                if step == ZK_RUN_BROKEN:
                    _raise_broken()
                break
            found.append(
                _message(position.records.runs.items + position.run_index, offset, &message, self.origin)
            )
        return found, position

    def peek_runs(self, size_t most):
        cdef list found = []
        cdef ChunkPosition position = self._position()
        cdef Run run
        if position.records is None:
            return found, position
        while most and position.run_index < position.records.runs.count:
            run = _rest_of_run(position)
            if run.run.count > most:
                run = run.split(<size_t>-1, most)
                position.cursor.at += run.run.size
            else:
                position.run_index += 1
                _begin_run(position.records, position.run_index, &position.cursor)
            most -= run.run.count
            if run.run.count:
                found.append(run)
        return found, position

    @cython.critical_section
    cdef inline Message _step(self):
        """Return the next message, or None; the previous one is consumed."""
        if self.records is None:
            return None
        cdef zk_claim *claim = self.progress.claim
        zk_claim_set_consumed(claim, zk_claim_delivered(claim))
        if self.lease.is_over() or not zk_claim_is_active(claim):
            return None
        cdef zk_message found
        cdef int64_t offset = 0
        cdef size_t index = self.run_index
        cdef zk_cursor cursor = self.cursor
        cdef zk_step step = _next_of(self.records, &index, &cursor, &offset, &found)
        if step != ZK_MESSAGE:
            if step == ZK_RUN_BROKEN:
                _raise_broken()
            return None
        cdef Message message = _message(
            self.records.runs.items + index, offset, &found, self.origin
        )
        # Nothing is called from here on: no signal handler can part these.
        self.run_index = index
        self.cursor = cursor
        zk_claim_set_delivered(claim, zk_behind(offset))
        if self.consumes_delivered:
            zk_claim_set_consumed(claim, zk_behind(offset))
        return message


cdef Run _rest_of_run(ChunkPosition position):
    """Return the run at the position, without the messages before it."""
    cdef Run run = Run.__new__(Run)
    cdef const zk_run *whole = position.records.runs.items + position.run_index
    cdef size_t done = whole.size - <size_t>(position.cursor.end - position.cursor.at)
    run.run = whole[0]
    zk_buffer_share(run.run.buffer)
    if done:
        run.split(done)
    return run


@cython.final
cdef class _Iteration:
    cdef NativeCursor cursor
    cdef object slow
    cdef bint is_over

    def __init__(self):
        raise TypeError("use NativeCursor.iterate")

    def __iter__(self):
        return self

    def __next__(self):
        cdef Message message = self.cursor._step()
        if message is not None:
            return message
        if self.is_over:
            raise StopIteration
        try:
            return self.slow()
        except StopIteration:
            self.is_over = True
            raise
