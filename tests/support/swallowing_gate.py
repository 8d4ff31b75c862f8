"""A gate in front of a broker that drops single responses, and forwards everything else."""

import socket
import struct

from tests.fakes.frame_reader import FrameReader
from tests.support.tcp_gate import CHUNK_BYTES, TcpGate
from zkconsumer.wire.api import ApiKey

_MAX_FRAME_BYTES = 1 << 28


class SwallowingGate(TcpGate):
    """A gate that drops the response to the next request of an API, when a test says so.

    Attributes:
        swallowed: the APIs of the dropped responses.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.swallowed: list[ApiKey] = []
        self._due: list[ApiKey] = []
        self._readers: dict[socket.socket, FrameReader] = {}
        self._doomed: set[tuple[socket.socket, int]] = set()

    def swallow_response(self, api: ApiKey) -> None:
        """Drop the response to the next request of this API. Thread: any."""
        self._due.append(api)

    def _forward(self, source: socket.socket) -> None:
        """Forward complete frames, except those to be dropped."""
        target = self._peers[source]
        try:
            data = source.recv(CHUNK_BYTES)
            if not data:
                self._drop(source)
                return
            reader = self._readers.setdefault(source, FrameReader(_MAX_FRAME_BYTES))
            reader.receive(data)
            while (frame := reader.next_frame()) is not None:
                if not self._vanishes(source, target, frame):
                    target.sendall(struct.pack(">i", len(frame)) + frame)
        except OSError:
            self._drop(source)

    def _vanishes(self, source: socket.socket, target: socket.socket, frame: memoryview) -> bool:
        if source.getpeername()[1] == self._target[1]:
            (correlation_id,) = struct.unpack_from(">i", frame)
            is_doomed = (source, correlation_id) in self._doomed
            self._doomed.discard((source, correlation_id))
            return is_doomed
        api, _, correlation_id = struct.unpack_from(">hhi", frame)
        if api in self._due:
            self._due.remove(ApiKey(api))
            self.swallowed.append(ApiKey(api))
            self._doomed.add((target, correlation_id))
        return False
