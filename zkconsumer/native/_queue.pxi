# The queue of one stream, and what lies in it; a part of _core.pyx.

from collections import deque as _deque

from cpython.list cimport PyList_New, PyList_SET_ITEM

cdef enum:
    _NAP_MS = 500  # as `scope.naps`: interval at which a wait checks for signals that came before it


@cython.final
cdef class Wakeup:
    cdef zk_wakeup *wakeup

    def __cinit__(self):
        self.wakeup = zk_wakeup_new()
        if self.wakeup == NULL:
            raise MemoryError("no memory or no descriptors for a wakeup")

    def __dealloc__(self):
        zk_wakeup_drop(self.wakeup)

    def notify(self):
        zk_wakeup_notify(self.wakeup)

    def wait(self, int timeout_ms=0):
        cdef bint is_notified
        with nogil:
            is_notified = zk_wakeup_wait(self.wakeup, timeout_ms)
            zk_wakeup_clear(self.wakeup)
        return is_notified


@cython.final
cdef class Runs:
    cdef zk_runs runs

    def __init__(self):
        raise TypeError("runs come out of queues and readers")

    def __dealloc__(self):
        zk_runs_free(&self.runs)

    def __len__(self):
        cdef size_t at, total = 0
        for at in range(self.runs.count):
            total += self.runs.items[at].count
        return total

    def __iter__(self):
        for run in _runs_of(&self.runs):
            yield from (<Run>run).records()

    def __getitem__(self, index):
        return list(self)[index]

    @property
    def first_offset(self):
        return self.runs.items[0].first_offset if self.runs.count else None

    @property
    def last_offset(self):
        return self.runs.items[self.runs.count - 1].last_offset if self.runs.count else None

    @property
    def leader_epoch(self):
        return self.runs.items[self.runs.count - 1].leader_epoch if self.runs.count else -1

    @property
    def memory_bytes(self):
        return zk_runs_charge(&self.runs)

    @property
    def size_bytes(self):
        cdef size_t at, total = 0
        for at in range(self.runs.count):
            total += self.runs.items[at].key_bytes + self.runs.items[at].value_bytes
        return total

    @property
    def runs(self):
        return _runs_of(&self.runs)

    def settle(self):
        zk_runs_settle(&self.runs)  # without memory they stay where they are

    def split(self, size_t max_bytes):
        if not zk_runs_can_cut(&self.runs):
            raise ValueError("not more than one message")
        cdef Runs front = Runs.__new__(Runs)
        cdef Runs rest = Runs.__new__(Runs)
        if not zk_runs_copy(&self.runs, &rest.runs):
            raise MemoryError
        if not zk_runs_cut_front(&rest.runs, max_bytes, &front.runs):
            raise MemoryError
        return front, rest

    def records(self, Origin origin not None):
        cdef Py_ssize_t count = len(self), index = 0
        cdef object made = PyList_New(count)
        cdef size_t at
        for at in range(self.runs.count):
            _fill(made, &index, self.runs.items + at, count, origin)
        if index != count:
            _raise_broken()
        return made

    def headers(self):
        cdef dict made = {}
        cdef Py_ssize_t index = 0
        cdef size_t at
        for at in range(self.runs.count):
            if self.runs.items[at].with_headers:
                _add_headers(made, index, self.runs.items + at)
            index += self.runs.items[at].count
        return made



cdef void _notify(void *queue) noexcept with gil:
    cdef Queue changed = <Queue>queue
    with cython.critical_section(changed):
        on_change = changed.on_change
    if on_change is not None:
        on_change()


