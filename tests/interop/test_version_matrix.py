"""The same promises on every Kafka of the sandbox; docs/versions.md shows the outcome.

The cells that a test asserts are in ``version_matrix``. In CI each version shares a topic, and each
feature is tested on the versions where it differs; ``make test-versions`` runs the rest, which
``on_versions`` leaves out.
"""

import inspect
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop.members import TIMINGS, ScalaMember
from tests.interop.mixed_group import CONSOLE_CONSUMER, MixedGroup
from tests.interop.version_matrix import FEATURES, PAGE, Cell, page
from tests.support.clusters import BrokerOf
from tests.support.fetch_bench import take_values
from tests.support.log_readers import LogReader
from tests.support.matrix import in_matrix
from tests.support.real_topics import PartitionReader
from tests.support.tcp_gate import TcpGate
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.errors import BrokerError, RebalanceFailed
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.leader_finder import loop_class
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import Engine
from zkconsumer.sandbox import VERSIONS, Sandbox, ToolResult
from zkconsumer.scope import ThreadScope
from zkconsumer.wire.api import ApiKey

pytestmark = pytest.mark.long
CONSOLE_PRODUCER = "kafka.tools.ConsoleProducer"
OLD_CONSOLE_PRODUCER = "kafka.producer.ConsoleProducer"
OLD_CONSOLE_CONSUMER = "kafka.consumer.ConsoleConsumer"
NEW_CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
WITH_OLD_NAMES = {"0.8.0", "0.8.1.1"}
WITH_NEW_NAMES = {"3.9.1"}
DISK_MAGIC = {Cell.MAGIC_0: 0, Cell.MAGIC_1: 1, Cell.MAGIC_2: 2}
MAGIC_AT = 16
IN_BOTH = {"offsets.storage": "kafka", "dual.commit.enabled": "true"}
IN_KAFKA = {**IN_BOTH, "dual.commit.enabled": "false"}
COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


class RunningVersion(NamedTuple):
    """A cluster of one version, and its folder."""

    cluster: Sandbox
    folder: Path


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest, broker_of: BrokerOf, disks: Path) -> RunningVersion:
    """Give a broker of each version."""
    return RunningVersion(broker_of(request.param), disks / request.param)


def on_versions(*in_ci: str) -> pytest.MarkDecorator:
    """Run a test on every version; all but these only with ``make test-versions``."""
    return in_matrix("running", VERSIONS, in_ci, indirect=True)


@pytest.fixture
def cluster(running: RunningVersion) -> Sandbox:
    """Give the group's cluster."""
    return running.cluster


def cell(feature: str, kafka: str) -> Cell:
    """Return the table's cell."""
    return FEATURES[feature].cells[kafka]


def stored_magic(running: RunningVersion, topic: str) -> int:
    """Return the magic of the first entry in a topic's log; all formats have it at one position."""
    (log,) = running.folder.glob(f"broker-0/data/{topic}-0/*.log")
    return log.read_bytes()[MAGIC_AT]


def assert_served_as_magic_0(
    cluster: Sandbox, topic: str, messages: list[tuple[bytes | None, str]]
) -> None:
    """Check that a consumer of 0.8 gets the written keys and values, in the format of 0.8."""
    reader = PartitionReader(cluster)
    try:
        assert bytes(reader.fetch(topic, 0).records)[MAGIC_AT] == 0
        served = [
            record for decoded_set in reader.read_all(topic, 0) for record in decoded_set.records
        ]
    finally:
        reader.close()
    assert served == [
        Record(offset, key, value.encode()) for offset, (key, value) in enumerate(messages)
    ]


def key_of(value: str) -> bytes:
    """Return the key that the tests' writer gives a message."""
    return f"key {value}".encode()


