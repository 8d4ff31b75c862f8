"""Groups of both kinds of members with offsets in Kafka, and moving there and back."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from tests.interop.members import TIMINGS, OurMember, ScalaMember
from tests.interop.mixed_group import MixedGroup
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.waiting import wait_until
from zkconsumer import ConsumerConfig, ZookeeperConsumerConnector

pytestmark = pytest.mark.sandbox

CHECKER = "kafka.tools.ConsumerOffsetChecker"
PARTITIONS = 4
LONGEST_TAIL = 100
"""The most messages of a partition that one member may deliver after its last commit."""

MODES: Mapping[str, Mapping[str, str]] = {
    "zookeeper": {"offsets.storage": "zookeeper"},
    "both": {"offsets.storage": "kafka", "dual.commit.enabled": "true"},
    "kafka": {"offsets.storage": "kafka", "dual.commit.enabled": "false"},
}
CHANNEL = {"offsets.channel.backoff.ms": "100"}
EVERYTHING = {str(number) for number in range(PARTITIONS)}


class GroupOffsets:
    """The group's offsets in both storages.

    Args:
        group: the group.
        topic: the topic that it reads.
    """

    def __init__(self, group: MixedGroup, topic: str) -> None:
        self._group = group
        self._topic = topic
        self._kafka = KafkaOffsets(group.cluster, group.name)

    def ends(self) -> dict[int, int]:
        """Return the offsets to be committed once everything is read."""
        return {tp.partition: end for tp, end in self._group.writer.ends.items()}

    def in_kafka(self) -> dict[int, int]:
        """Return the offsets in Kafka, by partition."""
        partitions = self._group.partitions(self._topic)
        return {tp.partition: at for tp, at in self._kafka.offsets(partitions).items()}

    def in_zookeeper(self) -> dict[int, int]:
        """Return the offsets in ZooKeeper, by partition."""
        return {number: int(text) for number, text in self._group.peek.offsets(self._topic).items()}

    def of(self, mode: str) -> list[dict[int, int]]:
        """Return the offsets of each storage that members in this mode commit to."""
        kafka = [self.in_kafka()] if mode != "zookeeper" else []
        return kafka + ([self.in_zookeeper()] if mode != "kafka" else [])

    def await_committed(self, mode: str) -> None:
        """Wait until all that is written by now is committed to the storages of this mode."""
        ends = self.ends()
        wait_until(
            lambda: all(
                offsets.get(number, -1) >= end
                for offsets in self.of(mode)
                for number, end in ends.items()
            ),
            what=f"{ends} to be committed to {mode}",
        )


def ours_takes(group: MixedGroup, topic: str, count: int) -> list[str]:
    """Let a member of ours read ``count`` messages, commit and leave; return their values."""
    group.fresh = False
    props = {
        **TIMINGS,
        **MODES["kafka"],
        **CHANNEL,
        "zookeeper.connect": group.cluster.zookeeper_connect,
        "group.id": group.name,
        "auto.offset.reset": "smallest",
        "auto.commit.enable": "false",
    }
    with ZookeeperConsumerConnector(ConsumerConfig(props)) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        values = [(message.value or b"").decode() for message in itertools.islice(stream, count)]
        connector.commit_offsets()
    return values


def scala_takes(group: MixedGroup, topic: str, count: int) -> list[str]:
    """Let the original read ``count`` messages, commit and leave; return their values."""
    member = group.scala(
        topic, settings={**MODES["kafka"], **CHANNEL}, options=("--max-messages", str(count))
    )
    member.tool.wait()
    assert len(member.values) == count
    return member.values


def checked(group: MixedGroup) -> dict[int, tuple[str, str, str]]:
    """Return offset, lag and owner of each partition, from the original's offset checker."""
    result = group.cluster.run_scala_tool(
        CHECKER, "--zookeeper", group.cluster.zookeeper_connect, "--group", group.name
    )
    assert result.status == 0, result.errors
    _, *rows = [line.split() for line in result.lines if line.strip()]
    return {int(row[2]): (row[3], row[5], row[6]) for row in rows}


def test_either_kind_continues_where_the_other_stopped_and_the_checker_agrees(
    group: MixedGroup,
) -> None:
    """Turns are exact to the message, and nothing is written to ZooKeeper."""
    topic = group.topic(1)
    [tp] = group.partitions(topic)
    written = [value for _ in range(4) for value in group.writer.write(tp, 10)]
    stored = KafkaOffsets(group.cluster, group.name)
    assert scala_takes(group, topic, 13) == written[:13]
    assert stored.offset(tp) == 13
    assert ours_takes(group, topic, 11) == written[13:24]
    assert stored.offset(tp) == 24
    assert checked(group) == {0: ("24", "16", "none")}
    assert scala_takes(group, topic, 8) == written[24:32]
    assert ours_takes(group, topic, 8) == written[32:]
    assert stored.offset(tp) == 40
    assert [path for path in group.peek.tree() if path.startswith("offsets/")] == []


# --- both kinds at once ---------------------------------------------------------------------------


