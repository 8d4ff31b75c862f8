"""Members of a group: ours, ours as a process, and the original's console consumer.

Values identify what they deliver: ``topic:partition:number``, as ``traffic`` writes them.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.histories.recorder import LineTail, Recorder
from tests.histories.rules import FREEZE, KILL
from tests.support import warm
from tests.support.recorded import declare, recorded
from zkconsumer import (
    Blacklist,
    ConsumerConfig,
    MessageAndMetadata,
    Whitelist,
    ZookeeperConsumerConnector,
)
from zkconsumer.clock import SystemClock
from zkconsumer.sandbox import Sandbox, ScalaTool
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.stream import KafkaStream

Subscription = Mapping[str, int] | Whitelist | Blacklist

TIMINGS = {
    "zookeeper.session.timeout.ms": "3000",
    "zookeeper.sync.time.ms": "200",
    "rebalance.backoff.ms": "250",
    "rebalance.max.retries": "20",
    "auto.commit.interval.ms": "200",
    "refresh.leader.backoff.ms": "100",
    "fetch.wait.max.ms": "50",
}
_LOAD_SLACK_MS = 5_000
REPOSITORY = Path(__file__).parents[2]


class Delivery(NamedTuple):
    """A message that a stream of ours delivered; ``stream`` is ``topic/number`` of the stream."""

    stream: str
    topic: str
    partition: int
    offset: int
    value: str


class OurMember:
    """A connector of ours, with a thread that reads each of its streams.

    Args:
        cluster: the cluster.
        group: the group id.
        subscription: stream counts by topic, or a filter.
        streams: how many, for a filter.
        settings: on top of ``TIMINGS``.
        recorder: records every message.
    """

    def __init__(
        self,
        cluster: Sandbox,
        group: str,
        subscription: Subscription,
        *,
        streams: int = 1,
        settings: Mapping[str, str] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        props = {
            **TIMINGS,
            "zookeeper.connect": cluster.zookeeper_connect,
            "group.id": group,
            "auto.offset.reset": "smallest",
            **(settings or {}),
        }
        self._connector = ZookeeperConsumerConnector(ConsumerConfig(props))
        self._scope = ThreadScope(f"readers of {self._connector.consumer_id}")
        self._left = False
        self.consumer_id = self._connector.consumer_id
        self.delivered: list[Delivery] = []
        self._recorder = Recorder(SystemClock().wall_ms) if recorder is None else recorder
        declare(self._recorder, self.consumer_id, props)
        try:
            self._read_all(subscription, streams)
        except BaseException:
            self._connector.shutdown()
            raise

    @property
    def values(self) -> list[str]:
        """The values delivered so far."""
        return [delivery.value for delivery in self.delivered]

    def leave(self) -> None:
        """Shut down cleanly; raise a stream's error, if there is one."""
        if self._left:
            return
        self._left = True
        self._connector.shutdown()
        assert self._scope.close(10_000) == []
        error = self._scope.first_error()
        if error is not None:
            raise error

    def _read_all(self, subscription: Subscription, count: int) -> None:
        if isinstance(subscription, Mapping):
            by_topic = self._connector.create_message_streams(subscription)
        else:
            by_topic = {
                "*": self._connector.create_message_streams_by_filter(subscription, count),
            }
        for topic, streams in by_topic.items():
            for number, stream in enumerate(streams):
                self._read(f"{topic}/{number}", stream)

    def _read(self, name: str, stream: KafkaStream[bytes, bytes]) -> None:
        def run() -> None:
            reader = f"{self.consumer_id}/{name}"
            for message in recorded(stream, self._recorder, self.consumer_id, reader):
                self.delivered.append(_delivery(name, message))

        self._scope.spawn(name, run, stop=lambda: None)  # the stream ends with its connector


def _delivery(stream: str, message: MessageAndMetadata[bytes, bytes]) -> Delivery:
    # A member with a blacklist also reads what other tests left on this cluster.
    value = (message.value or b"").decode(errors="replace")
    return Delivery(stream, message.topic, message.partition, message.offset, value)


class _Faults:
    """Records the faults of a member."""

    def __init__(self, member: str, recorder: Recorder | None) -> None:
        self._member = member
        self._recorder = recorder
        self._clock = SystemClock()
        self._frozen_ms = 0

    def killed(self, began_ms: int) -> None:
        self._note(KILL, began_ms)

    def frozen(self) -> None:
        self._frozen_ms = self.now_ms()

    def thawed(self) -> None:
        self._note(FREEZE, self._frozen_ms)

    def now_ms(self) -> int:
        return self._clock.wall_ms()

    def _note(self, kind: str, began_ms: int) -> None:
        if self._recorder is not None:
            when = {"time": began_ms, "until": self.now_ms()}
            self._recorder.add("nemesis", "info", "fault", kind=kind, member=self._member, **when)


