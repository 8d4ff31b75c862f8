"""Messages that have their position as the value: ``topic:partition:offset``."""

import itertools
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from tests.histories.recorder import Recorder
from tests.support.set_producer import Producer
from zkconsumer.clock import SystemClock
from zkconsumer.model import Record, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import Mailbox, ThreadScope

PAUSE_MS = 2
SET_SIZE = 5


def value_of(tp: TopicPartition, number: int) -> str:
    """Return the value of the message at this offset."""
    return f"{tp.topic}:{tp.partition}:{number}"


class Writer:
    """Writes numbered messages and remembers them; topics must be new, without other writers.

    Args:
        cluster: the cluster.
        recorder: records every set.
    """

    def __init__(self, cluster: Sandbox, recorder: Recorder | None = None) -> None:
        self._producer = Producer(cluster.brokers)
        self._recorder = Recorder(SystemClock().wall_ms) if recorder is None else recorder
        self.ends: dict[TopicPartition, int] = {}
        self.values: list[str] = []

    def write(self, tp: TopicPartition, count: int, codec: Codec = Codec.NONE) -> list[str]:
        """Write the partition's next ``count`` messages as one set; return their values."""
        first = self.ends.get(tp, 0)
        fresh = [value_of(tp, number) for number in range(first, first + count)]
        records = [Record(0, f"key {value}".encode(), value.encode()) for value in fresh]
        place = {"topic": tp.topic, "partition": tp.partition}
        self._recorder.add("writer", "invoke", "send", **place, values=fresh)
        assert self._producer.send(tp, records, codec=codec) == first
        self._recorder.add("writer", "ok", "send", offset=first)
        self.ends[tp] = first + count
        self.values += fresh
        return fresh

    def close(self) -> None:
        """Disconnect."""
        self._producer.close()


class Traffic:
    """Writes to partitions in turn, plain and compressed, while the context is open."""

    def __init__(self, writer: Writer, partitions: Sequence[TopicPartition]) -> None:
        self._writer = writer
        self._partitions = partitions
        self._stopped: Mailbox[str] = Mailbox()
        self._scope = ThreadScope("traffic")

    def __enter__(self) -> Self:
        self._scope.spawn("write", self._run, stop=lambda: self._stopped.put("stop"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._scope.close(20_000) == []
        failure = self._scope.first_error()
        if failure is not None:
            raise failure

    def _run(self) -> None:
        turns: Iterator[tuple[TopicPartition, Codec]] = zip(
            itertools.cycle(self._partitions),
            itertools.cycle(
                codec for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY) for _ in self._partitions
            ),
            strict=False,
        )
        while self._stopped.get(PAUSE_MS) is None:
            tp, codec = next(turns)
            self._writer.write(tp, SET_SIZE, codec)
