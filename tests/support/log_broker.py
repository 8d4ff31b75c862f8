"""A broker over real TCP that serves the exact bytes of its logs, and misbehaves on demand.

Unlike the fake brokers it accepts logs that no broker should have: damaged, truncated, nested. It
responds to one request after the other, in pieces of any size.
"""

import contextlib
import functools
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from tests.fakes.loopback import LOOPBACK
from tests.support.all_requests import decode_request
from tests.support.markers import build_marker
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Broker, Record, TimestampType, TopicPartition
from zkconsumer.records.batch_header import MAGIC
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.entries import HEADER_BYTES
from zkconsumer.records.transactions import Marker
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.codec import RequestFrame, encode_response
from zkconsumer.wire.messages.fetch import (
    FIRST_SOFT_BOUNDS,
    FetchedPartition,
    FetchedTopic,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)


class Log:
    """The entries of one partition, as bytes, each with its last offset."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, bytes]] = []
        self.start = self.end = 0
        self.error = ErrorCode.NONE

    def add(
        self, values: Sequence[bytes | None], codec: Codec = Codec.NONE, magic: int = 0
    ) -> None:
        """Append messages: as one entry with a codec or in magic 2, else as an entry each."""
        time_type = TimestampType.CREATE_TIME if magic else TimestampType.NONE
        records = [
            Record(self.end + at, None, value, 1_000 + at if magic else -1, time_type)
            for at, value in enumerate(values)
        ]
        self.end += len(records)
        if magic == MAGIC:
            self.entries.append((self.end - 1, build_batch(records, codec=codec)))
            return
        data = build_message_set(records, codec=codec, magic=magic)
        while data:
            size = HEADER_BYTES + int.from_bytes(data[8:12], "big")
            self.entries.append((int.from_bytes(data[:8], "big"), data[:size]))
            data = data[size:]

    def add_marker(self, kind: Marker = Marker.COMMIT) -> None:
        """Append the control batch that ends a transaction."""
        traits = BatchTraits(producer_id=7, producer_epoch=0, is_transactional=True)
        self.entries.append((self.end, build_marker(kind, self.end, timestamp=1, traits=traits)))
        self.end += 1

    def damage(self, entry: int, at: int, flip: int = 0xFF) -> None:
        """Flip bits of one byte after the header of an entry.

        (A reader would wait for ever for an entry whose size in the header is too large.)
        """
        offset, data = self.entries[entry]
        changed = bytearray(data)
        changed[HEADER_BYTES + at % (len(data) - HEADER_BYTES)] ^= flip
        self.entries[entry] = (offset, bytes(changed))

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return the bytes of a fetch, from the entry with that offset on, truncated to a size."""
        pieces: list[bytes] = []
        left = max_bytes
        for last, data in self.entries:
            if last >= offset and left > 0:
                pieces.append(data[:left])
                left -= len(pieces[-1])
        return b"".join(pieces)

    def first_size(self, offset: int) -> int:
        """The size of the entry with that offset; 0 if there is none."""
        return next((len(data) for last, data in self.entries if last >= offset), 0)


class _ResponseCapacity:
    """How brokers from 0.10.1 on fill a response: in order, and the first entry completely."""

    def __init__(self, max_bytes: int) -> None:
        self._left_bytes = max_bytes
        self._is_empty = True

    def for_part(self, max_bytes: int, first_bytes: int) -> int:
        """The most bytes for a partition whose first entry has this size."""
        most_bytes = min(max_bytes, max(0, self._left_bytes))
        if first_bytes <= most_bytes:
            return most_bytes
        return first_bytes if self._is_empty else 0

    def take(self, size: int) -> None:
        """Count bytes that were added to the response."""
        self._left_bytes -= size
        self._is_empty = self._is_empty and not size


