# Sets of any magic, read into runs that wait for their reader; a part of _core.pyx. See csrc/batches.h.

from libc.stdlib cimport free, malloc


cdef zk_committed *_filter_of(list aborted) except NULL:
    """A filter for pairs of a first offset and a producer."""
    cdef size_t count = len(aborted), at = 0
    cdef zk_aborted *found = <zk_aborted *>malloc((count + 1) * sizeof(zk_aborted))
    cdef zk_committed *made = NULL
    if found == NULL:
        raise MemoryError
    try:
        for first_offset, producer_id in aborted:
            found[at].first_offset = first_offset
            found[at].producer_id = producer_id
            at += 1
        made = zk_committed_new(found, count)
    finally:
        free(found)
    if made == NULL:
        raise MemoryError
    return made


@cython.final
cdef class SetReader:
    cdef zk_reader *reader

    def __cinit__(
        self,
        data,
        *,
        int64_t fetch_offset,
        size_t bound_bytes,
        size_t enough_bytes,
        list aborted=None,
        size_t piece_bytes=1 << 20,
        int kept_codec=0,
    ):
        if fetch_offset < 0:
            raise ValueError("a fetch offset is not negative")
        cdef zk_set_limits limits
        limits.fetch_offset = fetch_offset
        limits.bound_bytes = bound_bytes
        limits.enough_bytes = enough_bytes
        limits.piece_bytes = max(piece_bytes, <size_t>4096)
        cdef zk_committed *committed = NULL
        cdef zk_buffer *buffer = _buffer_around(data)
        try:
            if aborted is not None:
                committed = _filter_of(aborted)
            self.reader = zk_reader_new(buffer, &limits, committed)
            if self.reader == NULL:
                zk_committed_free(committed)
                raise MemoryError
            self.reader.kept_codec = kept_codec
        finally:
            zk_buffer_drop(buffer)

    def __dealloc__(self):
        zk_reader_free(self.reader)

    def read(self):
        cdef zk_set_status status
        with nogil:
            status = zk_reader_read(self.reader)
        if status == ZK_SET_NO_MEMORY:
            raise MemoryError
        return <int>status

    @property
    def position(self):
        return self.reader.position

    @property
    def next_offset(self):
        return self.reader.walk.next_offset

    @property
    def remaining_bytes(self):
        return self.reader.walk.remaining_bytes

    @property
    def last_leader_epoch(self):
        return self.reader.last_leader_epoch

    def transactions(self):
        cdef zk_committed *filter = self.reader.committed
        cdef size_t at
        if filter == NULL:
            return None
        to_come = [
            (filter.to_come[at].first_offset, filter.to_come[at].producer_id)
            for at in range(filter.next, filter.count)
        ]
        opened = [
            filter.producers[at] for at in range(filter.producer_count) if filter.is_open[at]
        ]
        return to_come, opened

    def fetched(self):
        cdef Fetched made = Fetched.__new__(Fetched)
        made.memory_bytes = zk_runs_charge(&self.reader.runs)
        made.fetched = zk_fetched_from(&self.reader.runs)
        return made


@cython.final
cdef class Fetched:
    cdef zk_fetched fetched
    cdef readonly size_t memory_bytes

    def __init__(self):
        raise TypeError("fetched runs come out of readers")

    def __dealloc__(self):
        zk_fetched_free(&self.fetched)

    def __len__(self):
        return self.fetched.left

    @property
    def first_offset(self):
        if not self.fetched.left:
            return None
        return self.fetched.runs.items[self.fetched.first].first_offset

    @property
    def last_offset(self):
        if not self.fetched.left:
            return None
        return self.fetched.runs.items[self.fetched.runs.count - 1].last_offset

    @cython.critical_section
    def take(self, size_t count):
        cdef Runs made = Runs.__new__(Runs)
        cdef zk_taking taking = zk_fetched_take(&self.fetched, count, &made.runs)
        if taking == ZK_TAKE_NO_MEMORY:
            raise MemoryError
        if taking == ZK_TAKE_BROKEN:
            _raise_broken()
        return made


cdef _fill(object made, Py_ssize_t *index, const zk_run *run, Py_ssize_t count, Origin origin):
    """Make the records of a run into their indices in a new list."""
    cdef zk_cursor cursor = zk_run_begin(run)
    cdef zk_message found
    cdef int64_t offset = 0
    cdef zk_step step
    cdef ConsumerRecord record
    while True:
        step = zk_run_next(&cursor, &offset, &found)
        if step != ZK_MESSAGE:
            break
        if index[0] == count:
            _raise_broken()
        record = _consumer_record(run, offset, &found, origin)
        Py_INCREF(record)  # the list takes one over
        PyList_SET_ITEM(made, index[0], record)
        index[0] += 1
    if step == ZK_RUN_BROKEN:
        _raise_broken()


cdef _add_headers(dict made, Py_ssize_t index, const zk_run *run):
    """Find the headers of a run's records, by their indices."""
    cdef zk_cursor cursor = zk_run_begin(run)
    cdef zk_message found
    cdef int64_t offset = 0
    while zk_run_next(&cursor, &offset, &found) == ZK_MESSAGE:
        if found.header_count:
            made[index] = tuple(_headers(_packed_headers(&found)))
        index += 1
