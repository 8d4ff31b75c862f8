"""Clusters that are accessed through brokers only, and the status of their groups."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple, Protocol

from tests.support.clusters import fresh_name
from zkconsumer import KafkaConsumer, OffsetAndMetadata
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox.tools import ToolResult

_TIMEOUT_MS = 20_000


class BootstrapCluster(Protocol):
    """A cluster with a bootstrap address: ``KraftNode`` and ``Sandbox``."""

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of its brokers."""
        ...


class DescribedPartition(NamedTuple):
    """A group's status in a partition; ``owner`` is the member's id, or a dash."""

    topic: str
    partition: int
    offset: int | None
    log_end: int
    lag: int | None
    owner: str


def brokers_of(bootstrap: str) -> list[Broker]:
    """Parse ``bootstrap.servers`` into brokers with negative ids."""
    brokers = []
    for number, address in enumerate(bootstrap.split(",")):
        host, _, port = address.rpartition(":")
        brokers.append(Broker(-1 - number, host, int(port)))
    return brokers


def write_records(cluster: BootstrapCluster, topic: str, counts: Sequence[int]) -> None:
    """Write ``counts[n]`` records into partition n of a topic."""
    with closing(BatchProducer(brokers_of(cluster.bootstrap_servers))) as producer:
        for number, count in enumerate(counts):
            if count:
                tp = TopicPartition(topic, number)
                producer.write({tp: [Record(0, None, b"v%d" % number) for number in range(count)]})


def commit_offsets(
    cluster: BootstrapCluster, group: str, offsets: dict[TopicPartition, int]
) -> None:
    """Commit offsets for a group without members."""
    with KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers, group_id=group, enable_auto_commit=False
    ) as consumer:
        consumer.assign(sorted(offsets))
        consumer.commit({tp: OffsetAndMetadata(offset, "") for tp, offset in offsets.items()})


@contextmanager
def reading(
    cluster: BootstrapCluster, topic: str, group: str, count: int
) -> Iterator[KafkaConsumer]:
    """Yield a live member that has read and committed ``count`` records of a topic."""
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
) -> dict[tuple[str, int], DescribedPartition]:
    """Parse the output of ``kafka-consumer-groups.sh --describe``."""
    lines = [line.split() for line in message.lines if line.split()]
    start = next(number for number, line in enumerate(lines) if "CURRENT-OFFSET" in line)
    names = lines[start]
    partitions = {}
    for line in lines[start + 1 :]:
        cells = dict(zip(names, line, strict=False))
        described = DescribedPartition(
            cells["TOPIC"],
            int(cells["PARTITION"]),
            _number(cells["CURRENT-OFFSET"]),
            int(cells["LOG-END-OFFSET"]),
            _number(cells["LAG"]),
            # After a long id the host, which starts with a slash, follows without a space.
            cells["CONSUMER-ID"].partition("/")[0],
        )
        partitions[described.topic, described.partition] = described
    return partitions


def described_by_lag(table: str, group: str) -> dict[tuple[str, int], DescribedPartition]:
    """Parse a group's lines of the table of ``zkconsumer lag``."""
    lines = [line.split() for line in table.splitlines()]
    names = " ".join(lines[0]).replace("LOG END", "LOG-END").split()
    partitions = {}
    for line in lines[1:]:
        cells = dict(zip(names, line, strict=False))
        if cells.get("GROUP") != group or "OWNER" not in cells:
            continue
        described = DescribedPartition(
            cells["TOPIC"],
            int(cells["PARTITION"]),
            _number(cells["OFFSET"]),
            int(cells["LOG-END"]),
            _number(cells["LAG"]),
            "-" if cells["OWNER"] == "nobody" else cells["OWNER"],
        )
        partitions[described.topic, described.partition] = described
    return partitions


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)
