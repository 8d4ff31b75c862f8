"""Members of a group: ours, ours as a process, and the original's console consumer.

What they deliver is told by the values: ``topic:partition:number``, as ``traffic`` writes them.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from zkconsumer import (
    Blacklist,
    ConsumerConfig,
    MessageAndMetadata,
    Whitelist,
    ZookeeperConsumerConnector,
)
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
REPOSITORY = Path(__file__).parents[2]


class Delivery(NamedTuple):
    """A message that a stream of ours delivered; ``stream`` is ``topic/number`` of the stream."""

    stream: str
    topic: str
    partition: int
    offset: int
    value: str


class OurMember:
    """A connector of ours, a thread reading each of its streams.

    Args:
        cluster: where.
        group: the group id.
        subscription: stream counts by topic, or a filter.
        streams: how many, for a filter.
        settings: on top of ``TIMINGS``.
    """

    def __init__(
        self,
        cluster: Sandbox,
        group: str,
        subscription: Subscription,
        *,
        streams: int = 1,
        settings: Mapping[str, str] | None = None,
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
        try:
            self._read_all(subscription, streams)
        except BaseException:
            self._connector.shutdown()
            raise

    @property
    def values(self) -> list[str]:
        """The values delivered so far."""
        return [one.value for one in self.delivered]

    def leave(self) -> None:
        """Shut down in order; an error of a stream is raised here."""
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
            for message in stream:
                self.delivered.append(_delivery(name, message))

        self._scope.spawn(name, run, stop=lambda: None)  # the stream ends with its connector


def _delivery(stream: str, message: MessageAndMetadata[bytes, bytes]) -> Delivery:
    # A member with a blacklist also reads what other tests left on this cluster.
    value = (message.value or b"").decode(errors="replace")
    return Delivery(stream, message.topic, message.partition, message.offset, value)


class OurProcess:
    """A member of ours in a process of its own, for signals; prints values as it goes.

    Args:
        topic: what it reads, with one stream.
        settings: its configuration.
        folder: gets its output.
    """

    def __init__(self, topic: str, settings: Mapping[str, str], folder: Path) -> None:
        folder.mkdir(parents=True)
        self._output = folder / "stdout"
        self.consumer_id = f"{settings['group.id']}_{settings['consumer.id']}"
        arguments = [f"{key}={value}" for key, value in settings.items()]
        with self._output.open("wb") as output, (folder / "stderr").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.interop.member_process", topic, *arguments],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )

    @property
    def values(self) -> list[str]:
        """The values printed so far; a line cut off by a kill does not count."""
        return self._output.read_text().rpartition("\n")[0].splitlines()

    def kill(self) -> None:
        """``SIGKILL``: no good-bye."""
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """Freeze it."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)


class ScalaMember:
    """The original's console consumer, one stream; it always registers as a white list."""

    def __init__(self, tool: ScalaTool, group: str, consumer_id: str | None) -> None:
        self.tool = tool
        self.consumer_id = f"{group}_{consumer_id}"

    @property
    def values(self) -> list[str]:
        """The values it printed so far."""
        return self.tool.lines

    def check_no_rebalance_failed(self) -> None:
        """It never ran out of tries, and could read what the others wrote.

        Only what it logged before it was asked to leave counts: asked in the middle of a rebalance,
        it fails all tries that are left, on its own account (KAFKA-1848).
        """
        log = (self.tool.folder / "log").read_text("utf-8", "replace")
        alive = log.partition("ZKConsumerConnector shutting down")[0]
        assert "ConsumerRebalanceFailedException" not in alive
        assert "error constructing TopicCount" not in alive

    def leave(self) -> None:
        """Ask it to end (it commits and leaves the group), and wait for that."""
        assert self.tool.poll() is None, f"ended by itself: {self.tool.errors}"
        assert self.tool.stop(), "it did not end when asked to"

    def ask_to_leave(self) -> None:
        """Ask it to end, and don't wait."""
        os.kill(self.tool.pid, signal.SIGTERM)

    def kill(self) -> None:
        """``SIGKILL``: its session stays until it times out."""
        self.tool.kill()

    def pause(self) -> None:
        """Freeze it."""
        self.tool.pause()

    def resume(self) -> None:
        """Let it go on."""
        self.tool.resume()


Member = OurMember | OurProcess | ScalaMember
