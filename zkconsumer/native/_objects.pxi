# Records, messages and runs as Python sees them; a part of _core.pyx.

cdef inline object _blob(const uint8_t *data, int32_t size):
    return None if size < 0 else PyBytes_FromStringAndSize(<const char *>data, size)


cdef inline int64_t _timestamp(const zk_run *run, const zk_message *message) noexcept:
    if run.has_append_time and message.magic == 1:
        return run.append_time
    return message.timestamp


cdef inline signed char _time_kind(const zk_run *run, const zk_message *message) noexcept:
    """Who set the timestamp, as the numbers of `TimestampType`."""
    if message.magic == 0:
        return -1
    return 1 if run.has_append_time or message.attributes & ZK_LOG_APPEND_MASK else 0


cdef inline object _timestamp_type(signed char time_kind):
    return _NO_TYPE if time_kind < 0 else _APPENDED if time_kind else _CREATED


cdef _raise_broken():
    raise BufferError("the bytes of a record set changed after they were checked")


@cython.final
cdef class Origin:
    cdef readonly object topic
    cdef readonly object partition
    cdef readonly object key_decoder
    cdef readonly object value_decoder
    cdef bint decodes
    # Of polls only; see `deserialized` in records.consumer_record.
    cdef bint key_takes_headers
    cdef bint value_takes_headers

    def __init__(self, topic, partition, key_decoder=None, value_decoder=None):
        self.topic = topic
        self.partition = partition
        self.key_decoder = key_decoder
        self.value_decoder = value_decoder
        self.decodes = key_decoder is not None or value_decoder is not None
        self.key_takes_headers = getattr(key_decoder, "takes_headers", False) is True
        self.value_takes_headers = getattr(value_decoder, "takes_headers", False) is True


# Not tracked by the garbage collector: it holds bytes, numbers and its origin. Objects of this class
# come and go by the million, and each collection would walk all that are alive.
# Without decoders `key` and `value` are what is held: see _slots.pxi.
@cython.no_gc
@cython.freelist(256)
cdef class Message:
    cdef Origin origin
    cdef readonly object raw_key
    cdef readonly object raw_value
    # No object: threads without a GIL would count its references one after the other.
    cdef signed char time_kind
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp

    def __init__(self):
        raise TypeError("messages come out of runs")

    @property
    def _origin(self):
        return self.origin

    @property
    def timestamp_type(self):
        return _timestamp_type(self.time_kind)

    @property
    def topic(self):
        return self.origin.topic

    @property
    def partition(self):
        return self.origin.partition

    def __repr__(self):
        return (
            f"MessageAndMetadata(topic={self.origin.topic!r}, partition={self.origin.partition}, "
            f"offset={self.offset}, key={self.raw_key!r}, value={self.raw_value!r})"
        )


@cython.final
@cython.no_gc
cdef class DecodedMessage(Message):
    @property
    def key(self):
        if self.raw_key is None or self.origin.key_decoder is None:
            return self.raw_key
        return self.origin.key_decoder(self.raw_key)

    @property
    def value(self):
        if self.raw_value is None or self.origin.value_decoder is None:
            return self.raw_value
        return self.origin.value_decoder(self.raw_value)


@cython.final
cdef class Run:
    cdef zk_run run

    def __init__(self):
        raise TypeError("runs come out of readers")

    def __dealloc__(self):
        zk_buffer_drop(self.run.buffer)

    def __len__(self):
        return self.run.count

    @property
    def first_offset(self):
        return self.run.first_offset

    @property
    def last_offset(self):
        return self.run.last_offset

    @property
    def size_bytes(self):
        return self.run.size

    @property
    def held_bytes(self):
        return max(self.run.buffer.capacity, self.run.buffer.used)

    @property
    def key_bytes(self):
        return self.run.key_bytes

    @property
    def value_bytes(self):
        return self.run.value_bytes

    @property
    def null_key_count(self):
        return self.run.null_keys

    @property
    def null_value_count(self):
        return self.run.null_values

    @property
    def timestamp_count(self):
        return self.run.timestamps

    @property
    def leader_epoch(self):
        return self.run.leader_epoch

    @cython.critical_section
    def split(self, size_t max_bytes, size_t max_count=<size_t>-1):
        cdef Run head = Run.__new__(Run)
        if not zk_run_split(&self.run, max_bytes, max_count, &head.run):
            _raise_broken()
        return head

    def __iter__(self):
        return iter(self.records())

    def records(self):
        cdef list made = []
        cdef zk_cursor cursor = zk_run_begin(&self.run)
        cdef zk_message message
        cdef int64_t offset
        cdef zk_step step
        while True:
            step = zk_run_next(&cursor, &offset, &message)
            if step != ZK_MESSAGE:
                break
            made.append(_record(&self.run, offset, &message))
        if step == ZK_RUN_BROKEN:
            _raise_broken()
        return made

    def headers(self):
        cdef dict made = {}
        cdef zk_cursor cursor = zk_run_begin(&self.run)
        cdef zk_message found
        cdef int64_t offset = 0
        if self.run.with_headers:
            while zk_run_next(&cursor, &offset, &found) == ZK_MESSAGE:
                if found.header_count:
                    made[offset] = tuple(_headers(_packed_headers(&found)))
        return made


cdef inline void _set_item(object made, Py_ssize_t at, object item):
    Py_INCREF(item)  # the tuple takes one over
    PyTuple_SET_ITEM(made, at, item)


cdef object _record(const zk_run *run, int64_t offset, const zk_message *message):
    """Make a ``model.Record``, as its own constructor would."""
    cdef int64_t timestamp = _timestamp(run, message)
    cdef object made = zk_new_tuple(<PyTypeObject *>_Record, 5)
    _set_item(made, 0, PyLong_FromLongLong(offset))
    _set_item(made, 1, _blob(message.key, message.key_bytes))
    _set_item(made, 2, _blob(message.value, message.value_bytes))
    _set_item(made, 3, _NO_TIMESTAMP if timestamp == -1 else PyLong_FromLongLong(timestamp))
    _set_item(made, 4, _timestamp_type(_time_kind(run, message)))
    return made


cdef inline Message _message(
    const zk_run *run, int64_t offset, const zk_message *found, Origin origin
):
    cdef Message message
    if origin.decodes:
        message = DecodedMessage.__new__(DecodedMessage)
    else:
        message = Message.__new__(Message)
    message.raw_key = _blob(found.key, found.key_bytes)
    message.raw_value = _blob(found.value, found.value_bytes)
    message.time_kind = _time_kind(run, found)
    message.timestamp = _timestamp(run, found)
    message.offset = offset
    message.origin = origin
    return message
