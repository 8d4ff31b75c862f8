"""A connector that records the bytes of the last request and response."""

from zkconsumer.net.transport import Connector, Transport


class Recorder:
    """Wraps a ``Connector``; each send starts a new recording."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self.sent = b""
        self.received = b""

    def connect(self, host: str, port: int, *, timeout_ms: int) -> Transport:
        """See ``Connector``."""
        return _Recorded(self._connector.connect(host, port, timeout_ms=timeout_ms), self)


class _Recorded:
    """A ``Transport`` whose bytes are recorded."""

    def __init__(self, inner: Transport, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder
        self.set_timeout_ms = inner.set_timeout_ms
        self.close = inner.close

    @property
    def address(self) -> str:
        return self._inner.address

    def send(self, data: bytes) -> None:
        self._recorder.sent, self._recorder.received = data, b""
        self._inner.send(data)

    def receive_into(self, buffer: memoryview) -> int:
        count = self._inner.receive_into(buffer)
        self._recorder.received += bytes(buffer[:count])
        return count
