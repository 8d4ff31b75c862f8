"""What people do to groups of either kind that no manual shows: nothing is lost or passed over."""

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
    """Opens members of groups on a release's broker: in ZooKeeper where that keeps none."""
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
    """Write values to each partition; return all."""
    wanted = {
        TopicPartition(topic, number): [b"%d-%d" % (number, n) for n in values]
        for number in partitions
    }
    with closing(BatchProducer(broker.brokers)) as producer:
        producer.write(
            {tp: [Record(0, None, value) for value in each] for tp, each in wanted.items()}
        )
    return [value for values in wanted.values() for value in values]


class Taken:
    """What members got."""

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
        """Poll until all came, and a moment longer; nothing came twice."""
        self.until(lambda: len(self.values) >= len(wanted), f"{len(wanted)} records")
        for _ in range(3):
            self.poll()
        assert Counter(self.values) == Counter(wanted)


@kinds
def test_partitions_that_are_added_under_a_group_that_pauses(
    broker_of: BrokerOf, opened: Opened, version: str
) -> None:
    """Two members, one paused, while the topic grows: all is read once, from its beginning."""
    broker, topic, group = broker_of(version), fresh_name("grown"), fresh_name("g")
    broker.create_topic(topic, 2)
    sent = write(broker, topic, range(2), range(5))
    first, second = (opened(version, group, topic) for _ in range(2))
    taken = Taken(first, second)
    taken.until(lambda: bool(first.assignment() and second.assignment()), "a share for both")
    taken.until(lambda: len(taken.values) == len(sent), "the first records")
    first.pause(*first.assignment())
    broker.add_partitions(topic, 5)
    sent += write(broker, topic, range(5), range(5, 10))
    taken.until(
        lambda: len(first.assignment()) + len(second.assignment()) == 5, "the new partitions"
    )
    taken.poll()
    first.resume(*first.paused())
    taken.all_of(sent)


class Seeker(ConsumerRebalanceListener):
    """Goes to an offset whenever it gets a partition."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.consumer: KafkaConsumer | None = None

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Nothing."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Seek."""
        assert self.consumer is not None
        for tp in assigned:
            self.consumer.seek(tp, self.offset)
            assert self.consumer.position(tp) == self.offset


@kinds
def test_seeking_in_a_listener_while_others_come(
    broker_of: BrokerOf, opened: Opened, version: str
) -> None:
    """Each partition is read from there on, by whoever gets it, and from nowhere else."""
    broker, topic, group = broker_of(version), fresh_name("sought"), fresh_name("g")
    broker.create_topic(topic, 4)
    write(broker, topic, range(4), range(10))
    members = []
    taken = Taken()
    for _ in range(2):
        listener = Seeker(7)
        member = listener.consumer = opened(version, group)
        member.subscribe([topic], listener=listener)
        members.append(member)
        taken.members.append(member)
        taken.until(
            lambda: all(len(consumer.assignment()) for consumer in members), "a share for each"
        )
    taken.until(lambda: len(set(taken.offsets)) == 12, "all from the offset on")
    assert {offset for _, offset in taken.offsets} == {7, 8, 9}


def test_a_static_member_that_comes_back_with_other_topics(
    broker_of: BrokerOf, opened: Opened
) -> None:
    """Brokers give it the partitions of before unasked: it reads what it asks for."""
    broker, group = broker_of(NEW), fresh_name("static")
    old, new = fresh_name("old"), fresh_name("new")
    for topic in (old, new):
        broker.create_topic(topic, 2)
    sent = {topic: write(broker, topic, range(2), range(5)) for topic in (old, new)}
    other = opened(NEW, group, old, group_instance_id="two", client_id="two")
    first = opened(NEW, group, old, group_instance_id="one", client_id="one")
    taken = Taken(other, first)
    taken.all_of(sent[old])
    taken.until(lambda: len(other.assignment()) == len(first.assignment()) == 1, "a share each")
    first.close()
    back = opened(NEW, group, new, group_instance_id="one", client_id="one")
    taken.members = [other, back]
    taken.all_of(sent[old] + sent[new])
    assert {tp.topic for tp in back.assignment()} == {new}
    assert {tp.topic for tp in other.assignment()} == {old}