@cython.final
cdef class Queue:
    cdef zk_queue *queue
    cdef object make_chunk
    cdef dict items
    cdef dict claims
    cdef Py_ssize_t purge_at
    cdef object pending
    cdef object on_change
    cdef readonly object waiters

    def __cinit__(self, size_t max_chunks, make_chunk, on_change=None):
        self.queue = zk_queue_new(max_chunks, _notify, <void *>self)
        if self.queue == NULL:
            raise MemoryError("no memory or no descriptors for a queue")
        self.make_chunk = make_chunk
        self.on_change = on_change
        self.items = {}
        self.claims = {}
        self.purge_at = 64
        self.waiters = _deque()

    def __dealloc__(self):
        zk_queue_free(self.queue)

    # --- capacity ---

    @property
    def half_share_bytes(self):
        return zk_queue_half_share(self.queue)

    def set_share(self, size_t share_bytes):
        zk_queue_set_share(self.queue, share_bytes)

    def has_capacity(self, size_t size_bytes):
        return zk_queue_fits(self.queue, size_bytes)

    @property
    def free_bytes(self):
        return zk_queue_free_bytes(self.queue, NULL)

    def wait_for_capacity(self, on_capacity):
        # A producer may try at every turn while the stream is idle: register it once.
        if on_capacity not in self.waiters.copy():  # see chunk_queue
            self.waiters.append(on_capacity)

    def notify_capacity(self):
        zk_queue_notify_pumps(self.queue)
        while True:
            try:
                waiter = self.waiters.popleft()
            except IndexError:
                return
            waiter()

    @property
    def chunk_count(self):
        return zk_queue_chunk_count(self.queue)

    @property
    def record_count(self):
        return zk_queue_record_count(self.queue)

    @property
    def queued_bytes(self):
        return zk_queue_queued_bytes(self.queue)

    @property
    def used_bytes(self):
        return zk_queue_used_bytes(self.queue)

    @property
    def waiting_pumps(self):
        return zk_queue_waiting_pumps(self.queue)

    # --- putting ---

    @cython.critical_section
    def adopt(self, Progress claim not None):
        if len(self.claims) >= self.purge_at:
            self.claims = {
                key: known for key, known in self.claims.items()
                if zk_claim_is_active((<Progress>known).claim)
            }
            self.purge_at = max(64, 2 * len(self.claims))
        self.claims[<size_t>claim.claim] = claim

    @property
    def claim_count(self):
        with cython.critical_section(self):
            return len(self.claims)

    def add(self, item, Progress claim, size_t size_bytes):
        cdef zk_runs none
        none.items, none.count, none.capacity = NULL, 0, 0
        cdef zk_chunk *entry = zk_chunk_new(NULL if claim is None else claim.claim, 0, 0, &none)
        if entry == NULL:
            raise MemoryError
        entry.size_bytes = size_bytes
        entry.number = zk_queue_next_number(self.queue)
        key = entry.number
        try:
            self.items[key] = item
            if zk_queue_add(self.queue, entry):
                entry = NULL
                return True
        finally:
            zk_chunk_free(entry)
        del self.items[key]
        return False

    def put_set(self, Progress claim not None, data, int64_t fetch_offset, Wakeup wakeup=None):
        cdef zk_chunk *chunk = _chunk_of_set(claim, data, fetch_offset)
        cdef zk_wakeup *pump = NULL if wakeup is None else wakeup.wakeup
        cdef bint is_taken
        self.adopt(claim)
        with nogil:
            is_taken = zk_queue_put(self.queue, chunk, pump)
            if not is_taken:
                fetch_offset = chunk.fetch_offset
                zk_chunk_free(chunk)
        return None if is_taken else fetch_offset

    def listen(self, on_change):
        with cython.critical_section(self):
            self.on_change = on_change
        zk_queue_set_listened(self.queue, on_change is not None)

    def wake(self):
        zk_queue_wake(self.queue)

    # --- taking ---

    def head(self, timeout_ms):
        cdef int64_t deadline_ms = -1 if timeout_ms is None else zk_now_ms() + max(0, timeout_ms)
        while True:
            item = self._head()
            if item is not None:
                return item
            if zk_queue_was_woken(self.queue, False) or not self._nap(False, deadline_ms):
                return None

    def pause(self, timeout_ms):
        cdef int64_t deadline_ms = -1 if timeout_ms is None else zk_now_ms() + max(0, timeout_ms)
        while not zk_queue_was_woken(self.queue, True) and self._nap(True, deadline_ms):
            pass

    cdef bint _nap(self, bint for_another, int64_t deadline_ms) except -1:
        """Wait up to _NAP_MS; return False once the deadline has passed."""
        cdef int64_t left_ms = _NAP_MS if deadline_ms < 0 else deadline_ms - zk_now_ms()
        if left_ms <= 0:
            return False
        with nogil:
            zk_queue_wait(self.queue, for_another, <int>min(left_ms, <int64_t>_NAP_MS))
        PyErr_CheckSignals()
        return True

    cdef object _head(self):
        cdef zk_chunk head
        cdef zk_chunk *dropped = NULL
        cdef zk_head_kind kind
        cdef Runs records
        cdef bint is_active = False
        claim = None
        while True:
            records = Runs.__new__(Runs)
            kind = zk_queue_head(self.queue, &head, &dropped)
            if kind == ZK_HEAD_CHUNK:
                records.runs = head.runs
                with cython.critical_section(self):
                    claim = self.claims.get(<size_t>head.claim)
                # After the look-up: what holds even now was not forgotten by `adopt` before it. And before
                # anything of Python is called: it may be given up in there.
                is_active = zk_claim_is_active(head.claim)
                zk_claim_drop(head.claim)
            if dropped != NULL:
                zk_chunks_free(dropped)
                dropped = NULL
                self.notify_capacity()
            if kind == ZK_HEAD_NAMED:
                return self.items[head.number]
            if kind == ZK_HEAD_NONE:
                return None
            if kind == ZK_HEAD_NO_MEMORY:
                raise MemoryError
            if claim is None:
                if is_active:
                    raise LookupError("a chunk of a claim that was not adopted")
                self.discard()  # it was given up in this moment, and forgotten by `adopt`
                continue
            made = self.make_chunk(
                claim, head.fetch_offset, head.next_offset, records, head.size_bytes
            )
            # A signal handler may have made one, too: there is one object for each entry.
            if self.items.setdefault(head.number, made) is made:
                if zk_queue_name(self.queue, head.number):
                    return made
                del self.items[head.number]

    @property
    def named_head(self):
        return self.items.get(zk_queue_named_head(self.queue))

    def remove(self):
        cdef uint64_t number = zk_queue_named_head(self.queue)
        if not number:
            raise IndexError("nothing to remove")
        if zk_queue_remove(self.queue):
            self.pending = self.items[number]
        del self.items[number]
        self.notify_capacity()

    def release(self, item):
        if self.pending is item:
            zk_queue_done(self.queue)
            self.pending = None
            self.notify_capacity()

    def take_chunk(self):
        cdef zk_front front
        cdef zk_chunk *dropped = NULL
        cdef zk_chunk *taken
        cdef Fetched fetched
        while True:
            is_there = zk_queue_look(self.queue, &front, &dropped)
            if dropped != NULL:
                zk_chunks_free(dropped)
                dropped = NULL
                zk_queue_notify_pumps(self.queue)
            if not is_there:
                zk_queue_done(self.queue)
                zk_queue_notify_pumps(self.queue)
                return None
            # First all that takes memory: without it the chunk stays where it is.
            fetched = Fetched.__new__(Fetched)
            made = (
                front.fetch_offset,
                front.next_offset,
                front.leader_epoch,
                front.size_bytes,
                fetched,
            )
            taken = zk_queue_take(self.queue, front.number)
            if taken == NULL:
                continue  # it was given up in this moment, or somebody else has it
            fetched.memory_bytes = front.size_bytes
            fetched.fetched = zk_fetched_from(&taken.runs)
            zk_chunk_free(taken)
            zk_queue_notify_pumps(self.queue)
            return made

    def await_chunk(self):
        return zk_queue_await(self.queue)

    def named_items(self):
        return list(self.items.values())

    def discard(self):
        cdef zk_chunk *dropped = NULL
        zk_queue_discard(self.queue, &dropped)
        zk_chunks_free(dropped)
        self.notify_capacity()


