"""What arrives in targets of several versions, and what the source's group commits."""

import json
import socket
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.mirrors import (
    MirrorProcess,
    accounts,
    await_acknowledged,
    mirror_settings,
    numbered,
    proof_of,
    read_topic,
    running,
    write_all,
)
from tests.support.traffic import partitions_of
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.errors import ConfigError, MirrorError, TransportError
from zkconsumer.mirror.mirror import Mirror
from zkconsumer.mirror.routing import Partitioning
from zkconsumer.mirror.settings import consumer_settings, target_settings
from zkconsumer.model import Record, TimestampType, TopicPartition
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing, parts_of
from zkconsumer.produce.partitioner import murmur_hash
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.kraft import KraftNode

pytestmark = pytest.mark.sandbox


def plain(records: list[Outgoing]) -> list[tuple[bytes | None, bytes | None]]:
    """Return keys and values."""
    return [(parts_of(record)[0].key, parts_of(record)[0].value) for record in records]


@pytest.mark.parametrize("version", ["0.8.0", "3.9.1", "4.1.0"])
def test_a_whole_topic_arrives_in_order(
    cluster: Sandbox, broker_of: BrokerOf, kraft: KraftNode, tmp_path: Path, version: str
) -> None:
    """Keys, values and nulls are equal; the group commits the ends, and the proof is complete."""
    topic, group = fresh_name("mirrored"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    sent = {tp: numbered(tp, 1_500) for tp in partitions}
    write_all(cluster.brokers, sent, Codec.GZIP)
    target = kraft.bootstrap_servers
    if version != "4.1.0":
        target = broker_of(version).bootstrap_servers
    if version == "0.8.0":
        broker_of(version).create_topic(topic, partitions=2)
    file = tmp_path / "offsets"
    settings = mirror_settings(
        cluster, group, topic, target, stop_at_end=True, offsets_file=file, batch_records=400
    )
    end = Mirror(settings).run()
    assert [
        (partition.read, partition.acknowledged, partition.committed)
        for partition in accounts(end).values()
    ] == [(1_500, 1_500, 1_500)] * 2
    there = read_topic(target, topic)
    for tp in partitions:
        found = [(record.key, record.value) for record in there[tp.partition]]
        assert found == plain(sent[tp])
    assert ZkTree(cluster).offsets(group) == dict.fromkeys(partitions, 1_500)
    proof = proof_of(cluster, group, target, file)
    assert proof.is_proven
    assert [
        (partition.messages, partition.mirrored, partition.copies) for partition in proof.partitions
    ] == [(1_500, 1_500, 0)] * 2
    assert set(proof.offsets_without_line.values()) == {0}


@pytest.mark.parametrize("metadata", ["zookeeper", "coordinator"])
def test_timestamps_and_headers_arrive(
    broker_of: BrokerOf, kraft: KraftNode, metadata: str
) -> None:
    """Sources have them from 0.10 and 0.11 on; the group is in ZooKeeper or at a coordinator."""
    source = broker_of("3.9.1")
    topic = fresh_name("headed")
    tp = TopicPartition(topic, 0)
    source.create_topic(topic)
    sent = [
        HeadedRecord(
            Record(0, b"k", b"v%d" % number, 1_600_000_000_000 + number, TimestampType.CREATE_TIME),
            (("trace", b"%d" % number), ("empty", None), ("trace", b"")),
        )
        for number in range(20)
    ]
    write_all(source.brokers, {tp: sent})
    settings = mirror_settings(
        source, fresh_name("group"), topic, kraft.bootstrap_servers, stop_at_end=True
    )
    if metadata == "coordinator":
        file = {"bootstrap.servers": source.bootstrap_servers, "group.id": fresh_name("group")}
        settings = replace(settings, consumers=(consumer_settings(file).settings,))
    (account,) = accounts(Mirror(settings).run()).values()
    assert account.committed == len(sent)
    found = read_topic(kraft.bootstrap_servers, topic)[0]
    assert [(record.timestamp, tuple(record.headers)) for record in found] == [
        (record.record.timestamp, record.headers) for record in sent
    ]


def test_keys_choose_the_partition(cluster: Sandbox, broker_of: BrokerOf, tmp_path: Path) -> None:
    """The Java producer's partitioner is used, with more target partitions; the proof follows."""
    topic, group = fresh_name("keyed"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    write_all(cluster.brokers, {tp: numbered(tp, 300) for tp in partitions})
    target = broker_of("3.9.1")
    target.create_topic(f"copy-{topic}", partitions=3)
    file = tmp_path / "offsets"
    settings = mirror_settings(
        cluster,
        group,
        topic,
        target.bootstrap_servers,
        partitioning=Partitioning.KEY,
        topic_prefix="copy-",
        stop_at_end=True,
        streams=2,
        offsets_file=file,
    )
    Mirror(settings).run()
    there = read_topic(target.bootstrap_servers, f"copy-{topic}")
    assert sum(map(len, there.values())) == 600
    for number, records in there.items():
        assert all(
            murmur_hash(record.key) % 3 == number for record in records if record.key is not None
        )
    proof = proof_of(cluster, group, target.bootstrap_servers, file)
    assert proof.is_proven
    assert sum(partition.mirrored for partition in proof.partitions) == 600


def test_topics_that_are_created_later_are_mirrored(cluster: Sandbox, broker_of: BrokerOf) -> None:
    """The filter is applied to each new topic; a topic that does not match is not mirrored."""
    prefix, target = fresh_name("filtered"), broker_of("3.9.1").bootstrap_servers
    first, second, other = f"{prefix}-a", f"{prefix}-b", f"x-{prefix}"
    for topic in (first, other):
        cluster.create_topic(topic)
        write_all(
            cluster.brokers, {TopicPartition(topic, 0): numbered(TopicPartition(topic, 0), 5)}
        )
    settings = mirror_settings(cluster, fresh_name("group"), f"{prefix}-.*", target)
    with running(settings) as mirror:
        await_acknowledged(mirror, 5)
        cluster.create_topic(second)
        tp = TopicPartition(second, 0)
        write_all(cluster.brokers, {tp: numbered(tp, 7)})
        await_acknowledged(mirror, 12)
    assert {partition.topic for partition in accounts(mirror.progress())} == {first, second}
    assert len(read_topic(target, second)[0]) == 7


def test_a_message_that_the_target_refuses_ends_the_mirror(
    cluster: Sandbox, broker_of: BrokerOf
) -> None:
    """Everything before it is committed, nothing after it; only a setting allows to drop it."""
    topic, group = fresh_name("large"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    records = numbered(tp, 40)
    records[25] = Record(0, b"large", bytes(200_000))
    write_all(cluster.brokers, {tp: records})
    target = broker_of("3.9.1")
    target.create_topic(topic, config={"max.message.bytes": "50000"})
    settings = mirror_settings(cluster, group, topic, target.bootstrap_servers, stop_at_end=True)
    with pytest.raises(MirrorError, match=rf"offset 25 of {topic}-0 .*MESSAGE_TOO_LARGE"):
        Mirror(settings).run()
    assert ZkTree(cluster).offsets(group) == {tp: 25}
    dropping = mirror_settings(
        cluster,
        group,
        topic,
        target.bootstrap_servers,
        stop_at_end=True,
        abort_on_send_failure=False,
    )
    account = accounts(Mirror(dropping).run())[tp]
    assert (account.acknowledged, account.dropped, account.committed) == (14, 1, 40)
    found = [
        (record.key, record.value) for record in read_topic(target.bootstrap_servers, topic)[0]
    ]
    assert found == plain([*records[:25], *records[26:]])


def test_sigterm_ends_the_command_cleanly(
    cluster: Sandbox, broker_of: BrokerOf, tmp_path: Path
) -> None:
    """What arrived is committed, the status is 0, and the JSON is right; --max-messages holds."""
    topic, group = fresh_name("command"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    write_all(cluster.brokers, {tp: numbered(tp, 100)})
    words = (
        *("--whitelist", topic, "--json", "--create-topics"),
        *("--target-bootstrap-servers", broker_of("3.9.1").bootstrap_servers),
    )
    limited = MirrorProcess(
        cluster, group, *words, "--max-messages", "30", folder=tmp_path / "limited"
    )
    assert limited.wait() == 0, limited.errors
    assert ZkTree(cluster).offsets(group) == {tp: 30}
    mirror = MirrorProcess(cluster, group, *words, "--metrics-port", "0", folder=tmp_path / "ended")
    wait_until(lambda: '"acknowledged":70' in mirror.output, what="the other messages")
    what, _, address = mirror.errors.strip().partition(" at ")
    assert what == "metrics"
    with urllib.request.urlopen(address, timeout=10) as response:
        sample = f'acknowledged_total{{partition="0",source="{cluster.zookeeper_connect}"'
        assert sample in response.read().decode()
    mirror.terminate()
    assert mirror.wait() == 0, mirror.errors
    reported = json.loads(mirror.output.splitlines()[-1])
    assert (reported["ended"], reported["read"], reported["acknowledged"], reported["again"]) == (
        True,
        70,
        70,
        0,
    )
    assert reported["partitions"][0]["committed"] == 100
    assert ZkTree(cluster).offsets(group) == {tp: 100}


def test_sigterm_ends_it_while_it_connects_to_the_target(cluster: Sandbox, tmp_path: Path) -> None:
    """There is nothing to finish then."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        mirror = MirrorProcess(
            cluster,
            fresh_name("group"),
            *(
                "--whitelist",
                "x",
                "--target-bootstrap-servers",
                f"127.0.0.1:{deaf.getsockname()[1]}",
            ),
            folder=tmp_path,
        )
        connection, _ = deaf.accept()
        with connection:
            mirror.terminate()
            assert mirror.wait(5) == 0, mirror.errors


def test_a_mirror_into_its_own_source_topic_is_refused(cluster: Sandbox) -> None:
    """It is refused before anything is written."""
    topic = fresh_name("circle")
    cluster.create_topic(topic)
    settings = mirror_settings(cluster, fresh_name("group"), topic, cluster.bootstrap_servers)
    with pytest.raises(ConfigError, match=f"topic {topic} would be mirrored into {topic}"):
        Mirror(settings).run()


def test_a_topic_that_the_target_lacks_is_an_error(cluster: Sandbox, broker_of: BrokerOf) -> None:
    """The error names --create-topics."""
    topic, group = fresh_name("lacking"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    write_all(cluster.brokers, {tp: numbered(tp, 3)})
    servers = broker_of("3.9.1").bootstrap_servers
    settings = mirror_settings(cluster, group, topic, servers, create_topics=False)
    with pytest.raises(MirrorError, match=f"the target has no topic {topic}: .*--create-topics"):
        Mirror(settings).run()
    assert ZkTree(cluster).offsets(group) == {}


def test_an_unreachable_target_is_an_error_within_the_timeout(cluster: Sandbox) -> None:
    """The error has its address."""
    settings = mirror_settings(cluster, fresh_name("group"), "x", "127.0.0.1:9")
    brief = target_settings({"request.timeout.ms": "300"}, "127.0.0.1:9")
    with pytest.raises(TransportError, match=r"127\.0\.0\.1:9"):
        Mirror(replace(settings, target=brief)).run()


def test_a_source_topic_that_was_created_again_is_mirrored_whole(
    cluster: Sandbox, kraft: KraftNode, caplog: pytest.LogCaptureFixture
) -> None:
    """Its log is longer than what the group had read of the former topic; a warning says so."""
    topic, group = fresh_name("again"), fresh_name("group")
    (tp,) = partitions_of(topic, 1)
    cluster.create_topic(topic)
    old, new = numbered(tp, 200), numbered(tp, 500)
    write_all(cluster.brokers, {tp: old})
    settings = mirror_settings(cluster, group, topic, kraft.bootstrap_servers, stop_at_end=True)
    assert accounts(Mirror(settings).run())[tp].acknowledged == 200
    cluster.delete_topic(topic)
    cluster.create_topic(topic)
    write_all(cluster.brokers, {tp: new})
    end = accounts(Mirror(settings).run())[tp]
    assert (end.acknowledged, end.committed) == (500, 500)
    there = read_topic(kraft.bootstrap_servers, topic)
    assert [record.value for record in there[0]] == [
        parts_of(record)[0].value for record in (*old, *new)
    ]
    assert f"group {group}: topic {topic} was deleted and created again" in caplog.text
    assert "partition 0: 200" in caplog.text
