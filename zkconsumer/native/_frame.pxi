# Buffers that frames are received into, and columns; a part of _core.pyx. See csrc/buffer.h and csrc/socket.h.

from libc.errno cimport EAGAIN, EINTR, errno
from libc.string cimport strerror

cdef extern from "exchange.h" nogil:
    int64_t zk_now_ms()

cdef extern from "socket.h" nogil:
    Py_ssize_t zk_socket_fill(int socket, uint8_t *data, size_t size, int64_t deadline_ms)


def receive_into(int descriptor, uint8_t[::1] buffer not None, *, int64_t timeout_ms):
    cdef size_t size = buffer.shape[0]
    cdef int64_t deadline_ms = zk_now_ms() + timeout_ms
    cdef Py_ssize_t count = 0
    cdef int error = EINTR
    while size and error == EINTR:
        with nogil:
            count = zk_socket_fill(descriptor, &buffer[0], size, deadline_ms)
            error = errno
        if count >= 0:
            return count
        if error == EINTR:
            PyErr_CheckSignals()
    if error == EAGAIN:
        raise TimeoutError("timed out")
    if count < 0:
        raise OSError(error, strerror(error).decode())
    return count


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
