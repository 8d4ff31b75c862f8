# Sets to produce, made of runs; a part of _core.pyx. See csrc/build.h.


cdef extern from "build.h" nogil:
    ctypedef struct zk_build_terms:
        int magic
        bint with_headers
        int64_t now_ms
    ctypedef struct zk_build:
        zk_build_terms terms
        uint8_t *data
        size_t used
        size_t capacity
        size_t count
        int64_t base_time
        int64_t max_time
    ctypedef enum zk_build_status:
        ZK_BUILT
        ZK_BUILD_BROKEN
        ZK_BUILD_HEADERS
        ZK_BUILD_TIMES
        ZK_BUILD_TOO_LARGE
    size_t zk_build_max_bytes(const zk_run *run)
    zk_build_status zk_build_add(zk_build *build, const zk_run *run)
    ctypedef struct zk_build_head:
        int64_t producer_id
        int32_t base_sequence
        short producer_epoch
        unsigned short attributes
        unsigned int record_count
        int64_t base_time
        int64_t max_time
    void zk_build_seal(uint8_t *batch, size_t size, const zk_build_head *head)
    bint zk_build_fits(
        const zk_run *run, size_t max_bytes, size_t max_count, size_t *count, size_t *taken
    )


cdef extern from *:
    """
    enum { ZK_BATCH_HEADER_BYTES = 61 };
    static int zk_shorten(PyObject **bytes, Py_ssize_t size) { return _PyBytes_Resize(bytes, size); }
    """
    enum:
        ZK_BATCH_HEADER_BYTES
    int zk_shorten(PyObject **bytes, Py_ssize_t size) except -1


BUILT, BUILD_HEADERS, BUILD_TIMES = ZK_BUILT, ZK_BUILD_HEADERS, ZK_BUILD_TIMES
BUILD_TOO_LARGE = ZK_BUILD_TOO_LARGE


def build_records(
    list runs not None, *, int magic, bint with_headers, int64_t now_ms, size_t front_bytes=0
):
    cdef zk_build build
    cdef zk_build_status status = ZK_BUILT
    cdef Run run
    build.terms.magic, build.terms.with_headers, build.terms.now_ms = magic, with_headers, now_ms
    build.used, build.count, build.base_time, build.max_time = front_bytes, 0, -1, -1
    build.capacity = front_bytes
    for item in runs:
        build.capacity += zk_build_max_bytes(&(<Run?>item).run)
    made = _blank(build.capacity)
    build.data = <uint8_t *><char *>made
    memset(build.data, 0, front_bytes)
    for item in runs:
        run = <Run>item
        with nogil:
            status = zk_build_add(&build, &run.run)
        if status != ZK_BUILT:
            break
    if status == ZK_BUILD_BROKEN:
        _raise_broken()
    # Nobody else has seen it: the one reference goes in, and what is shorter comes out.
    cdef PyObject *shorter = <PyObject *>made
    Py_INCREF(made)
    made = None
    zk_shorten(&shorter, <Py_ssize_t>build.used)
    made = <object>shorter
    Py_DECREF(made)
    return <int>status, made, build.count, build.base_time, build.max_time


def seal_batch(
    const uint8_t[::1] records not None,
    *,
    int attributes,
    size_t count,
    int64_t base_time,
    int64_t max_time,
    int64_t producer_id=-1,
    int producer_epoch=-1,
    int32_t base_sequence=-1,
):
    cdef size_t size = records.shape[0]
    cdef zk_build_head head
    head.producer_id, head.producer_epoch = producer_id, <short>producer_epoch
    head.base_sequence, head.attributes = base_sequence, <unsigned short>attributes
    head.record_count = <unsigned int>count
    head.base_time, head.max_time = base_time, max_time
    cdef bytes made = _blank(ZK_BATCH_HEADER_BYTES + size)
    cdef uint8_t *data = <uint8_t *><char *>made
    cdef const uint8_t *start = &records[0] if size else NULL
    with nogil:
        if size:
            memcpy(data + ZK_BATCH_HEADER_BYTES, start, size)
        zk_build_seal(data, ZK_BATCH_HEADER_BYTES + size, &head)
    return made


