"""Captures requests to real brokers and their responses, byte for byte: every API and its errors.

Run it with ``python -m tests.golden.capture_frames``; it writes ``data/frames-*.json``. The facts
that a response must contain follow from how the scene was set up, not from decoding it.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TypedDict

from tests.golden.frame_scenes import (
    Call,
    Fact,
    calls_before,
    calls_to_coordinator,
    calls_to_others,
    calls_with_a_broker_down,
)
from tests.support.raw_connections import raw_connection
from tests.support.recording_net import Recorder
from tests.support.waiting import wait_until
from zkconsumer.model import Broker
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.sandbox.cluster import Sandbox
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest
from zkconsumer.wire.messages.metadata import MetadataRequest

DATA = Path(__file__).parent / "data"
VERSIONS = ("0.8.0", "0.8.1.1", "0.8.2.2")
TIMEOUT_MS = 30_000


class GoldenFrame(TypedDict):
    """One exchange: both frames in hex, and the response's expected values by path."""

    name: str
    source: str
    api: str
    version: int
    request: str
    response: str
    facts: dict[str, Fact]


def capture() -> None:
    """Write all files again."""
    for version in VERSIONS:
        frames = list(capture_version(version))
        path = DATA / f"frames-{version}.json"
        path.write_text(json.dumps(frames, indent=1) + "\n")


def capture_version(kafka: str) -> Iterator[GoldenFrame]:
    """Send requests to broker 0 of two, stop broker 1, and send requests again."""
    with Sandbox(kafka=kafka, brokers=2, auto_create_topics=True) as cluster:
        cluster.create_topic("two", assignment={0: [0], 1: [1]})
        cluster.create_topic("both", assignment={0: [0, 1]})
        cluster.create_topic("followed", assignment={0: [1, 0]})
        cluster.create_topic("away", assignment={0: [1]})
        if kafka != "0.8.0":
            cluster.create_topic("small", assignment={0: [0]}, config={"max.message.bytes": "20"})
        with closing(_RecordingClient(kafka, cluster.brokers[0])) as first:
            for call in calls_before():
                if kafka in call.brokers:
                    yield first.exchange(call)
        if kafka != "0.8.2.2":
            # Older brokers have no coordinator, and may list dead replicas for ever.
            return
        yield from _capture_coordinator(kafka, cluster)
        cluster.stop_broker(1)
        with closing(_RecordingClient(kafka, cluster.brokers[0])) as left:
            wait_until(left.reports_the_loss, what="the broker to be missed")
            for call in calls_with_a_broker_down():
                yield left.exchange(call)


def _capture_coordinator(kafka: str, cluster: Sandbox) -> Iterator[GoldenFrame]:
    """Ask for the coordinator until there is one, and send requests to it."""
    request = FindCoordinatorRequest(group_id="golden")
    with closing(_RecordingClient(kafka, cluster.brokers[0])) as anyone:
        wait_until(
            lambda: anyone.connection.request(request, version=0, timeout_ms=TIMEOUT_MS).port > 0,
            what="a coordinator",
        )
        found = anyone.connection.request(request, version=0, timeout_ms=TIMEOUT_MS)
        facts: dict[str, Fact] = {
            "error_code": 0,
            "host": "127.0.0.1",
            "coordinator_id": found.coordinator_id,
        }
        yield anyone.exchange(Call("coordinator", request, 0, facts))
    other = cluster.brokers[1 - found.coordinator_id]
    coordinator = cluster.brokers[found.coordinator_id]
    with closing(_RecordingClient(kafka, coordinator)) as asker:
        for call in calls_to_coordinator():
            yield asker.exchange(call)
    with closing(_RecordingClient(kafka, other)) as asker:
        for call in calls_to_others():
            yield asker.exchange(call)


class _RecordingClient:
    """A recorded connection to one broker."""

    def __init__(self, kafka: str, broker: Broker) -> None:
        self._source = f"Kafka {kafka}, broker {broker.id}"
        self._recorder = Recorder(TcpConnector())
        self.connection = raw_connection(
            broker, connector=self._recorder, client_id="golden", timeout_ms=TIMEOUT_MS
        )

    def exchange(self, call: Call) -> GoldenFrame:
        """Send a request and return both frames."""
        self.connection.request(call.request, version=call.version, timeout_ms=TIMEOUT_MS)
        return GoldenFrame(
            name=call.name,
            source=f"{self._source}: {type(call.request).__name__} v{call.version}",
            api=call.request.API.key.name,
            version=call.version,
            request=self._recorder.sent.hex(),
            response=self._recorder.received.hex(),
            facts=call.facts,
        )

    def reports_the_loss(self) -> bool:
        """Whether the broker reports the loss of the other one."""
        response = self.connection.request(
            MetadataRequest(topics=("away", "both")), version=0, timeout_ms=TIMEOUT_MS
        )
        away, both = (topic.partitions[0] for topic in response.topics)
        return (away.leader, away.replicas, both.replicas, both.isr) == (-1, (), (0,), (0,))

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


if __name__ == "__main__":
    capture()