class LogBroker:
    """Serves the partitions of topic t. Use it as a context manager.

    Attributes:
        logs: the logs by partition.
        requests: every fetch request, in order.
        frames: the frames of these requests.
        versions: the versions of these requests.
        throttle_ms: the throttle times of the next responses, in order.
        errors: the error codes of the next responses as a whole, in order.
        left_out: the partitions that the next responses leave out, in order.
        pieces: the sizes of pieces in which responses are sent, repeatedly; empty: at once.
        pause_ms: the pause between two pieces.
        mangle: changes a response's bytes before it is sent.
        silences: the number of next requests that get no response.
        connections: the number of connections that it accepted.
        sent_bytes: the size of what it sent.
        cuts: the sizes to which the next responses are truncated, before the connection is closed.
    """

    def __init__(self, partitions: int = 1, topic: str = "t") -> None:
        self.logs = [Log() for _ in range(partitions)]
        self.topic = topic
        self.requests: list[FetchRequest] = []
        self.frames: list[bytes] = []
        self.versions: list[int] = []
        self.throttle_ms: list[int] = []
        self.errors: list[ErrorCode] = []
        self.left_out: list[set[int]] = []
        self.connections = self.sent_bytes = 0
        self.pieces: Sequence[int] = ()
        self.pause_ms = 0
        self.mangle: Callable[[bytes], bytes] = bytes
        self.silences = 0
        self.cuts: list[int] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._server = socket.create_server((LOOPBACK, 0))
        self._open: list[socket.socket] = []
        self._scope = ThreadScope("log-broker")

    @property
    def address(self) -> Broker:
        """The broker's address."""
        return Broker(0, LOOPBACK, self._server.getsockname()[1])

    def partition(self, number: int) -> TopicPartition:
        """The topic-partition with this number."""
        return TopicPartition(self.topic, number)

    def requested(self, request: int = -1) -> dict[int, FetchPartition]:
        """The entries of a request by partition."""
        topics = self.requests[request].topics
        return {
            partition.partition: partition for topic in topics for partition in topic.partitions
        }

    def __enter__(self) -> Self:
        self._scope.spawn("accept", self._accept, stop=self._hang_up)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        left = self._scope.close(5_000)
        self._server.close()
        if kind is None:
            assert left == []
            assert self._scope.first_error() is None

    def _hang_up(self) -> None:
        self.may_answer.set()
        for sock in (self._server, *self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._server.accept()
            except OSError:
                return
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.append(connected)
            serve = functools.partial(self._serve, connected)
            self._scope.spawn(f"serve-{self.connections}", serve, stop=self._hang_up)

    def _serve(self, connected: socket.socket) -> None:
        with contextlib.suppress(OSError), connected, connected.makefile("rb") as stream:
            while len(prefix := stream.read(4)) == 4:
                data = stream.read(int.from_bytes(prefix, "big"))
                frame = decode_request(data)
                assert isinstance(frame.request, FetchRequest)
                self.frames.append(prefix + data)
                self.versions.append(frame.version)
                self.requests.append(frame.request)
                self.may_answer.wait(30)
                if self.silences:
                    self.silences -= 1
                    continue
                response = self.mangle(self._respond(frame, frame.request))
                if self.cuts:
                    self._send(connected, response[: self.cuts.pop(0)])
                    return
                self._send(connected, response)

    def _respond(self, frame: RequestFrame, request: FetchRequest) -> bytes:
        room = _ResponseCapacity(request.max_bytes) if frame.version >= FIRST_SOFT_BOUNDS else None
        left_out = self.left_out.pop(0) if self.left_out else set()
        named = (
            (
                topic,
                [
                    partition
                    for partition in topic.partitions
                    if partition.partition not in left_out
                ],
            )
            for topic in request.topics
        )
        topics = tuple(
            FetchedTopic(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=tuple(self._part(partition, room) for partition in partitions),
            )
            for topic, partitions in named
            if partitions
        )
        response = FetchResponse(
            topics=topics,
            throttle_time_ms=self.throttle_ms.pop(0) if self.throttle_ms else 0,
            error_code=self.errors.pop(0) if self.errors else 0,
        )
        is_empty = all(
            not partition.records and not partition.error_code
            for t in topics
            for partition in t.partitions
        )
        if is_empty and request.max_wait_ms:
            threading.Event().wait(min(request.max_wait_ms, 20) / 1000)
        return encode_response(response, version=frame.version, correlation_id=frame.correlation_id)

    def _part(
        self, requested: FetchPartition, room: "_ResponseCapacity | None"
    ) -> FetchedPartition:
        log = self.logs[requested.partition]
        error = log.error
        if not error and not log.start <= requested.fetch_offset <= log.end:
            error = ErrorCode.OFFSET_OUT_OF_RANGE
        data = b""
        if not error:
            offset, most_bytes = requested.fetch_offset, requested.max_bytes
            if room is not None:
                most_bytes = room.for_part(most_bytes, log.first_size(offset))
            data = log.read(offset, most_bytes)
            if room is not None:
                room.take(len(data))
        return FetchedPartition(
            partition=requested.partition,
            error_code=error,
            high_watermark=-1 if error else log.end,
            records=memoryview(data),
        )

    def _send(self, connected: socket.socket, response: bytes) -> None:
        place, turn = 0, 0
        while place < len(response):
            size = self.pieces[turn % len(self.pieces)] if self.pieces else len(response)
            connected.sendall(response[place : place + size])
            self.sent_bytes += size
            place, turn = place + size, turn + 1
            if self.pause_ms:
                threading.Event().wait(self.pause_ms / 1000)


def serve_slowly(count: int, pause_ms: int) -> None:
    """Run a broker with one log in this process until standard input ends."""
    with LogBroker() as broker:
        for number in range(count):
            broker.logs[0].add([b"%d" % number])
        pause = threading.Event()

        def mangle(frame: bytes) -> bytes:
            pause.wait(pause_ms / 1000)
            return frame

        broker.mangle = mangle
        sys.stdout.write(f"{broker.address.port}\n")
        sys.stdout.flush()
        sys.stdin.read()