def pass_batch(
    Run run not None,
    *,
    int codec,
    int64_t producer_id=-1,
    int producer_epoch=-1,
    int32_t base_sequence=-1,
):
    if codec == 0 or run.run.packed_codec != codec:
        return None
    cdef zk_build_head head
    head.producer_id, head.producer_epoch = producer_id, <short>producer_epoch
    head.base_sequence, head.attributes = base_sequence, <unsigned short>codec
    head.record_count = <unsigned int>run.run.count
    head.base_time, head.max_time = run.run.base_time, run.run.append_time
    cdef size_t size = run.run.packed_size
    cdef bytes made = _blank(ZK_BATCH_HEADER_BYTES + size)
    cdef uint8_t *data = <uint8_t *><char *>made
    with nogil:
        memcpy(data + ZK_BATCH_HEADER_BYTES, run.run.buffer.data + run.run.packed_at, size)
        zk_build_seal(data, ZK_BATCH_HEADER_BYTES + size, &head)
    return made


cdef Run _opened(Run run):
    """The same records, to be compressed again."""
    cdef Run made = Run.__new__(Run)
    made.run = run.run
    zk_buffer_share(made.run.buffer)
    made.run.packed_codec = 0
    return made


def cut_set(list runs not None, size_t max_bytes):
    cdef Py_ssize_t stop = 0
    for item in runs:
        if (<Run?>item).run.packed_codec:
            break
        stop += 1
    if stop == 0 and runs:
        if (<Run>runs[0]).run.packed_size <= max_bytes:
            return runs[:1], runs[1:]
        runs = [_opened(<Run>runs[0]), *runs[1:]]  # however little its records take
    front, rest, _ = cut_runs(runs[:max(stop, 1)], max_bytes)
    return front, rest + runs[max(stop, 1) :]


def cut_runs(list runs not None, size_t max_bytes, size_t max_count=<size_t>-1):
    cdef list front = []
    cdef list rest = []
    cdef size_t count = 0, taken = 0, fits = 0, bytes_of = 0
    cdef Run run, head, tail
    cdef bint is_whole
    for at, item in enumerate(runs):
        run = <Run?>item
        with nogil:
            is_whole = zk_build_fits(
                &run.run, max_bytes - taken, max_count - count, &fits, &bytes_of
            )
        if not is_whole:
            _raise_broken()
        if not count and not fits and run.run.count and max_count:
            fits = 1  # a larger record is a set of its own
            bytes_of = max_bytes
        count += fits
        taken += bytes_of
        if fits == run.run.count:
            front.append(run)
            continue
        if fits:
            tail = Run.__new__(Run)
            tail.run = run.run
            zk_buffer_share(tail.run.buffer)
            head = tail.split(<size_t>-1, fits)
            front.append(head)
            rest.append(tail)
        else:
            rest.append(run)
        rest += runs[at + 1 :]
        break
    return front, rest, count


def offsets_of(list runs not None):
    cdef list made = []
    cdef Run run
    cdef zk_cursor cursor
    cdef zk_message message
    cdef int64_t offset = 0, start = -1, behind = -1
    cdef zk_step step
    for item in runs:
        run = <Run?>item
        if not run.run.count:
            continue
        if run.run.last_offset - run.run.first_offset == <int64_t>run.run.count - 1:
            if run.run.first_offset != behind:
                if start >= 0:
                    made.append((start, behind))
                start = run.run.first_offset
            behind = run.run.last_offset + 1
            continue
        cursor = zk_run_begin(&run.run)
        while True:
            step = zk_run_next(&cursor, &offset, &message)
            if step != ZK_MESSAGE:
                break
            if offset != behind:
                if start >= 0:
                    made.append((start, behind))
                start = offset
            behind = offset + 1
        if step == ZK_RUN_BROKEN:
            _raise_broken()
    if start >= 0:
        made.append((start, behind))
    return made
