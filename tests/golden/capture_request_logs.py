"""Captures lines of real brokers' request logs: ``python -m tests.golden.capture_request_logs``.

Two brokers of each release with ``kafka.request.logger`` at DEBUG receive requests in old and new
versions; the expected report of ``doctor --request-log`` follows from these (``LOGGED``).
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tests.golden.jvm import DATA
from tests.support.raw_connections import raw_connection
from tests.support.request_logging import RequestLogging
from tests.support.waiting import wait_until
from zkconsumer.model import Broker, Record
from zkconsumer.records.build import build_message_set
from zkconsumer.sandbox.cluster import Sandbox
from zkconsumer.wire.api import Request, Response
from zkconsumer.wire.messages.api_versions import ApiVersionsRequest
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from zkconsumer.wire.messages.list_offsets import (
    LATEST_TIMESTAMP,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.messages.produce import ProducePartition, ProduceRequest, ProduceTopic

RELEASES = ("0.8.2.2", "0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2", "3.9.1")
AT_TRACE_ALONE = "0.10.2.2"
MARK = "Completed request:"
_KIND_CHARS = 150
TOPIC = "golden"
TIMEOUT_MS = 10_000
FOLLOWER_NAMED = "replicaId=1"
LIBRARY = "golden-lib"


class LoggedRequest(NamedTuple):
    """A request, its version, and its client."""

    request: Request[Response]
    version: int
    client_id: str
    from_release: tuple[int, ...] = (0, 8)
    not_in: str = ""
    says_library: bool = False
    reported: str = ""
    """The doctor's name of the request, if Kafka 4 refuses it."""

    def is_of(self, release: str) -> bool:
        """Whether brokers of this release answer this request."""
        served = tuple(map(int, release.split("."))) >= self.from_release
        return served and release != self.not_in


_FETCH = FetchRequest(
    max_wait_ms=0,
    min_bytes=0,
    topics=(
        FetchTopic(
            topic=TOPIC,
            partitions=(FetchPartition(partition=0, fetch_offset=0, max_bytes=1_000),),
        ),
    ),
)
_PRODUCE = ProduceRequest(
    acks=1,
    timeout_ms=TIMEOUT_MS,
    topics=(
        ProduceTopic(
            topic=TOPIC,
            partitions=(
                ProducePartition(partition=0, records=build_message_set([Record(0, b"k", b"v")])),
            ),
        ),
    ),
)
_LIST = ListOffsetsRequest(
    topics=(
        ListOffsetsTopic(
            topic=TOPIC,
            partitions=(ListOffsetsPartition(partition=0, timestamp=LATEST_TIMESTAMP),),
        ),
    )
)
_OWN_NAME = "0.11.0.3"
"""A release whose brokers put client ids unquoted into MBean names, and then do not answer."""
LOGGED = (
    LoggedRequest(_PRODUCE, 0, "orders, web", not_in=_OWN_NAME, reported="Produce"),
    LoggedRequest(_PRODUCE, 0, "orders", reported="Produce"),
    LoggedRequest(_FETCH, 0, "billing", reported="FetchConsumer"),
    LoggedRequest(_FETCH, 0, FOLLOWER_NAMED, not_in=_OWN_NAME, reported="FetchConsumer"),
    LoggedRequest(_FETCH, 0, "", reported="FetchConsumer"),
    LoggedRequest(
        _FETCH, 3, "library", from_release=(2, 4), says_library=True, reported="FetchConsumer"
    ),
    LoggedRequest(_LIST, 0, "billing", reported="ListOffsets"),
    LoggedRequest(MetadataRequest(topics=(TOPIC,)), 0, "billing"),
    LoggedRequest(_FETCH, 4, "new", from_release=(0, 11)),
    LoggedRequest(_LIST, 1, "new", from_release=(0, 10, 1)),
)
"""The requests, in the order in which they are sent while brokers follow each other."""


def path_of(release: str) -> Path:
    """Return the file with a release's captured lines."""
    return DATA / f"request-log-{release}.txt"


def capture(releases: tuple[str, ...] = RELEASES) -> None:
    """Write the files of these releases again."""
    for release in releases:
        lines = "".join(f"{line}\n" for line in capture_release(release))
        path_of(release).write_text(lines, "utf-8")


def capture_release(release: str) -> list[str]:
    """Send the requests to a release's brokers, and return the lines in their logs."""
    level = "TRACE" if release == AT_TRACE_ALONE else "DEBUG"
    logged = [logged for logged in LOGGED if logged.is_of(release)]
    with tempfile.TemporaryDirectory() as folder:
        logging = RequestLogging.into(Path(folder), level)
        with Sandbox(kafka=release, brokers=2, broker_jvm_flags=logging.flags) as cluster:
            cluster.create_topic(TOPIC, assignment={0: [0, 1]})
            for request in logged:
                send_request(cluster.brokers[0], request)

            def lines() -> list[str]:
                return list(_relevant_lines(logging.file.read_text("utf-8")))

            wait_until(
                lambda: (
                    sum(is_reported(line, logged) for line in lines()) >= len(logged)
                    and any("etcher" in line for line in lines())
                ),
                what="lines of all requests, and one of a follower",
            )
            return lines()


def is_reported(line: str, logged: list[LoggedRequest]) -> bool:
    """Whether a line is about one of these clients."""
    return any(
        re.search(rf"client_?id\W{{1,3}}{re.escape(request.client_id)}\W", line, re.IGNORECASE)
        for request in logged
    )


def send_request(broker: Broker, logged: LoggedRequest) -> None:
    """Send a request over a connection of its own."""
    with closing(raw_connection(broker, client_id=logged.client_id)) as connection:
        if logged.says_library:
            software = {"client_software_name": LIBRARY, "client_software_version": "1.0"}
            connection.request(ApiVersionsRequest(**software), version=3, timeout_ms=TIMEOUT_MS)
        connection.request(logged.request, version=logged.version, timeout_ms=TIMEOUT_MS)


def _relevant_lines(text: str) -> Iterator[str]:
    """Yield the first line of each kind, except for the sandbox's own requests."""
    seen: set[str] = set()
    for line in text.splitlines():
        kind = re.sub(r"\d+", "0", line)[: line.find(MARK) + _KIND_CHARS]
        if kind not in seen and not re.search("zkconsumer-sandbox|API_VERSIONS", line):
            seen.add(kind)
            yield line


if __name__ == "__main__":
    capture(tuple(sys.argv[1:]) or RELEASES)
