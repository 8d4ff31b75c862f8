"""Groups of coordinators, and the offsets that groups have committed to Kafka."""

from collections.abc import Iterator

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.scripted_broker import MODERN, ScriptedAction
from tests.support.scripted_cluster import ScriptedCluster
from tests.support.scripted_groups import ScriptedGroup, ScriptedGroups
from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.status.model import CommittedOffset, GroupKind, GroupPartition
from zkconsumer.status.reading.broker_round import BrokerRound
from zkconsumer.status.reading.coordinators import CoordinatorReader
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import BrokerGeneration, VersionRange

LONG_MS, SHORT_MS = 10_000, 1_000
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
B0, B1 = Broker(0, "b0", 9092), Broker(1, "b1", 9092)
BOTH = (B0, B1)


class World:
    """Two brokers with groups, and a reader.

    Attributes:
        cluster: the brokers.
        groups: the groups that they coordinate.
        clock: the reader's clock.
        reader: the reader.
    """

    def __init__(self) -> None:
        self.cluster = ScriptedCluster()
        self.groups = ScriptedGroups(self.cluster).groups
        self.clock = ManualClock()
        self._brokers = BrokerRound(self.cluster.dialer(), SystemClock())
        self.reader = CoordinatorReader(self._brokers, self.clock)

    def serve(self, api: ApiKey, last: int) -> None:
        """Let all brokers serve fewer versions of an API."""
        for broker in self.cluster.brokers:
            broker.serves = {**MODERN, api: VersionRange(0, last)}

    def close(self) -> None:
        """Close all connections."""
        self._brokers.close(LONG_MS)


@pytest.fixture
def world() -> Iterator[World]:
    """A world for each test."""
    made = World()
    yield made
    made.close()


def deadline(limit_ms: int = LONG_MS) -> Deadline:
    """A deadline this far from now."""
    return Deadline(SystemClock(), limit_ms)


# --- Groups ---------------------------------------------------------------------------------------


def test_every_broker_describes_its_own_groups(world: World) -> None:
    """Their members, assignments and assignors are read."""
    world.groups["a"] = ScriptedGroup(0, members={"m2": {"t": (1,)}, "m1": {"t": (2, 0)}})
    world.groups["b"] = ScriptedGroup(1, state="PreparingRebalance")
    read = world.reader.read_groups(BOTH, deadline())
    assert read.responding == {0, 1}
    assert read.failures == {}
    a, b = read.groups["a"], read.groups["b"]
    assert (a.kind, a.reported_state, a.protocol) == (GroupKind.COORDINATOR, "Stable", "range")
    assert (a.coordinator, a.seen_ms, a.problems) == (B0, world.clock.wall_ms(), ())
    assert a.partitions == (
        GroupPartition(T0, "m1"),
        GroupPartition(T1, "m2"),
        GroupPartition(T2, "m1"),
    )
    assert [member.member_id for member in a.members] == ["m1", "m2"]
    assert (a.members[0].host, a.members[0].client_id) == ("10.0.0.1", "client")
    assert (a.members[0].streams, a.members[0].assignor) == ({"t": 1}, "range")
    assert (b.reported_state, b.members, b.protocol) == ("PreparingRebalance", (), None)


@pytest.mark.parametrize("stale", [0, 1])
def test_of_two_brokers_the_one_with_members_counts(world: World, stale: int) -> None:
    """The other one has just lost the group, and still lists it."""
    world.groups["a"] = ScriptedGroup(1 - stale, members={"m": {"t": (0,)}})
    other = ScriptedGroups(ScriptedCluster(), {"a": ScriptedGroup(stale, state="Empty")})
    world.cluster.brokers[stale].response = other.cluster.brokers[stale].response
    group = world.reader.read_groups(BOTH, deadline()).groups["a"]
    assert (group.coordinator, len(group.members)) == (BOTH[1 - stale], 1)