@pytest.mark.sandbox
@on_versions(*VERSIONS)
def test_two_members_share_a_topic_and_one_takes_over(group: MixedGroup) -> None:
    """Each reads its half, each message comes once, and the last member continues exactly."""
    kafka = group.cluster.kafka
    assert {cell("share", kafka), cell("leave", kafka)} == {Cell.YES}
    topic = group.topic(4)
    a, b = group.ours({topic: 1}, "a"), group.ours({topic: 1}, "b")
    group.await_settled([topic], ["a", "b"])
    before = group.write(25, topic)
    group.await_values(before, a, b)
    assert {delivery.partition for delivery in a.delivered} == {0, 1}
    assert {delivery.partition for delivery in b.delivered} == {2, 3}
    group.await_committed(topic)
    b.leave()
    group.await_settled([topic], ["a"])
    after = group.write(25, topic)
    group.await_values(after, a)
    assert sorted(a.values + b.values) == sorted(before + after)
    group.await_committed(topic)
    a.leave()
    assert group.peek.registrations() == {}
    assert group.peek.owners([topic]) == {}


@pytest.mark.sandbox
@on_versions("0.8.0", "3.9.1")
def test_a_member_that_rejoins_continues_where_it_was(group: MixedGroup) -> None:
    """Messages from before are not read again, and those written meanwhile are not missed."""
    assert cell("restart", group.cluster.kafka) is Cell.YES
    topic = group.topic(2)
    first = group.ours({topic: 1}, "same")
    before = group.write(25, topic)
    group.await_values(before, first)
    first.leave()
    meanwhile = group.write(25, topic)
    again = group.ours({topic: 1}, "same")
    after = group.write(25, topic)
    group.await_values(meanwhile + after, again)
    assert sorted(again.values) == sorted(meanwhile + after)
    group.await_committed(topic)


@pytest.mark.sandbox
@on_versions("0.8.0", "3.9.1")
@pytest.mark.parametrize(("reset", "missed"), [("smallest", 0), ("largest", 25)])
def test_an_offset_outside_of_the_log_is_reset(
    group: MixedGroup, caplog: pytest.LogCaptureFixture, reset: str, missed: int
) -> None:
    """The member continues at the start or end of the log, and commits from there."""
    assert cell("reset", group.cluster.kafka) is Cell.YES
    topic = group.topic(1)
    tp = TopicPartition(topic, 0)
    old = group.write(25, topic)
    ZkTree(group.cluster).put(offset_path(group.name, tp), b"1000")
    member = group.ours({topic: 1}, settings={"auto.offset.reset": reset})
    wait_until(lambda: f"continuing at its {reset} offset" in caplog.text, what="the reset")
    if reset == "largest":
        wait_until(lambda: group.peek.offsets(topic) == {0: "25"}, what="the new position")
    new = group.write(25, topic)
    group.await_values(new, member)
    assert member.values == (old + new)[missed:]
    group.await_committed(topic)


@pytest.mark.sandbox
@on_versions("0.8.1.1", "0.8.2.2", "3.9.1")
def test_offsets_move_into_kafka_and_back(group: MixedGroup) -> None:
    """With dual commits in between, each step continues exactly where the last one stopped."""
    wanted = {cell("kafka", group.cluster.kafka), cell("dual", group.cluster.kafka)}
    topic = group.topic(2)
    if wanted == {Cell.NO_COORDINATOR}:
        with pytest.raises(
            RebalanceFailed, match=r"offsets in Kafka need 0\.8\.2; set offsets\.st"
        ):
            group.ours({topic: 1}, settings={**IN_KAFKA, "rebalance.max.retries": "1"})
        return
    assert wanted == {Cell.YES}
    in_zookeeper: dict[int, str] = {}
    steps: tuple[dict[str, str], ...] = ({}, IN_BOTH, IN_KAFKA, IN_BOTH, {})
    for settings in steps:
        sent = group.write(25, topic)
        member = group.ours({topic: 1}, settings=settings)
        group.await_values(sent, member)
        member.leave()
        assert sorted(member.values) == sorted(sent)
        stored = group.peek.offsets(topic)
        assert (stored == in_zookeeper) is (settings is IN_KAFKA)
        in_zookeeper = stored
    group.await_committed(topic)


