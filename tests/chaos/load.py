"""Producers that know exactly what was acknowledged: they use ``acks=all``.

A try without an acknowledgement may have been written nevertheless. So a message gets another value
with each try, and the log has each value at most once.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.histories.recorder import Recorder
from tests.support.set_producer import Producer
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.settings import ACKS_ALL, BatchSettings
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import Mailbox, ThreadScope

_PRODUCERS = 2
_SET_SIZE = 4
_TIMEOUT_MS = 1500
_JOIN_MS = 30_000
_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY)


@dataclass(slots=True)
class Acknowledged:
    """The acknowledgements of one producer.

    Attributes:
        offsets: partition and offset of each acknowledged value.
        ends: the offset behind the last acknowledged value of each partition.
        tries: how many sets were sent.
        failures: how many of them were not acknowledged.
    """

    offsets: dict[str, tuple[TopicPartition, int]] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    tries: int = 0
    failures: int = 0


class _Writer:
    """One producer and its partitions."""

    def __init__(self, cluster: Sandbox, name: str, pause_ms: int, recorder: Recorder) -> None:
        self._recorder = recorder
        self.acknowledged = Acknowledged()
        self.partitions: list[TopicPartition] = []
        self._cluster = cluster
        self._name = name
        self._pause_ms = pause_ms
        self._producer = self._connect()
        self._pending: dict[TopicPartition, deque[tuple[int, int]]] = {}
        self._number = 0
        self._stopped: Mailbox[None] = Mailbox()
        self._stopping = False

    def run(self) -> None:
        turn = 0
        try:
            while not self._stopping:
                partitions = self.partitions
                if partitions:
                    codec = _CODECS[turn // len(partitions) % len(_CODECS)]
                    self._send(partitions[turn % len(partitions)], codec)
                turn += 1
                self._stopped.get(self._pause_ms)
        finally:
            self._producer.close()

    def stop(self) -> None:
        self._stopping = True
        self._stopped.put(None)

    def _connect(self) -> Producer:
        settings = BatchSettings(acks=ACKS_ALL, timeout_ms=_TIMEOUT_MS, retries=0)
        return Producer(self._cluster.brokers, settings=settings)

    def _send(self, tp: TopicPartition, codec: Codec) -> None:
        """Send messages that were not acknowledged before, and new ones."""
        pending = self._pending.setdefault(tp, deque())
        while len(pending) < _SET_SIZE:
            pending.append((self._number, 0))
            self._number += 1
        messages = [pending.popleft() for _ in range(_SET_SIZE)]
        values = [f"{tp}/{self._name}{number}.{attempt}" for number, attempt in messages]
        self.acknowledged.tries += 1
        process, tp_fields = (
            f"producer-{self._name}",
            {"topic": tp.topic, "partition": tp.partition},
        )
        self._recorder.add(process, "invoke", "send", **tp_fields, values=values)
        try:
            first = self._producer.send(
                tp, [Record(0, None, value.encode()) for value in values], codec=codec
            )
        except ZkConsumerError:
            self._recorder.add(process, "info", "send")  # it may have been written nevertheless
            self.acknowledged.failures += 1
            pending.extendleft((number, attempt + 1) for number, attempt in reversed(messages))
            # The producer caches leaders; a new one requests them again.
            self._producer.close()
            self._producer = self._connect()
            return
        self._recorder.add(process, "ok", "send", offset=first)
        self.acknowledged.offsets.update(
            (value, (tp, offset)) for offset, value in enumerate(values, first)
        )
        self.acknowledged.ends[tp] = first + len(values)


class Load:
    """Producers that write to partitions within the context.

    Args:
        cluster: where they write.
        partitions: the first ones; ``add`` adds more.
        messages_per_second: the approximate rate if nothing fails.
        recorder: gets an operation for every set.
    """

    def __init__(
        self,
        cluster: Sandbox,
        partitions: Iterable[TopicPartition],
        messages_per_second: int,
        recorder: Recorder,
    ) -> None:
        pause_ms = max(1, 1000 * _SET_SIZE * _PRODUCERS // messages_per_second)
        self._writers = [_Writer(cluster, name, pause_ms, recorder) for name in "ab"[:_PRODUCERS]]
        self._scope = ThreadScope("load")
        self.add(partitions)

    def __enter__(self) -> Self:
        for number, writer in enumerate(self._writers):
            self._scope.spawn(f"producer-{number}", writer.run, stop=writer.stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Write to more partitions."""
        for number, tp in enumerate(partitions):
            writer = self._writers[number % _PRODUCERS]
            writer.partitions = [*writer.partitions, tp]

    def offsets(self) -> dict[str, tuple[TopicPartition, int]]:
        """Return partition and offset of every acknowledged value so far."""
        found: dict[str, tuple[TopicPartition, int]] = {}
        for writer in self._writers:
            found.update(writer.acknowledged.offsets.copy())
        return found

    def ends(self) -> dict[TopicPartition, int]:
        """Return the offset behind the last acknowledged message of each partition."""
        found: dict[TopicPartition, int] = {}
        for writer in self._writers:
            found.update(writer.acknowledged.ends.copy())
        return found

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of acknowledged messages, of sets sent, and of sets that failed."""
        by_producer = [writer.acknowledged for writer in self._writers]
        return (
            sum(len(acknowledged.offsets) for acknowledged in by_producer),
            sum(acknowledged.tries for acknowledged in by_producer),
            sum(acknowledged.failures for acknowledged in by_producer),
        )

    def stop(self) -> None:
        """Stop all producers. Idempotent.

        Raises:
            BaseException: the error that ended a producer.
        """
        assert self._scope.close(_JOIN_MS) == []
        error = self._scope.first_error()
        if error is not None:
            raise error