def test_brokers_of_0_8_have_no_groups(world: World) -> None:
    """They get no request, and count as having responded."""
    for broker in world.cluster.brokers:
        broker.become(BrokerGeneration.V0_8_2)
    read = world.reader.read_groups(BOTH, deadline())
    assert read.responding == {0, 1}
    assert (read.groups, read.failures) == ({}, {})


def test_groups_of_other_protocols_are_listed_only(world: World) -> None:
    """Their members are not parsed; a group that only has offsets is a consumer group."""
    world.groups["connect"] = ScriptedGroup(0, protocol_type="connect")
    world.groups["offsets"] = ScriptedGroup(0, protocol_type="")
    groups = world.reader.read_groups(BOTH, deadline()).groups
    assert "'connect'" in groups["connect"].problems[0]
    assert (groups["offsets"].problems, groups["offsets"].members) == ((), ())


def test_an_assignment_that_can_not_be_parsed_is_a_problem(world: World) -> None:
    """It is one of that member."""
    world.groups["a"] = ScriptedGroup(0, members={"m": {"t": (0,)}}, raw=b"\0\0\0\0")
    [member] = world.reader.read_groups(BOTH, deadline()).groups["a"].members
    assert "can't be parsed" in str(member.problem)


def test_a_group_that_vanishes_while_it_is_read_is_left_out(world: World) -> None:
    """Its coordinator describes it as dead."""
    world.groups["a"] = ScriptedGroup(0, state="Dead")
    assert world.reader.read_groups(BOTH, deadline()).groups == {}


