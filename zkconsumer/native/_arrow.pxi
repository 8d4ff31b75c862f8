# Arrow columns of runs; a part of _core.pyx.

from libc.string cimport memset


cdef extern from "arrow.h" nogil:
    ctypedef struct zk_binaries:
        int32_t *ends
        uint8_t *bits
        uint8_t *data
        size_t capacity
    ctypedef struct zk_columns:
        size_t rows
        size_t row
        zk_binaries keys
        zk_binaries values
        int64_t *offsets
        int64_t *micros
        int32_t *timestamp_types
    bint zk_columns_add(zk_columns *columns, const zk_run *run)


cdef bytes _blank(size_t size, bint is_zeroed=False):
    """New bytes, to be written: there is no other reference yet."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
    if is_zeroed:
        memset(<char *>made, 0, size)
    return made


cdef object _column(size_t size, void **data):
    """New memory for a column; that of large ones is used again once the column is gone."""
    cdef FrameBuffer frame
    cdef bytes made
    if size >= ZK_SPARE_MIN_BYTES:
        frame = FrameBuffer(<Py_ssize_t>size)
        data[0] = frame.buffer.data
        return frame
    made = _blank(size)
    data[0] = <void *><char *>made
    return made


cdef tuple _binaries(zk_binaries *column, size_t rows, size_t capacity, size_t nulls):
    """The validity bitmap, if any, the offsets and the data of a column."""
    ends = _column((rows + 1) * sizeof(int32_t), <void **>&column.ends)
    data = _column(capacity, <void **>&column.data)
    bits = None
    column.ends[0] = 0
    column.capacity = capacity
    if nulls:
        bits = _blank((rows + 7) // 8, True)
        column.bits = <uint8_t *><char *>bits
    return bits, ends, data


def arrow_columns(
    list runs not None,
    *,
    bint keys=True,
    bint values=True,
    bint offsets=True,
    bint timestamps=True,
    bint timestamp_types=True,
):
    cdef size_t rows = 0, key_bytes = 0, value_bytes = 0, null_keys = 0, null_values = 0
    cdef Run run
    for item in runs:
        run = <Run?>item
        rows += run.run.count
        key_bytes += run.run.key_bytes if keys else 0
        value_bytes += run.run.value_bytes if values else 0
        null_keys += run.run.null_keys
        null_values += run.run.null_values
    if max(key_bytes, value_bytes, rows) > <size_t>0x7fffffff:
        raise OverflowError("more than 2 GiB in one column")
    cdef zk_columns columns
    # Columns that are not wanted stay null.
    memset(&columns, 0, sizeof(columns))
    columns.rows = rows
    made_keys = _binaries(&columns.keys, rows, key_bytes, null_keys) if keys else None
    made_values = _binaries(&columns.values, rows, value_bytes, null_values) if values else None
    made_offsets = micros = types = None
    if offsets:
        made_offsets = _column(rows * sizeof(int64_t), <void **>&columns.offsets)
    if timestamps:
        micros = _column(rows * sizeof(int64_t), <void **>&columns.micros)
    if timestamp_types:
        types = _column(rows * sizeof(int32_t), <void **>&columns.timestamp_types)
    if keys or values or offsets or timestamps or timestamp_types:
        _fill_columns(runs, &columns)
    return rows, made_keys, made_values, made_offsets, micros, types


cdef int _fill_columns(list runs, zk_columns *columns) except -1:
    """Every row of every run."""
    cdef Run run
    cdef bint is_whole = True
    for item in runs:
        run = <Run>item
        with nogil:
            is_whole = zk_columns_add(columns, &run.run)
        if not is_whole:
            break
    if not is_whole or columns.row != columns.rows:
        _raise_broken()
    return 0
