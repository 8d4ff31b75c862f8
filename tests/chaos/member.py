"""``python -m tests.chaos.member PLAN``: a member that records its own history.

Each operation is written to the file at once, before the next message is requested, so that SIGKILL
loses none. Besides polls there are notes: errors of the connector and, after SIGTERM, which threads
and descriptors were left.
"""

import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from tests.histories.recorder import LineFile, Recorder
from tests.support.recorded import recorded
from zkconsumer import (
    ConsumerConfig,
    KafkaStream,
    Whitelist,
    ZkConsumerError,
    ZookeeperConsumerConnector,
)
from zkconsumer.clock import SystemClock
from zkconsumer.scope import Mailbox, ThreadScope

_MOST_ERRORS = 1000
_PAUSE_MS = 200
_JOIN_MS = 20_000


class Plan(TypedDict):
    """The plan of a member.

    Attributes:
        settings: those of the consumer.
        topics: streams by topic; empty if there is a filter.
        whitelist: the filter, for one stream; empty for none.
        history: the file to write to.
    """

    settings: Mapping[str, str]
    topics: Mapping[str, int]
    whitelist: str
    history: str


class History:
    """The file that records all operations. Thread: any."""

    def __init__(self, plan: Plan) -> None:
        settings = plan["settings"]
        self.member = f"{settings['group.id']}_{settings['consumer.id']}"
        file = LineFile(Path(plan["history"]))
        self.recorder = Recorder(SystemClock().wall_ms, file.write)
        self._errors = 0

    def add_error(self, error: BaseException) -> None:
        """Record an error of the connector."""
        text = f"{type(error).__name__} {' '.join(str(error).split())}"
        self.recorder.add(self.member, "info", "note", error=text)
        self.count_error()

    def count_error(self) -> None:
        """Count an error; too many end the process."""
        self._errors += 1
        if self._errors > _MOST_ERRORS:
            os._exit(3)


class Member:
    """A consumer that joins again after each failure until it is stopped."""

    def __init__(self, plan: Plan, history: History) -> None:
        self._plan = plan
        self._history = history
        self._stopping: Mailbox[None] = Mailbox()
        self._leaving = threading.Event()
        self._lock = threading.Lock()
        self._connector: ZookeeperConsumerConnector | None = None

    def run_until_stopped(self) -> None:
        """Connect, join and read; start again if one of these fails."""
        while not self._leaving.is_set():
            try:
                self._connect_and_read()
            except ZkConsumerError as error:
                if not self._leaving.is_set():
                    self._history.add_error(error)
                    self._stopping.get(_PAUSE_MS)

    def stop(self) -> None:
        """Leave the group. Thread: any."""
        with self._lock:
            self._leaving.set()
            connector = self._connector
        self._stopping.put(None)
        if connector is not None:
            connector.shutdown()

    def _connect_and_read(self) -> None:
        with ZookeeperConsumerConnector(ConsumerConfig(self._plan["settings"])) as connector:
            with self._lock:
                if self._leaving.is_set():
                    return
                self._connector = connector
            streams = self._join(connector)
            readers = ThreadScope("readers")
            for number, stream in enumerate(streams):
                self._spawn(readers, number, stream)
            while not self._leaving.is_set():
                self._stopping.get(None)
            connector.shutdown()
            assert readers.close(_JOIN_MS) == []

    def _join(self, connector: ZookeeperConsumerConnector) -> list[KafkaStream[bytes, bytes]]:
        if self._plan["whitelist"]:
            return connector.create_message_streams_by_filter(Whitelist(self._plan["whitelist"]))
        by_topic = connector.create_message_streams(self._plan["topics"])
        return [stream for streams in by_topic.values() for stream in streams]

    def _spawn(self, readers: ThreadScope, number: int, stream: KafkaStream[bytes, bytes]) -> None:
        def run() -> None:
            while not self._read(f"{self._history.member}/{number}", stream):
                pass

        readers.spawn(f"read-{number}", run, stop=lambda: None)

    def _read(self, reader: str, stream: KafkaStream[bytes, bytes]) -> bool:
        """Read until the stream ends (True) or raises (False)."""
        history = self._history
        try:
            for _ in recorded(stream, history.recorder, history.member, reader):
                pass
        except ZkConsumerError:
            history.count_error()
            return False
        return True


def open_descriptors() -> dict[int, str]:
    """Return the open descriptors of this process, by number."""
    found: dict[int, str] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the descriptor of the listing itself
    return found


def main(plan_file: str) -> None:
    """Run until SIGTERM, and record what is left then."""
    plan: Plan = json.loads(Path(plan_file).read_text())
    signals: Mailbox[int] = Mailbox()
    signal.signal(signal.SIGTERM, lambda number, _frame: signals.put(number))
    # The history file shows that SIGTERM is handled: before that, it just ends the process.
    history = History(plan)
    open_before = open_descriptors()
    member = Member(plan, history)
    scope = ThreadScope("member")
    scope.spawn("run", member.run_until_stopped, stop=member.stop)
    while signals.get(500) is None and scope.first_error() is None:
        pass
    stuck = scope.close(_JOIN_MS)
    error = scope.first_error()
    if error is not None:
        raise error
    gc.collect()
    left = {
        "stuck": stuck,
        "threads": [
            thread.name for thread in threading.enumerate() if thread is not threading.main_thread()
        ],
        "open": sorted(open_descriptors().items() - open_before.items()),
    }
    history.recorder.add(history.member, "info", "note", left=left)


if __name__ == "__main__":
    main(*sys.argv[1:])