def test_a_group_that_can_not_be_described_is_listed(world: World) -> None:
    """Its problem says why no more is known."""
    world.groups["a"] = ScriptedGroup(0, error=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    group = world.reader.read_groups(BOTH, deadline()).groups["a"]
    assert "GROUP_AUTHORIZATION_FAILED" in group.problems[0]
    assert group.reported_state is None


def test_a_broker_that_hangs_hides_only_its_groups(world: World) -> None:
    """Groups of other brokers are read, and the silent broker is a failure."""
    world.groups["a"] = ScriptedGroup(0)
    world.groups["b"] = ScriptedGroup(1)
    world.cluster.actions[0] = ScriptedAction.SILENCE
    read = world.reader.read_groups(BOTH, deadline(SHORT_MS))
    assert read.groups.keys() == {"b"}
    assert read.responding == {1}
    assert read.failures.keys() == {0}


def test_many_groups_are_described_in_several_requests(world: World) -> None:
    """None of them is lost."""
    for number in range(250):
        world.groups[f"g{number}"] = ScriptedGroup(0, state="Empty")
    assert world.reader.read_groups(BOTH, deadline()).groups.keys() == world.groups.keys()
    assert world.cluster.requested(ApiKey.DESCRIBE_GROUPS) == [0, 0, 0]


# --- Coordinators of offsets ----------------------------------------------------------------------


def test_coordinators_of_groups_are_found(world: World) -> None:
    """Any broker can find all of them; if it does not respond, the next one is requested."""
    world.groups["a"] = ScriptedGroup(1, listed=False)
    world.groups["b"] = ScriptedGroup(0, listed=False)
    world.groups["c"] = ScriptedGroup(0, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    world.cluster.brokers[0].down = True
    found = world.reader.find(["a", "b", "c"], BOTH, deadline())
    assert (found["a"], found["b"]) == (B1, B0)
    assert "COORDINATOR_NOT_AVAILABLE" in str(found["c"])
    world.cluster.brokers[1].down = True
    assert world.reader.find([], BOTH, deadline()) == {}
    refused = world.reader.find(["a"], (Broker(2, "b2", 9092),), deadline())
    assert "b2:9092" in str(refused["a"])


# --- Offsets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [1, 2, 7])
def test_offsets_of_a_group_are_read(world: World, last: int) -> None:
    """All of them are if the version allows it, and otherwise those of the given partitions."""
    world.serve(ApiKey.OFFSET_FETCH, last)
    world.groups["a"] = ScriptedGroup(
        1, offsets={T0: 5, T1: -ErrorCode.TOPIC_AUTHORIZATION_FAILED, T2: 0}
    )
    read = world.reader.read_offsets({B1: {"a": [T0, T1]}}, deadline())
    assert (read.failures, read.moved) == ({}, frozenset())
    at_ms = world.clock.wall_ms()
    found = dict(read.offsets["a"])
    assert found[T0] == CommittedOffset(5, "kafka", at_ms)
    assert "TOPIC_AUTHORIZATION_FAILED" in str(found[T1])
    assert found.get(T2) == (None if last == 1 else CommittedOffset(0, "kafka", at_ms))


def test_a_group_without_offsets_is_no_failure(world: World) -> None:
    """Neither is one with offsets of an unknown topic only."""
    world.serve(ApiKey.OFFSET_FETCH, 1)
    world.groups["a"] = ScriptedGroup(1, offsets={T1: -ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
    read = world.reader.read_offsets({B1: {"a": [T0, T1]}}, deadline())
    assert read.offsets == {"a": {}}
    assert world.reader.read_offsets({B1: {"a": []}}, deadline()).offsets == {"a": {}}


@pytest.mark.parametrize("last", [1, 7])
def test_a_group_that_moved_must_be_looked_up_again(world: World, last: int) -> None:
    """The other groups of its former coordinator are read."""
    world.serve(ApiKey.OFFSET_FETCH, last)
    world.groups["a"] = ScriptedGroup(0, offsets={T0: 5})
    world.groups["b"] = ScriptedGroup(1, offsets={T0: 6})
    read = world.reader.read_offsets({B1: {"a": [T0], "b": [T0]}}, deadline())
    assert read.offsets.keys() == {"b"}
    assert read.moved == {"a"}
    assert "NOT_COORDINATOR" in read.failures["a"]


def test_groups_of_a_coordinator_that_is_away_must_be_looked_up_again(world: World) -> None:
    """Groups of other coordinators are read."""
    world.groups["a"] = ScriptedGroup(0, offsets={T0: 5})
    world.groups["b"] = ScriptedGroup(1, offsets={T0: 6})
    world.cluster.brokers[0].down = True
    read = world.reader.read_offsets({B0: {"a": [T0]}, B1: {"b": [T0]}}, deadline())
    assert read.offsets.keys() == {"b"}
    assert read.moved == {"a"}
    assert "b0:9092" in read.failures["a"]


def test_a_group_of_the_new_protocol_is_described(world: World) -> None:
    """KIP-848: DescribeGroups calls it dead, so ConsumerGroupDescribe is used for its members."""
    members: dict[str, dict[str, tuple[int, ...]]] = {"m": {"t": (0, 1)}, "n": {"t": ()}}
    world.groups["k"] = ScriptedGroup(1, members=members, state="Reconciling", type="consumer")
    group = world.reader.read_groups(BOTH, deadline()).groups["k"]
    assert (group.reported_state, group.protocol, group.is_complete) == (
        "Reconciling",
        "uniform",
        True,
    )
    assert [(member.member_id, member.host) for member in group.members] == [
        ("m", "10.0.0.1"),
        ("n", "10.0.0.1"),
    ]
    assert {
        partition.topic_partition.partition: partition.owner for partition in group.partitions
    } == {
        0: "m",
        1: "m",
    }


def test_a_group_of_the_new_protocol_that_can_not_be_described_is_listed(world: World) -> None:
    """Its members are not known then."""
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    world.groups["k"] = ScriptedGroup(1, type="consumer", error=denied)
    group = world.reader.read_groups(BOTH, deadline()).groups["k"]
    assert "GROUP_AUTHORIZATION_FAILED" in group.problems[0]
    assert not group.is_complete


def test_a_group_of_an_unknown_type_is_only_listed(world: World) -> None:
    """A share group, for example, has a name and a problem that says so."""
    world.groups["s"] = ScriptedGroup(0, protocol_type="share", type="share")
    group = world.reader.read_groups(BOTH, deadline()).groups["s"]
    assert "'share'" in group.problems[0]
    assert (group.is_complete, group.only_listed, group.members) == (False, True, ())
