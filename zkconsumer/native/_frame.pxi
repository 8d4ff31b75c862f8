# Buffers that frames are received into, and columns; a part of _core.pyx. See csrc/buffer.h.


@cython.final
cdef class FrameBuffer:
    cdef zk_buffer *buffer

    def __cinit__(self, Py_ssize_t size):
        if size < 0:
            raise ValueError("a size is not negative")
        self.buffer = zk_buffer_pooled(<size_t>size)
        if self.buffer == NULL:
            raise MemoryError

    def __dealloc__(self):
        zk_buffer_drop(self.buffer)

    def __len__(self):
        return self.buffer.used

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.buffer.data, <Py_ssize_t>self.buffer.used, 0, flags)