@pytest.mark.sandbox
@on_versions("0.8.0", "0.8.2.2", "0.10.2.2", "3.9.1")
@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_compressed_topic_is_read(
    group: MixedGroup, running: RunningVersion, codec: Codec
) -> None:
    """Plain and compressed sets come in order, as magic 0, whatever is stored."""
    kafka, topic = group.cluster.kafka, group.topic(1)
    wanted = cell(codec.name.lower(), kafka)
    if wanted is Cell.REFUSED_BY_BROKER:
        with pytest.raises(BrokerError, match=r"refused a set for .*\(-1\)"):
            group.write(5, topic, codec=codec)
        return
    assert wanted is Cell.YES
    sent = group.write(50, topic, codec=codec)
    sent += group.write(50, topic) + group.write(50, topic, codec=codec)
    assert stored_magic(running, topic) == DISK_MAGIC[cell("own", kafka)]
    assert_served_as_magic_0(group.cluster, topic, [(key_of(value), value) for value in sent])
    member = group.ours({topic: 1})
    group.await_values(sent, member)
    assert [(delivery.offset, delivery.value) for delivery in member.delivered] == list(
        enumerate(sent)
    )
    group.await_committed(topic)


@pytest.mark.sandbox
@on_versions("0.8.0", "0.10.2.2", "3.9.1")
def test_records_of_the_versions_own_producer_are_read(
    group: MixedGroup, running: RunningVersion
) -> None:
    """Its console producer writes its own format, and the broker converts it for us."""
    kafka, topic = group.cluster.kafka, group.topic(1)
    sent = [f"line {number}" for number in range(300)]
    written = produce(group.cluster, topic, sent)
    assert written.status == 0, written.errors
    assert stored_magic(running, topic) == DISK_MAGIC[cell("own", kafka)]
    assert_served_as_magic_0(group.cluster, topic, [(None, value) for value in sent])
    member = group.ours({topic: 1})
    group.await_values(sent, member)
    assert [(delivery.offset, delivery.value) for delivery in member.delivered] == list(
        enumerate(sent)
    )
    wait_until(lambda: group.peek.offsets(topic) == {0: "300"}, what="the offset")


def produce(cluster: Sandbox, topic: str, lines: list[str], *options: str) -> ToolResult:
    """Write lines with the version's own console producer."""
    return cluster.run_scala_tool(
        OLD_CONSOLE_PRODUCER if cluster.kafka in WITH_OLD_NAMES else CONSOLE_PRODUCER,
        *("--broker-list", cluster.bootstrap_servers, "--topic", topic),
        *("--request-required-acks", "1", *options),
        stdin="".join(f"{line}\n" for line in lines).encode(),
    )


@pytest.mark.sandbox
@on_versions("0.8.0", "0.8.2.2", "1.1.1", "3.9.1")
def test_the_versions_own_consumer_shares_the_group(group: MixedGroup) -> None:
    """Up to 1.1 that version's console consumer is a normal member; later ones lack ZooKeeper."""
    topic = group.topic(4)
    if cell("scala", group.cluster.kafka) is Cell.ABSENT:
        refused = group.cluster.run_scala_tool(
            NEW_CONSOLE_CONSUMER if group.cluster.kafka in WITH_NEW_NAMES else CONSOLE_CONSUMER,
            *("--zookeeper", group.cluster.zookeeper_connect, "--topic", topic),
        )
        assert refused.status != 0
        assert "zookeeper is not a recognized option" in refused.errors + refused.output
        return
    ours = group.ours({topic: 1})
    before = group.write(5, topic)
    group.await_values(before, ours)
    group.await_committed(topic)
    scala = own_consumer(group, topic)
    group.await_settled([topic], 2)
    between = group.write(25, topic)
    group.await_values(between, ours, scala)
    assert scala.values
    group.await_committed(topic)
    scala.leave()
    group.await_settled([topic], 1)
    after = group.write(25, topic)
    group.await_values(after, ours)
    assert sorted(ours.values + scala.values) == sorted(before + between + after)
    group.await_committed(topic)


