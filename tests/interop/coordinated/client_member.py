"""``python -m tests.interop.coordinated.client_member``: a member with kafka-python's API.

The library is the first thing that it is told: ours and kafka-python run the same program, which
is what "change an import" means. It tells what it does as lines of JSON, one a fact, and obeys
commands on its standard input, a line each; the end of the input makes it leave.

Commands: ``idle`` (it no longer polls), ``poll`` (it does again), ``slow MS`` (so long a pause
after each poll that gave something), ``commit`` (what it has been handed), ``leave``.
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


def notify(**fact: object) -> None:
    """A line for whoever started this."""
    sys.stdout.write(f"{json.dumps(fact)}\n")
    sys.stdout.flush()


def wall_ms() -> int:
    """Milliseconds since the epoch; not from the library that is under test."""
    return time.time_ns() // 1_000_000


def names(partitions: Any) -> list[str]:
    """``topic:partition`` of each, sorted."""
    return sorted(f"{partition.topic}:{partition.partition}" for partition in partitions)


@dataclass
class Orders:
    """What it was told to do, read from its standard input.

    Attributes:
        polling: whether it polls.
        slow_ms: the pause after a poll that gave something.
        leaving: whether it is to end.
    """

    polling: bool = True
    slow_ms: int = 0
    leaving: bool = False
    todo: list[str] = field(default_factory=list)
    _unread: bytes = b""

    def take(self, wait_ms: int) -> None:
        """Read what is there; wait so long for something."""
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
        notify(done=" ".join(words))


def strategies(library: str, wanted: Sequence[str]) -> list[object]:
    """kafka-python takes classes, ours takes the names that they have."""
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
    """Tells of every change, by the names that both libraries call."""

    class Listener(library.ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_revoked(self, revoked: Any) -> None:
            notify(revoked=names(revoked))

        def on_partitions_assigned(self, assigned: Any) -> None:
            notify(assigned=names(assigned))

        def on_partitions_lost(self, lost: Any) -> None:
            notify(lost=names(lost))

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
        self._orders = Orders()
        self._consumer = module.KafkaConsumer(**settings)
        self._consumer.subscribe(**subscription, listener=listener_of(module))

    def run(self) -> None:
        """Poll, obey, tell, until told to leave."""
        orders = self._orders
        while not orders.leaving:
            orders.take(0 if orders.polling else IDLE_MS)
            self._do(orders)
            if orders.polling and not orders.leaving:
                self._poll()
        self._try("close", self._consumer.close)
        notify(left=True)

    def _poll(self) -> None:
        batches: Mapping[Any, Sequence[Any]] = {}
        sent_ms = wall_ms()

        def poll() -> None:
            nonlocal batches
            batches = self._consumer.poll(timeout_ms=POLL_MS)

        self._try("poll", poll)
        for records in batches.values():
            notify(
                records=[
                    [record.topic, record.partition, record.offset, (record.value or b"").decode()]
                    for record in records
                ],
                requested=sent_ms,
                given=wall_ms(),
            )
        if batches and self._orders.slow_ms:
            self._orders.take(self._orders.slow_ms)

    def _do(self, orders: Orders) -> None:
        while orders.todo:
            if orders.todo.pop(0) == "commit":
                self._try("commit", self._consumer.commit)

    @staticmethod
    def _try(what: str, call: Any) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is told
            notify(failed=what, kind=type(error).__name__, text=str(error))
        else:
            if what != "poll":
                notify(succeeded=what)


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("MEMBER_LOG", "INFO"), format=LOG_FORMAT)
    Program(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])).run()
