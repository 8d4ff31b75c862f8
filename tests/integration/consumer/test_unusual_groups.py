"""Unusual operations on groups of either kind: no record is lost or skipped."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.waiting import wait_until
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from zkconsumer.model import Record
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

NEW = "3.9.1"
Opened = Callable[..., KafkaConsumer]
kinds = pytest.mark.parametrize("version", ["0.8.2.2", NEW], ids=["zookeeper", "coordinator"])


@pytest.fixture
def opened(broker_of: BrokerOf) -> Iterator[Opened]:
    """Give a function that opens members: in ZooKeeper for 0.8.2, else at a coordinator."""
    with ExitStack() as members:

        def opened(version: str, group: str, *topics: str, **settings: object) -> KafkaConsumer:
            broker = broker_of(version)
            where: dict[str, object] = {
                "bootstrap_servers": broker.bootstrap_servers,
                "session_timeout_ms": 6_000,
                "heartbeat_interval_ms": 300,
                "metadata_max_age_ms": 500,
            }
            if version == "0.8.2.2":
                where = {"zookeeper_connect": broker.zookeeper_connect}
            given = {"group_id": group, "auto_offset_reset": "earliest", **where, **settings}
            return members.enter_context(KafkaConsumer(*topics, config=given))

        yield opened


def write(broker: Sandbox, topic: str, partitions: Collection[int], values: range) -> list[bytes]:
    """Write values to each partition; return all of them."""
    wanted = {
        TopicPartition(topic, number): [b"%d-%d" % (number, n) for n in values]
        for number in partitions
    }
    with closing(BatchProducer(broker.brokers)) as producer:
        producer.write(
            {tp: [Record(0, None, value) for value in each] for tp, each in wanted.items()}
        )
    return [value for values in wanted.values() for value in values]


class Deliveries:
    """The records that members got."""

    def __init__(self, *members: KafkaConsumer) -> None:
        self.members = list(members)
        self.values: list[bytes | None] = []
        self.offsets: list[tuple[int, int]] = []

    def poll(self) -> None:
        """Let each member poll once."""
        for member in self.members:
            for records in member.poll(timeout_ms=100).values():
                self.values += [record.value for record in records]
                self.offsets += [(record.partition, record.offset) for record in records]

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Poll until a condition holds."""

        def holds() -> bool:
            self.poll()
            return condition()

        wait_until(holds, what=what, timeout_s=60)

    def all_of(self, wanted: Collection[bytes]) -> None:
        """Poll until all values came, and for a moment longer; check that none came twice."""
        self.until(lambda: len(self.values) >= len(wanted), f"{len(wanted)} records")
        for _ in range(3):
            self.poll()
        assert Counter(self.values) == Counter(wanted)


@kinds
def test_partitions_are_added_to_a_group_with_a_paused_member(
    broker_of: BrokerOf, opened: Opened, version: str
) -> None:
    """Every record is read once; new partitions are read from their beginning."""
    broker, topic, group = broker_of(version), fresh_name("grown"), fresh_name("g")
    broker.create_topic(topic, 2)
    sent = write(broker, topic, range(2), range(5))
    first, second = (opened(version, group, topic) for _ in range(2))
    delivered = Deliveries(first, second)
    delivered.until(lambda: bool(first.assignment() and second.assignment()), "a share for both")
    delivered.until(lambda: len(delivered.values) == len(sent), "the first records")
    first.pause(*first.assignment())
    broker.add_partitions(topic, 5)
    sent += write(broker, topic, range(5), range(5, 10))
    delivered.until(
        lambda: len(first.assignment()) + len(second.assignment()) == 5, "the new partitions"
    )
    delivered.poll()
    first.resume(*first.paused())
    delivered.all_of(sent)


class Seeker(ConsumerRebalanceListener):
    """Seeks to an offset in each partition that it is assigned."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.consumer: KafkaConsumer | None = None

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Do nothing."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Seek."""
        assert self.consumer is not None
        for tp in assigned:
            self.consumer.seek(tp, self.offset)
            assert self.consumer.position(tp) == self.offset


@kinds
def test_a_listener_seeks_while_members_join(
    broker_of: BrokerOf, opened: Opened, version: str
) -> None:
    """Each partition is read from that offset on, by every owner."""
    broker, topic, group = broker_of(version), fresh_name("sought"), fresh_name("g")
    broker.create_topic(topic, 4)
    write(broker, topic, range(4), range(10))
    members = []
    delivered = Deliveries()
    for _ in range(2):
        listener = Seeker(7)
        member = listener.consumer = opened(version, group)
        member.subscribe([topic], listener=listener)
        members.append(member)
        delivered.members.append(member)
        delivered.until(
            lambda: all(len(consumer.assignment()) for consumer in members), "a share for each"
        )
    delivered.until(lambda: len(set(delivered.offsets)) == 12, "all from the offset on")
    assert {offset for _, offset in delivered.offsets} == {7, 8, 9}


def test_a_static_member_that_rejoins_with_other_topics(
    broker_of: BrokerOf, opened: Opened
) -> None:
    """Brokers may give it its former partitions without a rebalance: it reads its new topic."""
    broker, group = broker_of(NEW), fresh_name("static")
    old, new = fresh_name("old"), fresh_name("new")
    for topic in (old, new):
        broker.create_topic(topic, 2)
    sent = {topic: write(broker, topic, range(2), range(5)) for topic in (old, new)}
    other = opened(NEW, group, old, group_instance_id="two", client_id="two")
    first = opened(NEW, group, old, group_instance_id="one", client_id="one")
    delivered = Deliveries(other, first)
    delivered.all_of(sent[old])
    delivered.until(lambda: len(other.assignment()) == len(first.assignment()) == 1, "a share each")
    first.close()
    back = opened(NEW, group, new, group_instance_id="one", client_id="one")
    delivered.members = [other, back]
    delivered.all_of(sent[old] + sent[new])
    assert {tp.topic for tp in back.assignment()} == {new}
    assert {tp.topic for tp in other.assignment()} == {old}
