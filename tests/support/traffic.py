"""Produces messages while something breaks, and records which were acknowledged."""

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

from tests.support.set_producer import Producer
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import Mailbox, ThreadScope

Acknowledged = dict[TopicPartition, dict[int, bytes]]
"""The acknowledged values by offset."""

_JOIN_MS = 60_000


def partitions_of(topic: str, count: int) -> list[TopicPartition]:
    """Return the first ``count`` partitions of a topic."""
    return [TopicPartition(topic, number) for number in range(count)]


def write(
    cluster: Sandbox,
    tp: TopicPartition,
    values: Sequence[bytes],
    *,
    codec: Codec = Codec.NONE,
) -> int:
    """Write one message set, acknowledged by all replicas; return its first offset."""
    producer = Producer(cluster.brokers)
    try:
        return producer.send(tp, [Record(0, None, value) for value in values], codec=codec)
    finally:
        producer.close()


class Traffic:
    """Writes numbered messages to all partitions in turn, in a thread, with ``acks=-1``.

    A message whose acknowledgement was lost is written again, and is then in the log twice, at two
    offsets; the consumer is not to blame, so messages are identified by offset.

    Args:
        cluster: the cluster.
        partitions: the partitions to write to; ``add`` adds more.
        timeout_ms: the timeout of one attempt.
        pause_ms: the pause between two rounds of a few messages to each partition.
        value: returns a message's value from partition and number; None: both as text.
    """

    def __init__(
        self,
        cluster: Sandbox,
        partitions: Iterable[TopicPartition],
        *,
        timeout_ms: int = 2_000,
        pause_ms: int = 3,
        value: Callable[[TopicPartition, int], bytes] | None = None,
    ) -> None:
        self._value = value or (lambda tp, number: b"%s %d" % (str(tp).encode(), number))
        self._pause_ms = pause_ms
        self.acknowledged: Acknowledged = {}
        self._partitions = list(partitions)
        self._producer = Producer(
            cluster.brokers,
            settings=BatchSettings(timeout_ms=timeout_ms, retries=300, backoff_ms=50),
        )
        self._scope = ThreadScope("traffic")
        self._stop: Mailbox[None] = Mailbox()
        self._stopping = False

    def __enter__(self) -> Self:
        self._scope.spawn("producer", self._run, stop=self._request_stop)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Write to these partitions as well from now on."""
        self._partitions = [*self._partitions, *partitions]

    def ends(self) -> dict[TopicPartition, int]:
        """The present last acknowledged offset plus 1 of every partition."""
        return {tp: max(list(of_tp)) + 1 for tp, of_tp in list(self.acknowledged.items())}

    def count(self) -> int:
        """The number of acknowledged messages."""
        return sum(map(len, list(self.acknowledged.values())))

    def stop(self) -> Acknowledged:
        """Stop writing; return all acknowledged messages. Idempotent.

        Raises:
            BaseException: the error that ended the producer.
        """
        assert self._scope.close(_JOIN_MS) == []
        error = self._scope.first_error()
        if error is not None:
            raise error
        return self.acknowledged

    def _request_stop(self) -> None:
        self._stopping = True
        self._stop.put(None)

    def _run(self) -> None:
        number = 0
        try:
            while not self._stopping:
                for tp in self._partitions:
                    self._send(tp, [self._value(tp, number + i) for i in range(3)])
                    number += 3
                self._stop.get(self._pause_ms)
        finally:
            self._producer.close()

    def _send(self, tp: TopicPartition, values: list[bytes]) -> None:
        first = self._producer.send(tp, [Record(0, None, value) for value in values])
        self.acknowledged.setdefault(tp, {}).update(enumerate(values, first))