def own_consumer(group: MixedGroup, topic: str) -> ScalaMember:
    """Start the version's own console consumer; the oldest ones have other options."""
    if group.cluster.kafka not in WITH_OLD_NAMES:
        return group.scala(topic)
    tool = group.cluster.scala_tool(
        OLD_CONSOLE_CONSUMER,
        *("--zookeeper", group.cluster.zookeeper_connect, "--whitelist", topic),
        *("--group", group.name),
        *("--autocommit.interval.ms", TIMINGS["auto.commit.interval.ms"]),
    )
    member = ScalaMember(tool, group.name, None, group.recorder, earliest=False)
    group._add(member)
    return member


@pytest.mark.sandbox
@on_versions("1.1.1", "2.8.2")
def test_a_zstd_topic_is_read(group: MixedGroup) -> None:
    """The version's own producer writes it, if that supports zstd."""
    topic = group.topic(1, "zstd")
    written = produce(group.cluster, topic, ["one", "two"], "--compression-codec", "zstd")
    if cell("zstd", group.cluster.kafka) is Cell.ABSENT:
        assert written.status != 0
        assert re.search("zstd|'compression-codec' is not a recognized option", written.errors)
        return
    assert written.status == 0, written.errors
    member = group.ours({topic: 1})
    group.await_values(["one", "two"], member)


@pytest.mark.sandbox
@on_versions("0.8.0", "0.10.2.2", "0.11.0.3", "1.1.1", "3.9.1")
def test_streams_use_the_newest_fetch_version(group: MixedGroup) -> None:
    """Requests are recorded on the wire, for each engine; all records come."""
    wanted = int(cell("fetch", group.cluster.kafka))
    topic = group.topic(1, "versions")
    codecs = [
        codec for codec in COMPRESSING if cell(codec.name.lower(), group.cluster.kafka) is Cell.YES
    ]
    values = [
        value for codec in (Codec.NONE, *codecs) for value in group.write(3, topic, codec=codec)
    ]
    leader = group.cluster.brokers[0]
    for engine in Engine:
        with TcpGate(leader.host, leader.port, keeps_sent=True) as gate:
            dialer = BrokerDialer(
                TcpConnector(),
                client_id="versions",
                connect_timeout_ms=5_000,
                request_timeout_ms=5_000,
            )
            queue = LogReader.new_queue(engine, 100)
            loop = loop_class(engine)(
                Broker(leader.id, "127.0.0.1", gate.port),
                lambda _lost: None,
                settings=FetchSettings(reset=LogEdge.EARLIEST),
                dial=dialer.dial,
            )
            scope = ThreadScope("versions")
            try:
                scope.spawn("loop", loop.run, stop=loop.stop)
                loop.add(PartitionClaim(TopicPartition(topic, 0), queue, None), None)
                assert take_values(queue, len(values)) == values
            finally:
                assert scope.close(5_000) == []
        assert {version for sent in gate.sent for version in fetch_versions(sent)} == {wanted}


def fetch_versions(sent: bytes | bytearray) -> Iterator[int]:
    """Yield the version of each complete Fetch request that one connection sent."""
    while len(sent) >= 8:
        size = 4 + int.from_bytes(sent[:4], "big")
        key, version = struct.unpack(">hh", sent[4:8])
        if key == ApiKey.FETCH:
            yield version
        sent = sent[size:]


def test_the_page_shows_what_is_asserted() -> None:
    """docs/versions.md is what ``python -m tests.interop.version_matrix`` prints."""
    assert PAGE.read_text("utf-8") == page()


@pytest.mark.parametrize("feature", list(FEATURES))
def test_every_row_has_a_cell_for_each_version_and_a_test(feature: str) -> None:
    """A new sandbox version fails here until its cells are filled in."""
    assert list(FEATURES[feature].cells) == list(VERSIONS)
    assert inspect.isfunction(getattr(sys.modules[__name__], FEATURES[feature].test))
