# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""The Python interface of the native core; ``_core.pyi`` has the types and documentation.

Nothing is decided here: ``csrc/batches.c`` reads sets, this makes objects of them.

It may run without a GIL (0065): objects whose parts must change together do so in their critical
section, which costs nothing where there is a GIL.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.long cimport PyLong_FromLongLong
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset
from posix.time cimport clock_gettime, timespec
from posix.types cimport clockid_t

from zkconsumer.native._csrc cimport *

from zkconsumer.model import Record as _Record
from zkconsumer.model import TimestampType as _TimestampType
from zkconsumer.model import TopicPartition as _TopicPartition

cdef extern from *:
    """
    static PyObject *zk_new_tuple(PyTypeObject *kind, Py_ssize_t size) {
        return kind->tp_alloc(kind, size); /* all its items null */
    }
    """
    object zk_new_tuple(PyTypeObject *kind, Py_ssize_t size)


cdef object _version_or_none(const char *version):
    return None if version == NULL else version.decode()


zk_crc32_choose()
zk_crc32c_choose()
CRC32_NAME = zk_crc32_name().decode()
CRC32C_NAME = zk_crc32c_name().decode()
LIBRARIES = {
    "zlib": _version_or_none(zk_zlib_version()),
    "lz4": _version_or_none(zk_lz4_version()),
    "zstd": _version_or_none(zk_zstd_version()),
}
ENDS, FULL, REFUSED = ZK_SET_ENDS, ZK_SET_FULL, ZK_SET_REFUSED

cdef object _NO_TYPE = _TimestampType.NONE
cdef object _CREATED = _TimestampType.CREATE_TIME
cdef object _APPENDED = _TimestampType.LOG_APPEND_TIME
cdef object _NO_TIMESTAMP = -1


@cython.final
cdef class _Export:
    """The bytes of a Python object, held for as long as a C buffer needs them."""

    cdef Py_buffer view
    cdef bint is_held

    def __cinit__(self, object data not None):
        PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
        self.is_held = True

    def __dealloc__(self):
        if self.is_held:
            PyBuffer_Release(&self.view)


cdef void _release_export(void *owner) noexcept with gil:
    Py_DECREF(<object>owner)


cdef zk_buffer *_buffer_around(object data) except NULL:
    """A C buffer around a Python one; what could change under our hands is copied first."""
    cdef _Export export = _Export(data)
    if not export.view.readonly:
        export = _Export(bytes(data))
    cdef zk_buffer *buffer = zk_buffer_around(
        <const uint8_t *>export.view.buf, export.view.len, _release_export, <void *>export
    )
    if buffer == NULL:
        raise MemoryError
    Py_INCREF(export)
    return buffer


include "_objects.pxi"
include "_slots.pxi"
include "_progress.pxi"


def crc32(const uint8_t[::1] data not None, unsigned int value=0, *, portable=False):
    cdef size_t size = data.shape[0]
    cdef const uint8_t *start = &data[0] if size else NULL
    return zk_crc32_portable(value, start, size) if portable else zk_crc32(value, start, size)


def crc32c(const uint8_t[::1] data not None, unsigned int value=0, *, portable=False):
    cdef size_t size = data.shape[0]
    cdef const uint8_t *start = &data[0] if size else NULL
    return zk_crc32c_portable(value, start, size) if portable else zk_crc32c(value, start, size)


def decompress(int codec, const uint8_t[::1] data not None, *, int magic, size_t max_bytes):
    cdef size_t size = data.shape[0]
    cdef zk_buffer *buffer = zk_buffer_new(0)
    if buffer == NULL:
        raise MemoryError
    cdef zk_sink sink
    sink.buffer = buffer
    sink.limit = min(max_bytes, <size_t>-1 // 8)
    cdef zk_decoded decoded = ZK_REFUSED
    try:
        if size:
            with nogil:
                decoded = zk_decompress(codec, &data[0], size, magic, &sink)
        if decoded == ZK_NO_MEMORY:
            raise MemoryError
        return None if decoded == ZK_REFUSED else buffer.data[: buffer.used]
    finally:
        zk_buffer_drop(buffer)


cdef list _runs_of(const zk_runs *runs):
    cdef list made = []
    cdef Run run
    cdef size_t at
    for at in range(runs.count):
        run = Run.__new__(Run)
        run.run = runs.items[at]
        zk_buffer_share(run.run.buffer)
        made.append(run)
    return made


def look_ahead(const uint8_t[::1] data not None, int64_t fetch_offset):
    cdef size_t size = data.shape[0]
    cdef const uint8_t *start = &data[0] if size else NULL
    cdef zk_order order = zk_order(0, fetch_offset, True, 0, ZK_NO_LEADER_EPOCH)
    cdef bint rises
    with nogil:
        rises = zk_offsets_rise(start, size, INT64_MAX, &order)
    if not rises or not order.position or not zk_can_decompress_all(order.codecs):
        return None
    needed_bytes = zk_cut_off_bytes(start, size, order.position)
    return order.low, order.leader_epoch, needed_bytes, order.codecs >> 1 != 0


def offsets_rise(
    const uint8_t[::1] data not None,
    *,
    size_t position,
    int64_t low,
    bint is_first,
    int64_t end,
):
    cdef size_t size = data.shape[0]
    cdef zk_order order = zk_order(position, low, is_first, 0, ZK_NO_LEADER_EPOCH)
    cdef bint rises
    with nogil:
        rises = zk_offsets_rise(&data[0] if size else NULL, size, end, &order)
    return None if rises else (order.position, order.low, order.is_first)


include "_frame.pxi"
include "_queue.pxi"
include "_cursor.pxi"
include "_pump.pxi"
include "_arrow.pxi"
include "_build.pxi"
include "_hashes.pxi"
include "_consumer_records.pxi"
include "_fetched.pxi"
include "_iteration.pxi"
