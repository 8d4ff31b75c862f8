# Hashes of rows that lie in Arrow columns; a part of _core.pyx.

cdef extern from "row_hash.h" nogil:
    ctypedef struct zk_hashed_binaries:
        const uint8_t *bits
        const int32_t *ends
        const uint8_t *data
        size_t size
    ctypedef struct zk_hashed_rows:
        size_t first
        size_t rows
        const int64_t *offsets
        zk_hashed_binaries keys
        zk_hashed_binaries values
        const uint8_t *time_bits
        const int64_t *micros
        const int32_t *timestamp_types
    bint zk_hash_rows(const zk_hashed_rows *rows, uint64_t *hashes)


cdef const uint8_t *_held(const uint8_t[::1] buffer, size_t least) except? NULL:
    """The bytes of a buffer that has so many at least; null for none."""
    if buffer is None:
        return NULL
    if <size_t>buffer.shape[0] < least:
        raise ValueError("a buffer is shorter than its column")
    return &buffer[0] if buffer.shape[0] else NULL


cdef int _take_binaries(zk_hashed_binaries *column, tuple buffers, size_t rows) except -1:
    cdef const uint8_t[::1] bits, ends, data
    bits, ends, data = buffers
    column.bits = _held(bits, (rows + 7) // 8)
    column.ends = <const int32_t *>_held(ends, (rows + 1) * sizeof(int32_t))
    column.data = _held(data, 0)
    column.size = 0 if data is None else data.shape[0]
    return 0


def hash_rows(
    size_t first,
    size_t count,
    const uint8_t[::1] offsets not None,
    tuple keys not None,
    tuple values not None,
    tuple times,
    const uint8_t[::1] timestamp_types not None,
):
    cdef zk_hashed_rows rows
    cdef size_t behind = first + count
    cdef const uint8_t[::1] time_bits, micros
    cdef bytes hashes = _blank(count * sizeof(uint64_t))
    cdef uint64_t *made = <uint64_t *><char *>hashes
    cdef bint is_whole
    if not count:
        return hashes
    memset(&rows, 0, sizeof(rows))
    rows.first, rows.rows = first, count
    rows.offsets = <const int64_t *>_held(offsets, behind * sizeof(int64_t))
    _take_binaries(&rows.keys, keys, behind)
    _take_binaries(&rows.values, values, behind)
    rows.timestamp_types = <const int32_t *>_held(timestamp_types, behind * sizeof(int32_t))
    if times is not None:
        time_bits, micros = times
        rows.time_bits = _held(time_bits, (behind + 7) // 8)
        rows.micros = <const int64_t *>_held(micros, behind * sizeof(int64_t))
    if rows.keys.ends == NULL or rows.values.ends == NULL:
        raise ValueError("a column of binaries has no offsets")
    with nogil:
        is_whole = zk_hash_rows(&rows, made)
    if not is_whole:
        raise ValueError("a binary lies outside of its column's data")
    return hashes
