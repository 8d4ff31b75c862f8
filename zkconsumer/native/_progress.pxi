# How far a partition was read, shared by Python and C; a part of _core.pyx.

cdef inline object _offset_or_none(int64_t offset):
    return None if offset == ZK_NO_OFFSET else PyLong_FromLongLong(offset)


cdef inline int64_t _offset_of(object offset) except? -2:
    return ZK_NO_OFFSET if offset is None else offset


@cython.no_gc
cdef class Progress:
    cdef zk_claim *claim

    def __cinit__(self):
        self.claim = zk_claim_new()
        if self.claim == NULL:
            raise MemoryError

    def __dealloc__(self):
        zk_claim_drop(self.claim)

    @property
    def active(self):
        return zk_claim_is_active(self.claim)

    @active.setter
    def active(self, bint active):
        zk_claim_set_active(self.claim, active)

    @property
    def consumed_offset(self):
        return _offset_or_none(zk_claim_consumed(self.claim))

    @consumed_offset.setter
    def consumed_offset(self, offset):
        zk_claim_set_consumed(self.claim, _offset_of(offset))

    @property
    def delivered_offset(self):
        return _offset_or_none(zk_claim_delivered(self.claim))

    @delivered_offset.setter
    def delivered_offset(self, offset):
        zk_claim_set_delivered(self.claim, _offset_of(offset))

    @property
    def high_watermark(self):
        return zk_claim_high_watermark(self.claim)

    @high_watermark.setter
    def high_watermark(self, int64_t offset):
        zk_claim_set_high_watermark(self.claim, offset)

    @property
    def log_start(self):
        return zk_claim_log_start(self.claim)

    @log_start.setter
    def log_start(self, int64_t offset):
        zk_claim_set_log_start(self.claim, offset)
