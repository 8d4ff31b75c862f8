"""Clusters reached through bootstrap servers only, and helpers that compare their groups' lag."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple, Protocol

from tests.support.clusters import fresh_name
from zkconsumer import KafkaConsumer, OffsetAndMetadata
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox.tools import ToolResult

_TIMEOUT_MS = 20_000


class AloneCluster(Protocol):
    """A cluster with bootstrap servers: a ``KraftNode`` or a ``Sandbox``."""

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of its brokers, separated by commas."""
        ...


class GroupLag(NamedTuple):
    """A group's offset and lag in one partition; ``owner``: the member's id, or a dash."""

    topic: str
    partition: int
    offset: int | None
    log_end: int
    lag: int | None
    owner: str


def brokers_of(bootstrap: str) -> list[Broker]:
    """Parse ``bootstrap.servers`` into brokers."""
    found = []
    for number, address in enumerate(bootstrap.split(",")):
        host, _, port = address.rpartition(":")
        found.append(Broker(-1 - number, host, int(port)))
    return found


def write_alone(cluster: AloneCluster, topic: str, counts: Sequence[int]) -> None:
    """Write ``counts[n]`` records into partition n of a topic."""
    with closing(BatchProducer(brokers_of(cluster.bootstrap_servers))) as producer:
        for number, count in enumerate(counts):
            if count:
                tp = TopicPartition(topic, number)
                producer.write({tp: [Record(0, None, b"v%d" % number) for number in range(count)]})


def commit_alone(cluster: AloneCluster, group: str, offsets: dict[TopicPartition, int]) -> None:
    """Commit offsets for a group that never had a member."""
    with KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id=group, enable_auto_commit=False
    ) as consumer:
        consumer.assign(sorted(offsets))
        consumer.commit({tp: OffsetAndMetadata(offset, "") for tp, offset in offsets.items()})


@contextmanager
def reading(cluster: AloneCluster, topic: str, group: str, count: int) -> Iterator[KafkaConsumer]:
    """Yield a member that has read and committed ``count`` records, and is still in the group."""
    with KafkaConsumer(
        topic,
        bootstrap_servers=cluster.bootstrap_servers,
        group_id=group,
        client_id=fresh_name("member"),
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=1,
    ) as consumer:
        for _ in range(count):
            assert consumer.poll(_TIMEOUT_MS), "nothing came"
        consumer.commit()
        yield consumer


def described_by_kafka(
    message: ToolResult,
) -> dict[tuple[str, int], GroupLag]:
    """Parse the output of ``kafka-consumer-groups.sh --describe``."""
    lines = [line.split() for line in message.lines if line.split()]
    start = next(number for number, line in enumerate(lines) if "CURRENT-OFFSET" in line)
    names = lines[start]
    found = {}
    for line in lines[start + 1 :]:
        cells = dict(zip(names, line, strict=False))
        place = GroupLag(
            cells["TOPIC"],
            int(cells["PARTITION"]),
            _number(cells["CURRENT-OFFSET"]),
            int(cells["LOG-END-OFFSET"]),
            _number(cells["LAG"]),
            # A long consumer id runs into the next column, the host, which begins with a slash.
            cells["CONSUMER-ID"].partition("/")[0],
        )
        found[place.topic, place.partition] = place
    return found


def described_by_lag(table: str, group: str) -> dict[tuple[str, int], GroupLag]:
    """Parse a group's rows of the table that ``zkconsumer lag`` prints."""
    lines = [line.split() for line in table.splitlines()]
    names = " ".join(lines[0]).replace("LOG END", "LOG-END").split()
    found = {}
    for line in lines[1:]:
        cells = dict(zip(names, line, strict=False))
        if cells.get("GROUP") != group or "OWNER" not in cells:
            continue
        place = GroupLag(
            cells["TOPIC"],
            int(cells["PARTITION"]),
            _number(cells["OFFSET"]),
            int(cells["LOG-END"]),
            _number(cells["LAG"]),
            "-" if cells["OWNER"] == "nobody" else cells["OWNER"],
        )
        found[place.topic, place.partition] = place
    return found


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)
