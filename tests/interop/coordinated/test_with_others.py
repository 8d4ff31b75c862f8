"""One group with Java's console consumer and with kafka-python, on every Kafka since 0.9.

The first member leads and assigns for all, so each test has both orders. In CI each version has one
of the two as a peer.
"""

from collections.abc import Callable
from itertools import cycle, product
from typing import Literal

import pytest

from tests.interop.coordinated.conftest import GroupOn
from tests.interop.coordinated.group import CoordinatorGroup
from tests.interop.coordinated.members import JavaMember, PollMember, all_values
from tests.support.matrix import in_matrix
from tests.support.waiting import wait_until

pytestmark = pytest.mark.long
VERSIONS = ("0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2", "3.9.1")
WITH_COOPERATIVE_JAVA = ("2.8.2", "3.9.1")
LEADERS_LINE = "Finished assignment for group at generation"
"""The leader's log line in the versions with cooperative assignment."""
COUNT = 20
Peer = Literal["java", "kafka_python"]
PEERS: tuple[Peer, ...] = ("java", "kafka_python")


def take_turns(group: CoordinatorGroup, peer: Peer) -> None:
    """Let members join and leave in both orders; each message must come once at every step."""
    topic = group.topic(4)
    all_four = group.partitions(topic, 4)
    sent: list[str] = []
    join_peer: Callable[[str], PollMember] = getattr(group, peer)

    def check_all_arrive(count: int) -> None:
        group.await_shared(all_four, count)
        sent.extend(group.write(all_four, COUNT))
        group.await_all(sent)
        group.await_committed()

    ours = group.ours(topic)
    check_all_arrive(1)
    other = join_peer(topic)
    check_all_arrive(2)
    ours.leave()
    check_all_arrive(1)
    if isinstance(other, JavaMember) and group.cluster.kafka in WITH_COOPERATIVE_JAVA:
        assert LEADERS_LINE in (other.tool.folder / "log").read_text("utf-8")
    again = group.ours(topic)
    check_all_arrive(2)
    other.leave()
    check_all_arrive(1)
    again.leave()
    assert all_values([ours, other, again]) == sorted(sent)
    assert all(len(member.values) >= 2 * COUNT for member in (ours, other, again))
    assert not ours.reported("lost")
    assert not again.reported("lost")
    assert group.peek.describe().shares == {}


@pytest.mark.sandbox
@in_matrix(
    ("version", "peer"),
    product(VERSIONS, PEERS),
    list(zip(VERSIONS, cycle(PEERS), strict=False)),
)
def test_an_eager_group_in_both_orders(group_on: GroupOn, version: str, peer: Peer) -> None:
    """Each member has its share and each message comes once, whoever joins first."""
    take_turns(group_on(version), peer)


@pytest.mark.sandbox
@in_matrix(
    ("version", "peer"),
    product(WITH_COOPERATIVE_JAVA, PEERS),
    [("2.8.2", "kafka_python"), ("3.9.1", "java")],
)
def test_a_cooperative_group_in_both_orders(group_on: GroupOn, version: str, peer: Peer) -> None:
    """The same holds when partitions move in two steps."""
    take_turns(group_on(version, "cooperative-sticky"), peer)


@pytest.mark.sandbox
def test_default_strategies_are_compatible(group_on: GroupOn) -> None:
    """Without a configured strategy, all three kinds of members have one in common."""
    group = group_on("3.9.1", None)
    topic = group.topic(6)
    six = group.partitions(topic, 6)
    members: list[PollMember] = [group.java(topic), group.kafka_python(topic), group.ours(topic)]
    group.await_shared(six, 3)
    sent = group.write(six, COUNT)
    group.await_all(sent)
    assert all_values(members) == sorted(sent)
    assert all(len(member.values) == 2 * COUNT for member in members)


@pytest.mark.sandbox
def test_a_strategy_that_the_others_lack_is_refused(group_on: GroupOn) -> None:
    """The group is not affected; the new member gets the reason."""
    group = group_on("3.9.1")
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    group.java(topic)
    group.await_shared(both, 1)
    refused = group.ours(topic, partition_assignment_strategy=["sticky"])
    wait_until(lambda: refused.failures, what="the refusal")
    assert refused.failures[0]["kind"] == "InconsistentGroupProtocolError"
    assert "partition_assignment_strategy" in refused.failures[0]["text"].replace(".", "_")
    sent = group.write(both, COUNT)
    group.await_all(sent)
    group.await_shared(both, 1)
    assert refused.values == []
