"""What a case works with: a library, a broker with topics, and helpers for both."""

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
    # Not imported when tests are collected: importing kafka-python gives warnings.
    from tests.alike.writing import Writer

PATIENCE_S = 20.0


def in_thread(call: Callable[[], object]) -> threading.Thread:  # noqa: TID251
    """Call a function in a daemon thread, which does not keep the process alive if it hangs."""
    # Not in a ThreadScope: kafka-python's calls can't be interrupted.
    thread = threading.Thread(target=call, daemon=True)  # noqa: TID251
    thread.start()
    return thread


class InVain(Exception):
    """A case waited in vain, so there is no outcome to compare."""


class Scene:
    """One case with one library. The consumers it creates are closed at the end.

    Args:
        library: the library.
        bootstrap: the broker's address.
        writer: creates topics and writes records.
        number: the case's number, for unique names.
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
        """A unique name; in outcomes the part that depends on the library is removed."""
        return f"{prefix}-{self._number}-{next(self._names)}{self._suffix}"

    def group(self) -> str:
        """The name of a new group."""
        return self.name("group")

    def topic(self, *values: bytes | None, partitions: int = 1) -> str:
        """Create a topic for this library alone, with these values in partition 0."""
        topic = self.writer.make_topic(self.name(), partitions)
        if values:
            self.writer.send(topic, *values)
        return topic

    def tp(self, topic: str, partition: int = 0) -> Any:
        """A TopicPartition of the library."""
        return self.lib.TopicPartition(topic, partition)

    # --- consumers --------------------------------------------------------------------------------

    def consumer(self, *topics: Any, **settings: Any) -> Any:
        """Return a new consumer, which is closed at the end of the case."""
        settings.setdefault("bootstrap_servers", self.bootstrap)
        made = self.lib.KafkaConsumer(*topics, **settings)
        self._made.append(made)
        return made

    def assigned(self, topic: str, *partitions: int, **settings: Any) -> Any:
        """Return a consumer that reads these assigned partitions from the beginning."""
        settings.setdefault("auto_offset_reset", "earliest")
        made = self.consumer(**settings)
        made.assign([self.tp(topic, partition) for partition in partitions or (0,)])
        return made

    def member(self, topic: str, count: int, **settings: Any) -> Any:
        """Return a member of a new group that has read ``count`` records."""
        settings = {"auto_offset_reset": "earliest", "group_id": self.group(), **settings}
        made = self.consumer(topic, **settings)
        self.read(made, count)
        return made

    def close(self) -> None:
        """Close all consumers; errors of that are ignored, as they are not the case's subject."""
        for made in self._made:
            with contextlib.suppress(Exception):
                made.close(autocommit=False, timeout_ms=2000)

    # --- reading and waiting ----------------------------------------------------------------------

    def read(self, consumer: Any, count: int, **arguments: Any) -> list[Any]:
        """Poll until ``count`` records arrived; return them sorted by partition and offset."""
        arguments.setdefault("timeout_ms", 200)
        records: list[Any] = []

        def enough() -> bool:
            for records_of_partition in consumer.poll(**arguments).values():
                records.extend(records_of_partition)
            return len(records) >= count

        self.until(enough)
        return sorted(records, key=lambda record: (record.topic, record.partition, record.offset))

    def first(self, consumer: Any, **arguments: Any) -> dict[Any, list[Any]]:
        """Return the result of the first poll that returns records."""
        polled: dict[Any, list[Any]] = {}

        def some() -> bool:
            polled.update(consumer.poll(timeout_ms=200, **arguments))
            return bool(polled)

        self.until(some)
        return polled

    def joined(self, consumer: Any) -> None:
        """Poll until the consumer has partitions."""
        self.until_polled(consumer, consumer.assignment)

    def until_polled(self, consumer: Any, probe: Callable[[], object]) -> None:
        """Poll until ``probe`` returns something true."""

        def polled() -> object:
            consumer.poll(timeout_ms=100)
            return probe()

        self.until(polled)

    def values(self, consumer: Any, count: int) -> list[Any]:
        """Poll until ``count`` records arrived; return their values."""
        return [record.value for record in self.read(consumer, count)]

    @staticmethod
    def until(probe: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        """Call ``probe`` until it returns something true; raise InVain after a time."""
        deadline = time.perf_counter() + patience_s
        while not probe():
            if time.perf_counter() > deadline:
                raise InVain(f"nothing in {patience_s} s")

    @staticmethod
    def seconds(call: Callable[[], object]) -> float:
        """Return how long a call takes."""
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    def attempt(self, call: Callable[[], object]) -> Shown:
        """Return what a call returns or raises, as an outcome."""
        try:
            return Shown(self._unnamed(plain(call())))
        except Exception as error:  # noqa: BLE001 - whatever it raises is what is compared
            return Shown(raised(error, self.lib.errors))

    def attempts(self, calls: Iterable[Callable[[], object]]) -> list[Shown]:
        """Return what each of the calls returns or raises, as outcomes."""
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