class OurProcess:
    """A member of ours in a process, for signals; prints its history as it goes.

    Args:
        topic: the topic that it reads, with one stream.
        settings: its configuration.
        folder: for its output.
        recorder: records its faults.
    """

    def __init__(
        self,
        topic: str,
        settings: Mapping[str, str],
        folder: Path,
        recorder: Recorder | None = None,
    ) -> None:
        folder.mkdir(parents=True)
        self._output = folder / "stdout"
        self.consumer_id = f"{settings['group.id']}_{settings['consumer.id']}"
        self._faults = _Faults(self.consumer_id, recorder)
        arguments = [f"{key}={value}" for key, value in settings.items()]
        with self._output.open("wb") as output, (folder / "stderr").open("wb") as errors:
            self._process = warm.Popen(
                [sys.executable, "-m", "tests.interop.member_process", topic, *arguments],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )

    @property
    def values(self) -> list[str]:
        """The values delivered so far."""
        return [message[3] for fact in self.history for message in fact.get("messages", ())]

    @property
    def history(self) -> list[dict[str, Any]]:
        """The operations printed so far; a line cut off by a kill does not count."""
        return [json.loads(line) for line in LineTail(self._output).take()]

    def kill(self) -> None:
        """Kill it with ``SIGKILL``: it does not leave the group."""
        began_ms = self._faults.now_ms()
        self._process.kill()
        self._process.wait()
        self._faults.killed(began_ms)

    def pause(self) -> None:
        """Freeze it."""
        self._faults.frozen()
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Resume it."""
        self._process.send_signal(signal.SIGCONT)
        self._faults.thawed()


class ScalaMember:
    """The original's console consumer with one stream; it always registers as a white list.

    Args:
        tool: the running tool.
        group: the group id.
        consumer_id: its ``consumer.id``.
        recorder: records its faults.
        earliest: whether it reads a partition without an offset from the beginning.
    """

    def __init__(
        self,
        tool: ScalaTool,
        group: str,
        consumer_id: str | None,
        recorder: Recorder,
        *,
        earliest: bool,
    ) -> None:
        self.tool = tool
        self.consumer_id = f"{group}_{consumer_id}"
        self._faults = _Faults(self.consumer_id, recorder)
        self._began_ms = self._faults.now_ms()
        self._earliest = earliest

    @property
    def values(self) -> list[str]:
        """The values it printed so far."""
        return self.tool.lines

    @property
    def history(self) -> list[dict[str, Any]]:
        """What it printed, at some time between its start and now; it makes few promises."""
        now_ms = self._faults.now_ms()
        head = {"process": self.consumer_id, "member": self.consumer_id, "time": now_ms}
        promises = {"promises": ["starts"], "load_slack_ms": _LOAD_SLACK_MS}
        start = "earliest" if self._earliest else "latest"
        messages = [[None, None, None, value] for value in self.values]
        poll = {"since": self._began_ms, "messages": messages}
        return [
            {**head, "type": "info", "f": "member", **promises, "start": start},
            {**head, "type": "ok", "f": "poll", **poll},
        ]

    def check_no_rebalance_failed(self) -> None:
        """Check that it never ran out of tries, and could read the others' registrations.

        Only what it logged before it was asked to leave counts: when asked in the middle of a
        rebalance, it fails all remaining tries by itself (KAFKA-1848).
        """
        log = (self.tool.folder / "log").read_text("utf-8", "replace")
        alive = log.partition("ZKConsumerConnector shutting down")[0]
        assert "ConsumerRebalanceFailedException" not in alive
        assert "error constructing TopicCount" not in alive

    def leave(self) -> None:
        """Ask it to end (it commits and leaves the group), and wait for that."""
        assert self.tool.poll() is None, f"ended by itself: {self.tool.errors}"
        assert self.tool.stop(), "it did not end when asked to"

    def request_leave(self) -> None:
        """Ask it to end, and don't wait."""
        os.kill(self.tool.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill it with ``SIGKILL``: its session lasts until it times out."""
        began_ms = self._faults.now_ms()
        self.tool.kill()
        self._faults.killed(began_ms)

    def pause(self) -> None:
        """Freeze it."""
        self._faults.frozen()
        self.tool.pause()

    def resume(self) -> None:
        """Resume it."""
        self.tool.resume()
        self._faults.thawed()


Member = OurMember | OurProcess | ScalaMember
