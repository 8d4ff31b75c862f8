# The native chunk in a stream's hands, message by message; a part of _core.pyx.

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
        """Whether it is over; the clock is read for this, so a process that stood still knows.

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
cdef class Place:
    # The records keep what the cursor points into.
    cdef Runs records
    cdef size_t run_index
    cdef zk_cursor cursor

    def __init__(self):
        raise TypeError("a hand tells its places")


cdef inline void _begin_run(Runs records, size_t index, zk_cursor *cursor) noexcept:
    if index < records.runs.count:
        cursor[0] = zk_run_begin(records.runs.items + index)
    else:
        cursor.at = cursor.end = NULL


cdef inline zk_step _next_of(
    Runs records, size_t *index, zk_cursor *cursor, int64_t *offset, zk_message *message
) noexcept:
    """The next message of all runs; the index becomes that of its run."""
    cdef zk_step step
    while True:
        step = zk_run_next(cursor, offset, message)
        if step != ZK_RUN_ENDS or index[0] >= records.runs.count:
            return step
        index[0] += 1
        _begin_run(records, index[0], cursor)


@cython.final
cdef class Hand:
    cdef Lease lease
    cdef bint consumes_in_hand
    cdef object key_decoder
    cdef object value_decoder
    cdef object in_hand
    cdef Progress progress
    cdef Origin origin
    # Where it stands; None without a chunk.
    cdef Runs records
    cdef size_t run_index
    cdef zk_cursor cursor

    def __init__(
        self, *, bint consumes_in_hand, Lease lease not None, key_decoder, value_decoder
    ):
        self.consumes_in_hand = consumes_in_hand
        self.lease = lease
        self.key_decoder = key_decoder
        self.value_decoder = value_decoder

    @property
    def chunk(self):
        return self.in_hand

    @chunk.setter
    def chunk(self, chunk):
        cdef Runs records = None
        cdef Progress progress = None
        cdef Origin origin = None
        cdef zk_cursor cursor = self.cursor
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
        # What was in hand is let go of at the end, when all is in its place.
        with cython.critical_section(self):
            self.cursor = cursor
            self.run_index = 0
            self.progress, progress = progress, self.progress
            self.origin, origin = origin, self.origin
            self.records, records = records, self.records
            self.in_hand, chunk = chunk, self.in_hand

    @property
    def place(self):
        return self._place()

    @cython.critical_section
    cdef Place _place(self):
        cdef Place place = Place.__new__(Place)
        place.records = self.records
        place.run_index = self.run_index
        place.cursor = self.cursor
        return place

    @place.setter
    def place(self, Place place not None):
        with cython.critical_section(self):
            if place.records is not self.records:
                raise ValueError("a place in another chunk")
            self.run_index = place.run_index
            self.cursor = place.cursor

    @property
    def is_through(self):
        cdef Place place = self._place()
        cdef size_t index
        if place.records is None:
            return True
        if place.cursor.at != place.cursor.end:
            return False
        for index in range(place.run_index + 1, place.records.runs.count):
            if place.records.runs.items[index].size:
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
        made.hand = self
        made.slow = slow
        return made

    def look(self, Py_ssize_t most):
        cdef list found = []
        cdef Place place = self._place()
        cdef zk_message message
        cdef zk_step step
        cdef int64_t offset = 0
        if place.records is None:
            return found, place
        while len(found) < most:
            step = _next_of(place.records, &place.run_index, &place.cursor, &offset, &message)
            if step != ZK_MESSAGE:
                if step == ZK_RUN_BROKEN:
                    _raise_broken()
                break
            found.append(
                _message(place.records.runs.items + place.run_index, offset, &message, self.origin)
            )
        return found, place

    def look_runs(self, size_t most):
        cdef list found = []
        cdef Place place = self._place()
        cdef Run run
        if place.records is None:
            return found, place
        while most and place.run_index < place.records.runs.count:
            run = _rest_of_run(place)
            if run.run.count > most:
                run = run.split(<size_t>-1, most)
                place.cursor.at += run.run.size
            else:
                place.run_index += 1
                _begin_run(place.records, place.run_index, &place.cursor)
            most -= run.run.count
            if run.run.count:
                found.append(run)
        return found, place

    @cython.critical_section
    cdef inline Message _step(self):
        """The next message, or None; what was given before is done with."""
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
        if self.consumes_in_hand:
            zk_claim_set_consumed(claim, zk_behind(offset))
        return message


cdef Run _rest_of_run(Place place):
    """The run that the place is in, without what lies in front of the place."""
    cdef Run run = Run.__new__(Run)
    cdef const zk_run *whole = place.records.runs.items + place.run_index
    cdef size_t done = whole.size - <size_t>(place.cursor.end - place.cursor.at)
    run.run = whole[0]
    zk_buffer_share(run.run.buffer)
    if done:
        run.split(done)
    return run


@cython.final
cdef class _Iteration:
    cdef Hand hand
    cdef object slow
    cdef bint is_over

    def __init__(self):
        raise TypeError("use Hand.iterate")

    def __iter__(self):
        return self

    def __next__(self):
        cdef Message message = self.hand._step()
        if message is not None:
            return message
        if self.is_over:
            raise StopIteration
        try:
            return self.slow()
        except StopIteration:
            self.is_over = True
            raise
