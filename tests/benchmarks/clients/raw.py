"""Fetches a topic over one connection and discards the bytes, as the baseline of all clients.

Sends one request after the other, decodes nothing and verifies no checksums; the next offset
follows from the fixed length of the values. A client that sends its requests early can be faster.
"""

import socket
import struct
from collections.abc import Callable

from tests.benchmarks.clients.job import Job, Stopwatch

FETCH = 1
MAX_WAIT_MS = 100
_PLAIN_ENTRY_BYTES = 26  # offset, size, checksum, magic, attributes, null key, length of the value


class RawReader:
    """Reads a topic of uncompressed messages."""

    def __init__(self, job: Job, connection: socket.socket) -> None:
        self._job = job
        self._socket = connection
        self._offsets = [0] * job.partitions
        self._entry_bytes = _PLAIN_ENTRY_BYTES + job.value_bytes
        self._buffer = memoryview(bytearray(4 + job.partitions * (job.fetch_bytes + 64) + 1024))

    def read(self) -> int:
        """Send one request and receive its response; return the number of complete messages."""
        topic = self._job.topic.encode()
        body = self._head() + struct.pack(">ih", 1, len(topic)) + topic
        body += struct.pack(">i", len(self._offsets))
        for number, offset in enumerate(self._offsets):
            body += struct.pack(">iqi", number, offset, self._job.fetch_bytes)
        self._socket.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", self._receive(4))
        return self._count(self._receive(size), len(topic))

    def _head(self) -> bytes:
        """Return the request up to its topics."""
        return struct.pack(">hhihiii", FETCH, 0, 1, -1, -1, MAX_WAIT_MS, 1)

    def _receive(self, size: int) -> memoryview:
        got = 0
        while got < size:
            more = self._socket.recv_into(self._buffer[got:size], size - got, socket.MSG_WAITALL)
            if not more:
                raise ConnectionError("the broker closed the connection")
            got += more
        return self._buffer[:size]

    def _count(self, response: memoryview, topic_bytes: int) -> int:
        at = 4 + 4 + 2 + topic_bytes + 4  # correlation, topics, name, partitions
        total = 0
        for _ in self._offsets:
            number, error, _, size = struct.unpack_from(">ihqi", response, at)
            if error:
                raise ConnectionError(f"partition {number}: error {error}")
            count = size // self._entry_bytes
            self._offsets[number] += count
            total += count
            at += 18 + size
        return total


def main(reader_of: Callable[[Job, socket.socket], RawReader] = RawReader) -> None:
    """Run the job on the command line."""
    job = Job.of_command_line()
    watch = Stopwatch()
    with socket.create_connection(job.address, 30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = reader_of(job, connection)
        count = reader.read()
        watch.first()
        while count < job.records:
            count += reader.read()
    watch.finish(count, count * job.value_bytes)


if __name__ == "__main__":
    main()
