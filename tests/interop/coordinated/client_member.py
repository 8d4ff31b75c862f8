"""``python -m tests.interop.coordinated.client_member``: a member with kafka-python's API.

The first argument is the library: ours and kafka-python run the same program, as after "change an
import". It prints what it does as lines of JSON, one fact each, and reads commands from its
standard input, one a line; at the end of the input it leaves.

Commands: ``idle`` (stop polling), ``poll`` (poll again), ``slow MS`` (pause that long after each
poll with records), ``commit`` (commit what was delivered), ``leave``.
"""

import importlib
import json
import logging
import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

POLL_MS = 100
IDLE_MS = 60_000
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def report(**fact: object) -> None:
    """Print a fact for the process that started this one."""
    sys.stdout.write(f"{json.dumps(fact)}\n")
    sys.stdout.flush()


def wall_ms() -> int:
    """Milliseconds since the epoch, independent of the library under test."""
    return time.time_ns() // 1_000_000


def names(partitions: Any) -> list[str]:
    """Return ``topic:partition`` of each, sorted."""
    return sorted(f"{partition.topic}:{partition.partition}" for partition in partitions)


@dataclass
class Commands:
    """The commands from its standard input.

    Attributes:
        polling: whether it polls.
        slow_ms: the pause after a poll with records.
        leaving: whether it is to end.
    """

    polling: bool = True
    slow_ms: int = 0
    leaving: bool = False
    todo: list[str] = field(default_factory=list)
    _unread: bytes = b""

    def take(self, wait_ms: int) -> None:
        """Read the available commands; wait up to ``wait_ms`` for one."""
        if self.leaving or not select.select([0], [], [], wait_ms / 1000)[0]:
            return
        data = os.read(0, 4096)
        *lines, self._unread = (self._unread + data).split(b"\n")
        self.leaving = not data
        for line in lines:
            self._obey(line.decode().split())

    def _obey(self, words: Sequence[str]) -> None:
        match words:
            case ["idle"]:
                self.polling = False
            case ["poll"]:
                self.polling = True
            case ["slow", pause_ms]:
                self.slow_ms = int(pause_ms)
            case ["leave"]:
                self.leaving = True
            case _:
                self.todo.extend(words)
        report(done=" ".join(words))


def strategies(library: str, wanted: Sequence[str]) -> list[object]:
    """Return strategies as the library wants them: kafka-python needs classes, ours needs names."""
    if library != "kafka":
        return list(wanted)
    folder = "kafka.coordinator.assignors"
    classes = {
        "range": (f"{folder}.range", "RangePartitionAssignor"),
        "roundrobin": (f"{folder}.roundrobin", "RoundRobinPartitionAssignor"),
        "sticky": (f"{folder}.sticky.sticky_assignor", "StickyPartitionAssignor"),
        "cooperative-sticky": (f"{folder}.cooperative_sticky", "CooperativeStickyAssignor"),
    }
    return [getattr(importlib.import_module(classes[name][0]), classes[name][1]) for name in wanted]


def listener_of(library: Any) -> object:
    """Return a listener that reports every change, with the names that both libraries call."""

    class Listener(library.ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, revoked: Any) -> None:
            report(revoked=names(revoked))

        def on_partitions_assigned(self, assigned: Any) -> None:
            report(assigned=names(assigned))

        def on_partitions_lost(self, lost: Any) -> None:
            report(lost=names(lost))

    return Listener()


class Program:
    """One member, from joining to leaving."""

    def __init__(
        self, library: str, subscription: Mapping[str, Any], settings: dict[str, Any]
    ) -> None:
        module = importlib.import_module(library)
        if "partition_assignment_strategy" in settings:
            wanted = settings["partition_assignment_strategy"]
            settings["partition_assignment_strategy"] = strategies(library, wanted)
        if "api_version" in settings:
            settings["api_version"] = tuple(settings["api_version"])
        self._commands = Commands()
        self._consumer = module.KafkaConsumer(**settings)
        self._consumer.subscribe(**subscription, listener=listener_of(module))

    def run(self) -> None:
        """Poll, obey commands and report facts, until the command to leave."""
        commands = self._commands
        while not commands.leaving:
            commands.take(0 if commands.polling else IDLE_MS)
            self._do(commands)
            if commands.polling and not commands.leaving:
                self._poll()
        self._try("close", self._consumer.close)
        report(left=True)

    def _poll(self) -> None:
        batches: Mapping[Any, Sequence[Any]] = {}
        sent_ms = wall_ms()

        def poll() -> None:
            nonlocal batches
            batches = self._consumer.poll(timeout_ms=POLL_MS)

        self._try("poll", poll)
        for records in batches.values():
            report(
                records=[
                    [record.topic, record.partition, record.offset, (record.value or b"").decode()]
                    for record in records
                ],
                requested=sent_ms,
                given=wall_ms(),
            )
        if batches and self._commands.slow_ms:
            self._commands.take(self._commands.slow_ms)

    def _do(self, commands: Commands) -> None:
        while commands.todo:
            if commands.todo.pop(0) == "commit":
                self._try("commit", self._consumer.commit)

    @staticmethod
    def _try(what: str, call: Any) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - every error is reported as a fact
            report(failed=what, kind=type(error).__name__, text=str(error))
        else:
            if what != "poll":
                report(succeeded=what)


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("MEMBER_LOG", "INFO"), format=LOG_FORMAT)
    Program(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])).run()
