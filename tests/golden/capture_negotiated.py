"""Captures the APIs of consumers from brokers 0.9 to 3.9, in every version that both sides know.

Run it with ``python -m tests.golden.capture_negotiated``; it writes ``data/negotiated-*.json.gz``.
The expected facts of a response follow from how the scene was set up, not from decoding it.
"""

import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import closing

from tests.golden.capture_frames import TIMEOUT_MS, GoldenFrame
from tests.golden.frame_scenes import Fact
from tests.golden.jvm import DATA
from tests.golden.negotiated_scenes import GROUP_ROUNDS, RECORD_COUNT, SET, TOPIC, Round
from tests.support.negotiating import negotiate
from tests.support.raw_connections import raw_connection
from tests.support.recording_net import Recorder
from tests.support.waiting import wait_until
from zkconsumer.model import Broker
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.sandbox.cluster import Sandbox
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages.find_coordinator import FindCoordinatorRequest
from zkconsumer.wire.messages.produce import ProducePartition, ProduceRequest, ProduceTopic

VERSIONS = ("0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2", "3.9.1")


def capture(versions: tuple[str, ...] = VERSIONS) -> None:
    """Write the files of these versions again."""
    for version in versions:
        frames = list(capture_version(version))
        data = (json.dumps(frames, indent=1) + "\n").encode()
        path = DATA / f"negotiated-{version}.json.gz"
        path.write_bytes(gzip.compress(data, mtime=0))


def capture_version(kafka: str) -> Iterator[GoldenFrame]:
    """Send requests to one broker, in each round with the next version of each API."""
    properties = {"group.initial.rebalance.delay.ms": "0"}
    with Sandbox(kafka=kafka, broker_properties=properties) as cluster:
        cluster.create_topic(TOPIC)
        (broker,) = cluster.brokers
        with closing(RecordingClient(kafka, broker)) as asker:
            asker.fill()
            wait_until(asker.has_coordinator, what="the coordinator")
            seen: set[tuple[str, int]] = set()
            for number in range(GROUP_ROUNDS):
                for frame in Round(number, asker.versions).frames(asker.exchange):
                    if (frame["api"], frame["version"]) not in seen:
                        seen.add((frame["api"], frame["version"]))
                        yield frame


class RecordingClient:
    """A recorded connection to one broker, and the versions that it supports."""

    def __init__(self, kafka: str, broker: Broker) -> None:
        self._source = f"Kafka {kafka}"
        self._recorder = Recorder(TcpConnector())
        self.versions, _ = negotiate(
            lambda: TcpConnector().connect(broker.host, broker.port, timeout_ms=TIMEOUT_MS)
        )
        self.connection = raw_connection(
            broker, connector=self._recorder, client_id="golden", timeout_ms=TIMEOUT_MS
        )

    def exchange(
        self, request: Request[Response], version: int, facts: dict[str, Fact]
    ) -> tuple[GoldenFrame, Response]:
        """Send a request and return both frames."""
        response = self.connection.request(request, version=version, timeout_ms=TIMEOUT_MS)
        name = f"{type(request).__name__} v{version}"
        frame = GoldenFrame(
            name=name,
            source=f"{self._source}: {name}",
            api=request.API.key.name,
            version=version,
            request=self._recorder.sent.hex(),
            response=self._recorder.received.hex(),
            facts=facts,
        )
        return frame, response

    def fill(self) -> None:
        """Produce the records that are fetched later."""
        partition = ProducePartition(partition=0, records=SET)
        request = ProduceRequest(
            acks=1,
            timeout_ms=TIMEOUT_MS,
            topics=(ProduceTopic(topic=TOPIC, partitions=(partition,)),),
        )
        response = self.connection.request(request, version=0, timeout_ms=TIMEOUT_MS)
        produced = response.topics[0].partitions[0]
        assert (produced.error_code, produced.base_offset) == (0, 0), (response, RECORD_COUNT)

    def has_coordinator(self) -> bool:
        """Whether the group has a coordinator already."""
        response = self.connection.request(
            FindCoordinatorRequest(group_id="golden"), version=0, timeout_ms=TIMEOUT_MS
        )
        return response.error_code == 0

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


if __name__ == "__main__":
    capture(tuple(sys.argv[1:]) or VERSIONS)