cdef zk_chunk *_chunk_of_set(Progress claim, data, int64_t fetch_offset) except NULL:
    """Read a set as the pump does, into a chunk."""
    cdef zk_set_limits limits
    limits.fetch_offset = max(fetch_offset, 0)
    limits.bound_bytes = limits.enough_bytes = <size_t>-1 // 8
    limits.piece_bytes = 1 << 20
    cdef zk_runs runs
    runs.items, runs.count, runs.capacity = NULL, 0, 0
    cdef const uint8_t[::1] view = data
    cdef size_t size = view.shape[0]
    cdef zk_buffer *buffer = zk_buffer_exact(size)
    if buffer == NULL:
        raise MemoryError
    if size:
        memcpy(buffer.data, &view[0], size)
    cdef zk_set_result result
    cdef zk_chunk *chunk = NULL
    with nogil:
        result = zk_read_set(buffer, 0, &limits, &runs)
        zk_buffer_drop(buffer)
        if result.status == ZK_SET_ENDS and zk_runs_settle(&runs):
            chunk = zk_chunk_new(claim.claim, limits.fetch_offset, result.next_offset, &runs)
        if chunk == NULL:
            zk_runs_free(&runs)
        else:
            chunk.leader_epoch = result.leader_epoch
    if result.status == ZK_SET_REFUSED:
        raise ValueError(f"the set is not sound at byte {result.position}")
    if chunk == NULL:
        raise MemoryError
    return chunk
