"""A pump of the native core over a pair of sockets, whose broker is the test."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.core.delegated import PumpCounts, Returned
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.absent import NO_EPOCH, NO_OFFSET, NO_TOPIC_ID
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import decode_request, encode_response
from zkconsumer.wire.framing import LENGTH_BYTES
from zkconsumer.wire.messages.fetch import (
    LAST_BY_NAME,
    FetchedPartition,
    FetchedTopic,
    FetchRequest,
    FetchResponse,
)

if TYPE_CHECKING:
    from zkconsumer.native._core import Pump, Queue

PATIENCE_S = 5.0
FIRST_WITH_LOG_START = 5
"""The first version of Fetch whose responses tell where the log begins."""
FIRST_BOUNDED = 3
"""The first version of Fetch that bounds whole responses."""
PART_BYTES = 4096
"""What is requested of each partition."""
CALLED = 0
"""How a run ended: ``_core.PUMP_CALLED``."""

Slot = tuple[object, ...]
Run = tuple[int, int, bool, int, int, str, bool]


def slot(
    claim: PartitionClaim,
    place: int = 0,
    data: bytes = b"",
    offset: int = 0,
    *,
    leader_epoch: int = NO_EPOCH,
    is_behind: bool = False,
    until_offset: int = NO_OFFSET,
) -> Slot:
    """A partition as the pump loads it, with what is left of its record set."""
    packed = (memoryview(data), 0, offset, PART_BYTES) if data else None
    partition = claim.topic_partition.partition
    return (place, partition, claim, offset, 0, 0, packed, leader_epoch, is_behind, until_offset)


def new_queue(max_chunks: int = 1_000) -> "Queue":
    """Return a queue whose chunks are taken whole."""
    made: Queue = import_module("zkconsumer.native._core").Queue(max_chunks, tuple)
    return made


def offsets_of(queue: "Queue") -> list[int]:
    """Take the next chunk, and return the offsets of its records."""
    taken = queue.take_chunk()
    assert taken is not None
    fetched = taken[-1]
    return [record.offset for record in fetched.take(len(fetched))]


class Arrived(NamedTuple):
    """A request that the broker received, and its frame."""

    frame: bytes
    request: FetchRequest


def answer(
    name: bytes, parts: Mapping[int, bytes], *, version: int, log_end: int, log_start: int
) -> FetchResponse:
    """Return a response with the record sets of a topic's partitions, for a version."""
    has_id, has_log_start = version > LAST_BY_NAME, version >= FIRST_WITH_LOG_START
    topic = FetchedTopic(
        topic="" if has_id else name.decode(),
        topic_id=name if has_id else NO_TOPIC_ID,
        partitions=tuple(
            FetchedPartition(
                partition=partition,
                error_code=0,
                high_watermark=log_end,
                log_start_offset=log_start if has_log_start else NO_OFFSET,
                records=memoryview(records),
            )
            for partition, records in parts.items()
        ),
    )
    return FetchResponse(topics=(topic,))


class PumpBench:
    """A pump, and its broker's end of the connection."""

    def __init__(self, broker: socket.socket, own: socket.socket, scope: ThreadScope) -> None:
        self.broker, self._own, self._scope = broker, own, scope
        self._version = 0
        self._ends: SimpleQueue[Run] = SimpleQueue()
        self.name = b"t"
        self.pump: Pump = import_module("zkconsumer.native._core").Pump()
        self.pump.configure(
            min_bytes=1,
            max_bytes=1 << 30,
            max_wait_ms=100,
            timeout_ms=60_000,
            max_decompressed_bytes=1 << 30,
            growth_max_bytes=1 << 20,
            report_ms=0,
        )

    def load(
        self,
        queues: "Sequence[Queue]",
        slots: list[Slot],
        *,
        name: bytes = b"t",
        ends_at_head: bool = False,
        part_bytes: int = PART_BYTES,
    ) -> None:
        """Load partitions of a topic; claims with a record set must have been adopted."""
        self.name = name
        self.pump.load(
            list(queues),
            [(name, slots)],
            part_bytes=part_bytes,
            grown_bytes=0,
            others_wait=False,
            ends_at_head=ends_at_head,
        )

    def start(self, version: int = 0) -> None:
        """Start a run in a thread."""
        self._version = version
        self._scope.spawn("pump", lambda: self._ends.put(self.run(version)), stop=self.pump.stop)

    def run(self, version: int = 0) -> Run:
        """Run the pump."""
        return self.pump.run(
            self._own.fileno(),
            version=version,
            correlation_id=1,
            client_id=b"c",
            max_response_bytes=1 << 20,
            max_entry_bytes=1 << 20,
            quiet_ms=0,
        )

    def ended(self) -> Run:
        """Wait for the end of the run."""
        return self._ends.get(timeout=PATIENCE_S)

    def receive(self) -> Arrived:
        """Receive the next request."""
        prefix = self._exactly(LENGTH_BYTES)
        frame = self._exactly(int.from_bytes(prefix, "big"))
        request = decode_request(frame, {ApiKey.FETCH: FetchRequest}).request
        assert isinstance(request, FetchRequest)
        self._correlation_id = int.from_bytes(frame[4:8], "big")
        return Arrived(prefix + frame, request)

    def _exactly(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            piece = self.broker.recv(size - len(found))
            assert piece, "the pump hung up"
            found += piece
        return bytes(found)

    def respond(
        self, parts: Mapping[int, bytes], *, log_end: int = 100, log_start: int = 3
    ) -> bytes:
        """Answer the last request by record sets; return the frame."""
        response = answer(
            self.name, parts, version=self._version, log_end=log_end, log_start=log_start
        )
        return self.send(response)

    def send(self, response: FetchResponse) -> bytes:
        """Send any response; return the frame."""
        frame = encode_response(
            response, version=self._version, correlation_id=self._correlation_id
        )
        self.broker.sendall(frame)
        return frame

    def asked(self) -> dict[int, int]:
        """Receive the next request; return the offset that it names of each partition."""
        [topic] = self.receive().request.topics
        return {part.partition: part.fetch_offset for part in topic.partitions}

    def is_silent(self) -> bool:
        """Whether nothing of another request has come so far."""
        self.broker.settimeout(0)
        try:
            return not self.broker.recv(1)
        except BlockingIOError:
            return True
        finally:
            self.broker.settimeout(PATIENCE_S)

    def unloaded(self) -> list[Returned]:
        """Take the partitions back."""
        return [Returned(*back) for back in self.pump.unload()]

    def counts(self) -> PumpCounts:
        """Take the counts."""
        return PumpCounts(*self.pump.counts())


@contextmanager
def pump_bench(*, buffer_bytes: int = 1 << 18) -> Iterator[PumpBench]:
    """Connect a pump and a broker by two sockets; the pump's sends so much without a receiver."""
    broker, own = socket.socketpair()
    scope = ThreadScope("pumped")
    with broker, own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer_bytes)
        own.settimeout(0)
        broker.settimeout(PATIENCE_S)
        yield PumpBench(broker, own, scope)
        assert scope.close(5_000) == []
        assert scope.first_error() is None