class RollingGroup:
    """A group with one member of each kind, either of which can be replaced while the other works.

    Attributes:
        ours: our members so far.
        scala: the original's members so far.
    """

    def __init__(self, group: MixedGroup, topic: str) -> None:
        self._group = group
        self._topic = topic
        self.storage = GroupOffsets(group, topic)
        self.ours: list[OurMember] = []
        self.scala: list[ScalaMember] = []

    @property
    def everyone(self) -> list[OurMember | ScalaMember]:
        """All members so far."""
        return [*self.ours, *self.scala]

    def join_ours(self, mode: str, *, others: Sequence[str] = ()) -> None:
        """Let a member of ours join, and read its share."""
        self.ours.append(
            self._group.ours({self._topic: 1}, "z-ours", settings={**MODES[mode], **CHANNEL})
        )
        self._settled(["z-ours", *others])

    def join_scala(self, mode: str, *, others: Sequence[str] = ()) -> None:
        """Let a member of the original join, and read its share."""
        # Without an offset it would start at the end, which must show as a loss.
        self.scala.append(
            self._group.scala(self._topic, "a-scala", settings={**MODES[mode], **CHANNEL})
        )
        self._settled(["a-scala", *others])

    def replace_ours(self, mode: str) -> None:
        """Replace our member by another one; meanwhile the original owns everything."""
        self.ours[-1].leave()
        self._settled(["a-scala"])
        self.join_ours(mode, others=["a-scala"])

    def replace_scala(self, mode: str) -> None:
        """Replace the original's member by another one; meanwhile ours owns everything."""
        self.scala[-1].leave()
        self._settled(["z-ours"])
        self.join_scala(mode, others=["z-ours"])

    def check(self) -> None:
        """Check that everything written was delivered, and only uncommitted tails were repeated.

        A member that continues at offsets from before the last step would repeat a multiple of
        that.
        """
        written = Counter(self._group.writer.values)
        delivered = Counter(value for member in self.everyone for value in member.values)
        assert set(delivered) == set(written)
        for scala in self.scala:
            scala.check_no_rebalance_failed()
        by_ours = Counter(value for member in self.ours for value in member.values)
        assert by_ours.total() == len(by_ours), "ours commits all it delivered before a release"
        again = set(delivered - written)
        for member in self.everyone:
            repeats = Counter(value.split(":")[1] for value in member.values if value in again)
            assert max(repeats.values(), default=0) <= LONGEST_TAIL, f"{member}: {repeats}"

    def _settled(self, names: list[str]) -> None:
        """Wait until these members share all partitions, and each has read some of every one."""
        self._group.await_settled([self._topic], names)
        shared = len(names) > 1
        if "a-scala" in names:
            await_some_of(self.scala[-1], {"0", "1"} if shared else EVERYTHING)
        if "z-ours" in names:
            await_some_of(self.ours[-1], {"2", "3"} if shared else EVERYTHING)


def await_some_of(member: OurMember | ScalaMember, partitions: set[str]) -> None:
    """Wait until a member delivers more of each of these partitions."""
    seen = len(member.values)
    wait_until(
        lambda: {value.split(":")[1] for value in member.values[seen:]} >= partitions,
        what=f"{member} to read {partitions}",
    )


def test_both_kinds_join_and_leave_with_offsets_in_kafka_alone(group: MixedGroup) -> None:
    """They do so in both orders; the original's offset checker shows our offsets."""
    topic = group.topic(PARTITIONS)
    roll = RollingGroup(group, topic)
    with group.traffic(topic):
        roll.join_ours("kafka")
        roll.storage.await_committed("kafka")
        roll.join_scala("kafka", others=["z-ours"])
        roll.replace_ours("kafka")
        roll.scala[-1].leave()
        group.await_settled([topic], ["z-ours"])
    group.await_values(group.writer.values, *roll.everyone)
    ends = roll.storage.ends()
    wait_until(lambda: roll.storage.in_kafka() == ends, what="all to be committed")
    owner = f"{roll.ours[-1].consumer_id}-0"
    assert checked(group) == {number: (str(end), "0", owner) for number, end in ends.items()}
    roll.ours[-1].leave()
    roll.check()
    assert roll.storage.in_kafka() == ends
    assert roll.storage.in_zookeeper() == {}


def test_a_group_moves_its_offsets_there_and_back_while_it_works(group: MixedGroup) -> None:
    """Member by member, with dual commits in between; nothing is lost, and it never stops.

    On the way back ZooKeeper still has the offsets that the group left there on the way out.
    """
    topic = group.topic(PARTITIONS)
    roll = RollingGroup(group, topic)
    with group.traffic(topic):
        roll.join_ours("zookeeper")
        roll.storage.await_committed("zookeeper")
        roll.join_scala("zookeeper", others=["z-ours"])
        for mode in ("both", "kafka", "both", "zookeeper"):
            roll.replace_ours(mode)
            roll.replace_scala(mode)
            # The next step may only begin once every partition is committed in this mode.
            roll.storage.await_committed(mode)
    group.await_values(group.writer.values, *roll.everyone)
    roll.scala[-1].leave()
    roll.ours[-1].leave()
    roll.check()
    ends = roll.storage.ends()
    assert roll.storage.in_zookeeper() == ends
    in_kafka = roll.storage.in_kafka()
    assert all(0 < in_kafka[number] < ends[number] for number in ends)


def test_ours_copies_the_offset_of_an_idle_partition_to_zookeeper(group: MixedGroup) -> None:
    """With dual commits the original only writes offsets there that change."""
    topic = group.topic(1)
    [tp] = group.partitions(topic)
    storage = GroupOffsets(group, topic)
    written = group.writer.write(tp, 10)
    assert ours_takes(group, topic, 10) == written
    scala = group.scala(topic, "a-scala", settings={**MODES["both"], **CHANNEL})
    group.await_settled([topic], ["a-scala"])
    scala.leave()
    assert (storage.in_kafka(), storage.in_zookeeper()) == ({0: 10}, {})
    group.ours({topic: 1}, "z-ours", settings={**MODES["both"], **CHANNEL})
    storage.await_committed("both")
    assert storage.in_zookeeper() == {0: 10}
