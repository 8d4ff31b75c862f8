"""What a case is given: a library, a broker with content, and what it takes to look at both."""

import contextlib
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tests.alike.library import Library
from tests.alike.outcomes import Outcome, Shown, plain, raised

if TYPE_CHECKING:
    # Not where tests are collected: to import kafka-python gives warnings.
    from tests.alike.writing import Writer

PATIENCE_S = 20.0


def in_thread(call: Callable[[], object]) -> threading.Thread:  # noqa: TID251
    """Call this in a thread of its own; one that hangs keeps nobody from ending."""
    # Not in a ThreadScope: kafka-python's calls can't be told to end.
    thread = threading.Thread(target=call, daemon=True)  # noqa: TID251
    thread.start()
    return thread


class InVain(Exception):
    """What a case waits for did not come: no outcome to be compared."""


class Scene:
    """One case with one library. What it makes is closed in the end.

    Args:
        library: which.
        bootstrap: the broker's address.
        writer: makes topics and records.
        number: of the case, for names.
    """

    def __init__(self, library: Library, bootstrap: str, writer: "Writer", number: int) -> None:
        self.lib = library
        self.bootstrap = bootstrap
        self.writer = writer
        self._suffix = f"-of-{library.name}-{os.getpid()}"
        self._number = number
        self._names = itertools.count(1)
        self._made: list[Any] = []

    # --- names ------------------------------------------------------------------------------------

    def name(self, prefix: str = "topic") -> str:
        """A name that nobody else has; outcomes show it alike for both libraries."""
        return f"{prefix}-{self._number}-{next(self._names)}{self._suffix}"

    def group(self) -> str:
        """The name of a new group."""
        return self.name("group")

    def topic(self, *values: bytes | None, partitions: int = 1) -> str:
        """A new topic of this library's own, with these values in partition 0."""
        topic = self.writer.make_topic(self.name(), partitions)
        if values:
            self.writer.send(topic, *values)
        return topic

    def tp(self, topic: str, partition: int = 0) -> Any:
        """A TopicPartition of the library."""
        return self.lib.TopicPartition(topic, partition)

    # --- consumers --------------------------------------------------------------------------------

    def consumer(self, *topics: Any, **settings: Any) -> Any:
        """A consumer that is closed when the case is over."""
        settings.setdefault("bootstrap_servers", self.bootstrap)
        made = self.lib.KafkaConsumer(*topics, **settings)
        self._made.append(made)
        return made

    def assigned(self, topic: str, *partitions: int, **settings: Any) -> Any:
        """A consumer without subscription that reads these partitions from their beginning."""
        settings.setdefault("auto_offset_reset", "earliest")
        made = self.consumer(**settings)
        made.assign([self.tp(topic, partition) for partition in partitions or (0,)])
        return made

    def member(self, topic: str, count: int, **settings: Any) -> Any:
        """A member of a new group that has read so many records."""
        settings = {"auto_offset_reset": "earliest", "group_id": self.group(), **settings}
        made = self.consumer(topic, **settings)
        self.read(made, count)
        return made

    def close(self) -> None:
        """Close what was made; errors of that were not what the case is about."""
        for made in self._made:
            with contextlib.suppress(Exception):
                made.close(autocommit=False, timeout_ms=2000)

    # --- looking ----------------------------------------------------------------------------------

    def read(self, consumer: Any, count: int, **arguments: Any) -> list[Any]:
        """Poll until so many records came, in the order of partition and offset."""
        arguments.setdefault("timeout_ms", 200)
        records: list[Any] = []

        def enough() -> bool:
            for found in consumer.poll(**arguments).values():
                records.extend(found)
            return len(records) >= count

        self.until(enough)
        return sorted(records, key=lambda record: (record.topic, record.partition, record.offset))

    def first(self, consumer: Any, **arguments: Any) -> dict[Any, list[Any]]:
        """What the first poll that gives something gives."""
        found: dict[Any, list[Any]] = {}

        def some() -> bool:
            found.update(consumer.poll(timeout_ms=200, **arguments))
            return bool(found)

        self.until(some)
        return found

    def joined(self, consumer: Any) -> None:
        """Poll until it has partitions."""
        self.until_polled(consumer, consumer.assignment)

    def until_polled(self, consumer: Any, probe: Callable[[], object]) -> None:
        """Poll until something is true."""

        def polled() -> object:
            consumer.poll(timeout_ms=100)
            return probe()

        self.until(polled)

    def values(self, consumer: Any, count: int) -> list[Any]:
        """The values of so many records."""
        return [record.value for record in self.read(consumer, count)]

    @staticmethod
    def until(probe: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        """Ask again and again until there is something true."""
        deadline = time.perf_counter() + patience_s
        while not probe():
            if time.perf_counter() > deadline:
                raise InVain(f"nothing in {patience_s} s")

    @staticmethod
    def seconds(call: Callable[[], object]) -> float:
        """How long a call takes."""
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    def attempt(self, call: Callable[[], object]) -> Shown:
        """What a call gives or raises."""
        try:
            return Shown(self._unnamed(plain(call())))
        except Exception as error:  # noqa: BLE001 - whatever it raises is what is compared
            return Shown(raised(error, self.lib.errors))

    def attempts(self, calls: Iterable[Callable[[], object]]) -> list[Shown]:
        """What each of these gives or raises."""
        return [self.attempt(call) for call in calls]

    def _unnamed(self, value: Outcome) -> Outcome:
        match value:
            case str():
                return value.replace(self._suffix, "")
            case list():
                return [self._unnamed(item) for item in value]
            case dict():
                return {key: self._unnamed(item) for key, item in value.items()}
            case _:
                return value
