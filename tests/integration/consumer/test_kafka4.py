"""The poll API on a real Kafka 4, which dropped the old versions of every request."""

from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from tests.support.clusters import fresh_name
from tests.support.kraft_topics import create_topic
from tests.support.written_records import StoredFields, check_what_is_there, write_in_each_codec
from zkconsumer import KafkaConsumer, OffsetAndMetadata, TopicPartition
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.errors import WriteFailed
from zkconsumer.model import Broker, MemberState, Record
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.produce.topics import ensure_topic
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.wire.messages.topic_admin import CreateTopicsRequest, NewTopic, TopicSetting

pytestmark = [pytest.mark.sandbox, pytest.mark.long]
TOOLS = "org.apache.kafka.tools"
COUNT = 500
LONG_MS = 20_000
Settings = dict[str, Any]


@pytest.fixture(scope="module")
def topic(kraft: KraftNode) -> str:
    """Create a topic of two partitions, filled by Kafka's own producer."""
    name = fresh_name("kafka4")
    create_topic(kraft, name, partitions=2)
    lines = b"".join(b"k%d\tv%d\n" % (number, number) for number in range(COUNT))
    keyed = ("--property", "parse.key=true")
    where = ("--bootstrap-server", kraft.bootstrap_servers, "--topic", name)
    kraft.run_tool(f"{TOOLS}.ConsoleProducer", *where, *keyed, stdin=lines)
    return name


def polled(consumer: KafkaConsumer, count: int) -> list[tuple[bytes | None, bytes | None]]:
    """Poll until this many records have come; return their keys and values."""
    found: list[tuple[bytes | None, bytes | None]] = []
    while len(found) < count:
        batch = consumer.poll(LONG_MS)
        assert batch, f"only {len(found)} of {count} came"
        found += [(record.key, record.value) for records in batch.values() for record in records]
    return found


def test_a_group_reads_commits_and_continues(kraft: KraftNode, topic: str) -> None:
    """Every record comes once; the next member continues; Kafka's own tool shows the offsets."""
    group = fresh_name("kafka4")
    settings: Settings = {
        "bootstrap_servers": kraft.bootstrap_servers,
        "group_id": group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
    }
    with KafkaConsumer(topic, **settings) as consumer:
        found = polled(consumer, COUNT)
        consumer.commit()
    assert Counter(found) == Counter((b"k%d" % n, b"v%d" % n) for n in range(COUNT))
    with KafkaConsumer(topic, **settings) as consumer:
        assert consumer.poll(3_000) == {}
        me = consumer.group_metadata()
        assert (me.group_id, me.state) == (group, MemberState.STABLE)
        assert me.generation_id > 0
        assert me.member_id
        ends = consumer.end_offsets(sorted(consumer.assignment()))
        committed = {tp: consumer.committed(tp) for tp in ends}
        assert committed == ends
    command = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
    where = ("--bootstrap-server", kraft.bootstrap_servers)
    message = kraft.run_tool(command, *where, "--describe", "--group", group).lines
    rows = [line.split() for line in message if line.startswith(group)]
    assert {(row[1], int(row[2]), int(row[3])) for row in rows} == {
        (tp.topic, tp.partition, end) for tp, end in ends.items()
    }


def test_two_cooperative_members_share(kraft: KraftNode, topic: str) -> None:
    """The second member gets a partition; the first one keeps the other throughout."""
    settings: Settings = {
        "bootstrap_servers": kraft.bootstrap_servers,
        "group_id": fresh_name("kafka4"),
        "partition_assignment_strategy": ["cooperative-sticky"],
        "heartbeat_interval_ms": 300,
    }
    with KafkaConsumer(topic, **settings) as first, KafkaConsumer(topic, **settings) as second:
        while len(first.assignment()) < 2:
            first.poll(100)
        while not (len(first.assignment()) == len(second.assignment()) == 1):
            first.poll(100)
            second.poll(100)
        assert first.assignment().isdisjoint(second.assignment())


def test_offsets_are_found_by_time_and_committed_with_metadata(
    kraft: KraftNode, topic: str
) -> None:
    """Requests without group membership work in the versions that are left."""
    tp = TopicPartition(topic, 0)
    with KafkaConsumer(
        bootstrap_servers=kraft.bootstrap_servers, group_id=fresh_name("kafka4")
    ) as consumer:
        consumer.assign([tp])
        assert consumer.beginning_offsets([tp]) == {tp: 0}
        assert consumer.config["api_version"] == (4, 1)
        found = consumer.offsets_for_times({tp: 0})[tp]
        assert found is not None
        assert found.offset == 0
        consumer.seek(tp, 3)
        assert next(consumer).offset == 3
        consumer.commit({tp: OffsetAndMetadata(3, "mine")})
        kept = consumer.committed(tp, metadata=True)
        assert isinstance(kept, OffsetAndMetadata)
        assert (kept.offset, kept.metadata) == (3, "mine")


def test_a_topic_is_created_and_written_to(kraft: KraftNode) -> None:
    """Records of every codec, with timestamps and headers; one address is enough."""
    host, _, port = kraft.bootstrap_servers.partition(":")
    node = Broker(-1, host, int(port))
    dialer = dialer_of(ClientSettings(client_id="test", timeout_ms=LONG_MS))
    client = ClusterClient(
        dialer,
        [node],
        request_timeout_ms=LONG_MS,
        retry_backoff_ms=50,
        shuffle=lambda _brokers: None,
    )
    name = fresh_name("written")
    made = ensure_topic(client, dialer, name, 3, timeout_ms=LONG_MS)
    compacted = f"{name}-compacted"
    topic = NewTopic(
        name=compacted,
        num_partitions=1,
        replication_factor=1,
        configs=(TopicSetting(name="cleanup.policy", value="compact"),),
    )
    with closing(dialer.dial(node, timeout_ms=LONG_MS)) as connection:
        request = CreateTopicsRequest(topics=(topic,), timeout_ms=LONG_MS)
        assert connection.call(request, timeout_ms=LONG_MS).topics[0].error_code == 0
    ensure_topic(client, dialer, compacted, 1, timeout_ms=LONG_MS)
    client.stop()
    dialer.stop()
    assert made == (0, 1, 2)
    tp = TopicPartition(name, 2)
    sent = write_in_each_codec([node], tp, StoredFields.HEADERS, list(Codec))
    with KafkaConsumer(
        bootstrap_servers=kraft.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        check_what_is_there(consumer, tp, sent, StoredFields.HEADERS)
    with (
        closing(BatchProducer([node])) as producer,
        pytest.raises(WriteFailed, match=r"INVALID_RECORD \(87\): .*Compacted topic") as caught,
    ):
        producer.write({TopicPartition(compacted, 0): [Record(0, None, b"without a key")]})
    assert not caught.value.may_pass
