"""Fetches a topic and discards the bytes, as the baseline on brokers of 0.11 and later.

Like ``raw``, but with Fetch v4, so that the broker sends the record batches as they are in its log.
Only the header of a batch is read: for the number of its records, and the next offset.
"""

import socket
import struct

from tests.benchmarks.clients.job import Job
from tests.benchmarks.clients.raw import FETCH, MAX_WAIT_MS, RawReader, main

_VERSION = 4
_MAX_BYTES = 50 << 20  # of a response, the consumers' default
_BATCH_HEAD = struct.Struct(">qi")  # base offset, size of what follows
_LAST_DELTA_AT, _COUNT_AT, _HEAD_BYTES = 23, 57, 61


class BatchReader(RawReader):
    """Reads a topic of record batches (magic 2)."""

    def __init__(self, job: Job, connection: socket.socket) -> None:
        super().__init__(job, connection)
        self._buffer = memoryview(bytearray(job.partitions * (job.fetch_bytes + 512) + (1 << 20)))

    def _head(self) -> bytes:
        head = struct.pack(">hhih", FETCH, _VERSION, 1, -1)
        return head + struct.pack(">iiiib", -1, MAX_WAIT_MS, 1, _MAX_BYTES, 0)

    def _count(self, response: memoryview, topic_bytes: int) -> int:
        at = 4 + 4 + 4 + 2 + topic_bytes + 4  # correlation, throttle, topics, name, partitions
        total = 0
        for _ in self._offsets:
            number, error, _, _, aborted = struct.unpack_from(">ihqqi", response, at)
            if error:
                raise ConnectionError(f"partition {number}: error {error}")
            at += 26 + 16 * max(0, aborted)
            (size,) = struct.unpack_from(">i", response, at)
            at += 4
            total += self._count_batches(number, response[at : at + max(0, size)])
            at += max(0, size)
        return total

    def _count_batches(self, number: int, data: memoryview) -> int:
        at = total = 0
        while at + _HEAD_BYTES <= len(data):
            base, size = _BATCH_HEAD.unpack_from(data, at)
            if at + 12 + size > len(data):
                break  # the response ends in the middle of this batch
            (last_delta,) = struct.unpack_from(">i", data, at + _LAST_DELTA_AT)
            (count,) = struct.unpack_from(">i", data, at + _COUNT_AT)
            self._offsets[number] = base + last_delta + 1
            total += count
            at += 12 + size
        return total


if __name__ == "__main__":
    main(BatchReader)
