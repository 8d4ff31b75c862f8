# What a poll gives, in C; a part of _core.pyx. `records.consumer_record` is the definition.

from cpython.unicode cimport PyUnicode_DecodeUTF8

from zkconsumer.model import RecordFields as _RecordFields

cdef tuple _FIELDS = _RecordFields._fields


# Not tracked by the garbage collector, as messages are not: see there.
@cython.no_gc
@cython.freelist(512)
cdef class ConsumerRecord:
    cdef readonly object topic
    cdef readonly object partition
    cdef readonly object raw_key
    cdef readonly object raw_value
    cdef object packed_headers  # as they lie there, or null
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef int32_t epoch
    cdef signed char time_kind  # as of messages

    def __init__(self):
        raise TypeError("records come out of slices")

    @property
    def topic_partition(self):
        return _TopicPartition(self.topic, self.partition)

    @property
    def timestamp_type(self):
        return _timestamp_type(self.time_kind)

    @property
    def leader_epoch(self):
        return self.epoch

    @property
    def checksum(self):
        return None

    @property
    def headers(self):
        return [] if self.packed_headers is None else _headers(self.packed_headers)

    @property
    def serialized_key_size(self):
        return -1 if self.raw_key is None else len(<bytes>self.raw_key)

    @property
    def serialized_value_size(self):
        return -1 if self.raw_value is None else len(<bytes>self.raw_value)

    @property
    def serialized_header_size(self):
        if self.packed_headers is None:
            return -1
        return sum([len(name.encode()) + len(value or b"") for name, value in self.headers])

    def __len__(self):
        return len(<tuple>_FIELDS)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return tuple([getattr(self, name) for name in _FIELDS[index]])
        return getattr(self, _FIELDS[index])

    def __iter__(self):
        return iter(self[:])

    def index(self, value, *bounds):
        return self[:].index(value, *bounds)

    def count(self, value):
        return self[:].count(value)

    @property
    def _fields(self):
        return _FIELDS

    def _asdict(self):
        return dict(zip(_FIELDS, self[:]))

    def _replace(self, **named):
        return _RecordFields._make(self[:])._replace(**named)

    def __eq__(self, other):
        if isinstance(other, tuple):
            return len(other) == len(<tuple>_FIELDS) and self[:] == other
        # One of Python's knows how to compare itself with ours.
        if not isinstance(other, ConsumerRecord):
            return NotImplemented
        cdef ConsumerRecord one = other
        return (
            self.offset == one.offset
            and self.timestamp == one.timestamp
            and self.epoch == one.epoch
            and self.time_kind == one.time_kind
            and self.raw_key == one.raw_key
            and self.raw_value == one.raw_value
            and self.partition == one.partition
            and self.topic == one.topic
            and self.headers == one.headers
        )

    def __hash__(self):
        return hash((self.topic, self.partition, self.offset))

    def __repr__(self):
        return (
            f"ConsumerRecord(topic={self.topic!r}, partition={self.partition}, "
            f"leader_epoch={self.leader_epoch}, offset={self.offset}, "
            f"timestamp={self.timestamp}, timestamp_type={int(self.timestamp_type)}, "
            f"key={self.raw_key!r}, value={self.raw_value!r}, headers={self.headers!r})"
        )


# Tracked, unlike the others: a decoder may be a method of an object that holds the record.
@cython.final
cdef class DecodedConsumerRecord(ConsumerRecord):
    cdef Origin origin

    @property
    def key(self):
        return _deserialized(
            self, self.origin.key_decoder, self.origin.key_takes_headers, self.raw_key
        )

    @property
    def value(self):
        return _deserialized(
            self, self.origin.value_decoder, self.origin.value_takes_headers, self.raw_value
        )


cdef inline object _deserialized(ConsumerRecord record, object make, bint takes_headers, object data):
    if make is None:
        return data
    if data is not None:
        return make(record.headers, data) if takes_headers else make(data)
    try:
        return make(record.headers, None) if takes_headers else make(None)
    except (TypeError, AttributeError):
        return None


cdef _add_record_slots():
    """As for messages: see _slots.pxi."""
    cdef ConsumerRecord probe = ConsumerRecord.__new__(ConsumerRecord)
    probe.topic, probe.partition = object(), object()
    probe.raw_key, probe.raw_value = object(), object()
    cdef Py_ssize_t topic_at = _offset_in(probe, probe.topic, ConsumerRecord.__basicsize__)
    cdef Py_ssize_t partition_at = _offset_in(probe, probe.partition, ConsumerRecord.__basicsize__)
    cdef Py_ssize_t key_at = _offset_in(probe, probe.raw_key, ConsumerRecord.__basicsize__)
    cdef Py_ssize_t value_at = _offset_in(probe, probe.raw_value, ConsumerRecord.__basicsize__)
    if min(topic_at, partition_at, key_at, value_at) < 0:
        raise SystemError("the native core does not know the layout of its own records")
    cdef PyTypeObject *kind = <PyTypeObject *>ConsumerRecord
    zk_add_slot(kind, "topic", topic_at)
    zk_add_slot(kind, "partition", partition_at)
    zk_add_slot(kind, "key", key_at)
    zk_add_slot(kind, "value", value_at)
    zk_add_slot(kind, "raw_key", key_at)
    zk_add_slot(kind, "raw_value", value_at)


_add_record_slots()


cdef list _headers(bytes packed):
    """Name and value of each header; a name that is no UTF-8 as `bytes.decode` replaces it."""
    cdef list made = []
    cdef const uint8_t *at = <const uint8_t *><const char *>packed
    cdef const uint8_t *end = at + len(packed)
    cdef const uint8_t *name
    cdef const uint8_t *value
    cdef int32_t name_bytes = 0, value_bytes = 0
    while at != end:
        if not zk_header_next(&at, end, &name, &name_bytes, &value, &value_bytes):
            _raise_broken()
        text = PyUnicode_DecodeUTF8(<const char *>name, name_bytes, "replace")
        made.append((text, _blob(value, value_bytes)))
    return made


cdef inline object _packed_headers(const zk_message *found):
    if found.header_count == 0:
        return None
    return PyBytes_FromStringAndSize(
        <const char *>found.headers, found.headers_end - found.headers
    )


cdef inline ConsumerRecord _consumer_record(
    const zk_run *run, int64_t offset, const zk_message *found, Origin origin
):
    cdef ConsumerRecord made
    if origin.decodes:
        made = DecodedConsumerRecord.__new__(DecodedConsumerRecord)
        (<DecodedConsumerRecord>made).origin = origin
    else:
        made = ConsumerRecord.__new__(ConsumerRecord)
    made.raw_key = _blob(found.key, found.key_bytes)
    made.raw_value = _blob(found.value, found.value_bytes)
    made.time_kind = _time_kind(run, found)
    made.timestamp = _timestamp(run, found)
    if found.header_count:
        made.packed_headers = _packed_headers(found)
    made.epoch = run.leader_epoch
    made.offset = offset
    made.topic = origin.topic
    made.partition = origin.partition
    return made
