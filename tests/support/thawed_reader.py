"""A reader in a separate process that is frozen while it reads.

``python -m tests.support.thawed_reader`` with one JSON object (``Task``) as argument. Each message
is written to a file before it is processed, so messages delivered after the thaw follow the mark
there. On SIGUSR1 it stops itself by SIGSTOP after the next messages were written; SIGTERM ends it.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from tests.support import warm
from tests.support.waiting import wait_until
from zkconsumer import ConsumerConfig, KafkaConsumer, ZookeeperConsumerConnector
from zkconsumer.records.engine import SWITCH

MARK = "thawed"
REPOSITORY = Path(__file__).parents[2]
Place = tuple[int, int]
"""A partition and an offset."""


class Task(TypedDict):
    """A reader's parameters.

    Attributes:
        way: how it reads: one of ``WAYS``.
        topic: the topic.
        settings: the consumer's settings.
        output: the file for its messages.
        pace_us: the processing time of a message.
    """

    way: str
    topic: str
    settings: Mapping[str, Any]
    output: str
    pace_us: int


class RecordedMessages(NamedTuple):
    """The messages that a reader has recorded so far, before and after the thaw."""

    before: list[Place]
    thawed: list[Place]


class ThawedReader:
    """Controls such a process.

    Args:
        task: its parameters.
        pure: whether it runs without the native core.
    """

    def __init__(self, task: Task, *, pure: bool = False) -> None:
        self._output = Path(task["output"])
        self._output.touch()
        self._log = Path(f"{self._output}.log")
        environment = {name: text for name, text in os.environ.items() if name != SWITCH}
        with self._log.open("wb") as log:
            self._process = warm.Popen(
                [sys.executable, "-m", __name__, json.dumps(task)],
                cwd=REPOSITORY,
                env=environment | ({SWITCH: "1"} if pure else {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def noted(self) -> RecordedMessages:
        """All recorded messages, without an incomplete last line."""
        lines = self._output.read_text().rpartition("\n")[0].splitlines()
        at = lines.index(MARK) if MARK in lines else len(lines)
        return RecordedMessages(_places(lines[:at]), _places(lines[at + 1 :]))

    def log(self) -> str:
        """Its log."""
        return self._log.read_text()

    def freeze(self) -> None:
        """Freeze it in the middle of its work, and wait until it is frozen."""
        self._process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self._state() == "T", what="the reader to stop")

    def thaw(self) -> None:
        """Resume it."""
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """End it by SIGTERM, and check that it ended cleanly."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise

    def _state(self) -> str:
        stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        return stat.rpartition(") ")[2][0]


def _places(lines: Iterable[str]) -> list[Place]:
    return [
        (int(partition), int(offset))
        for partition, offset in (line.split() for line in lines if line != MARK)
    ]


# --- in the process ------------------------------------------------------------------------------


def one_by_one(task: Task, ends: list[Callable[[], None]]) -> Iterator[list[Place]]:
    """Read a stream message by message."""
    for message in _stream(task, ends):
        yield [(message.partition, message.offset)]


def in_batches(task: Task, ends: list[Callable[[], None]]) -> Iterator[list[Place]]:
    """Read a stream in small batches."""
    for batch in _stream(task, ends).batches(max_records=20, timeout_ms=100):
        yield [(record.partition, record.offset) for record in batch]


def in_arrow(task: Task, ends: list[Callable[[], None]]) -> Iterator[list[Place]]:
    """Read a stream in small Arrow batches."""
    for batch in _stream(task, ends).arrow_batches(max_records=20, timeout_ms=100):
        columns = batch.column("partition"), batch.column("offset")
        yield list(zip(*(column.to_pylist() for column in columns), strict=True))


def in_polls(task: Task, ends: list[Callable[[], None]]) -> Iterator[list[Place]]:
    """Read with ``poll``, a few records at a time."""
    consumer = _consumer(task, ends)
    while True:
        polled = consumer.poll(timeout_ms=100, max_records=20)
        yield [
            (record.partition, record.offset) for records in polled.values() for record in records
        ]


def by_iteration(task: Task, ends: list[Callable[[], None]]) -> Iterator[list[Place]]:
    """Iterate over a consumer."""
    for record in _consumer(task, ends):
        yield [(record.partition, record.offset)]


WAYS = {
    "one by one": one_by_one,
    "batches": in_batches,
    "arrow": in_arrow,
    "polls": in_polls,
    "iteration": by_iteration,
}


def _stream(task: Task, ends: list[Callable[[], None]]) -> Any:
    connector = ZookeeperConsumerConnector(ConsumerConfig(None, **task["settings"]))
    ends.append(connector.shutdown)
    [stream] = connector.create_message_streams({task["topic"]: 1})[task["topic"]]
    return stream


def _consumer(task: Task, ends: list[Callable[[], None]]) -> KafkaConsumer:
    consumer = KafkaConsumer(config=dict(task["settings"]))
    ends.append(consumer.close)
    consumer.subscribe([task["topic"]])
    return consumer


class _ReceivedSignals:
    """The requests that arrived as signals."""

    def __init__(self) -> None:
        self.freeze = False
        signal.signal(signal.SIGUSR1, self._on_freeze)
        signal.signal(signal.SIGTERM, self._on_end)

    def _on_freeze(self, _number: int, _frame: object) -> None:
        self.freeze = True

    def _on_end(self, _number: int, _frame: object) -> None:
        raise KeyboardInterrupt


def main(task: Task) -> None:
    """Read until SIGTERM."""
    reported, work = _ReceivedSignals(), threading.Event()
    ends: list[Callable[[], None]] = []
    output = os.open(task["output"], os.O_WRONLY | os.O_APPEND)
    try:
        for places in WAYS[task["way"]](task, ends):
            os.write(output, "".join(f"{tp} {offset}\n" for tp, offset in places).encode())
            work.wait(len(places) * task["pace_us"] / 1e6)
            if places and reported.freeze:
                reported.freeze = False
                os.kill(os.getpid(), signal.SIGSTOP)
                os.write(output, f"{MARK}\n".encode())
    except KeyboardInterrupt:
        for end in ends:
            end()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    main(json.loads(sys.argv[1]))
