"""Problems that a rebalance found in the group are logged once, and counted."""

import logging
from collections.abc import Mapping

import pytest

from zkconsumer.assignment.filters import Whitelist
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.membership.zookeeper.threads.group_problems import GroupProblems
from zkconsumer.membership.zookeeper.threads.subscription import (
    FilterSubscription,
    StaticSubscription,
    StreamSubscription,
)
from zkconsumer.model import Broker
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.zk.group_values import GroupSnapshot

SUBSCRIBED: StreamSubscription = StaticSubscription({"t": (ChunkQueue(1),)})


def report(
    problems: GroupProblems,
    *,
    members: Mapping[str, str] | None = None,
    unreadable_by_scala: Mapping[str, str] | None = None,
    topics: Mapping[str, str] | None = None,
    partitions: tuple[int, ...] = (0,),
    broker_count: int = 1,
) -> None:
    """Report a snapshot of the group with these problems."""
    snapshot = GroupSnapshot(
        members={},
        malformed_members=members or {},
        unreadable_by_scala=unreadable_by_scala or {},
        brokers=tuple(Broker(number, "h", 1) for number in range(broker_count)),
        malformed_brokers={},
        topics={"t": partitions},
        malformed_topics=topics or {},
        all_topics=("t",),
    )
    view = GroupView(members={}, partitions={"t": partitions})
    problems.report(snapshot, SUBSCRIBED, view)


def test_a_group_without_problems_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """A healthy group has no problems."""
    with caplog.at_level(logging.WARNING):
        report(GroupProblems("c"))
    assert caplog.messages == []


def test_a_problem_is_logged_when_it_appears_and_when_it_returns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is not logged at every rebalance in between."""
    problems = GroupProblems("c")
    with caplog.at_level(logging.WARNING):
        for members in ({"m": "not JSON"}, {"m": "not JSON"}, {}, {"m": "not JSON"}):
            report(problems, members=members)
    assert (
        caplog.messages
        == ["c: member m: its registration can't be read, so it gets no partitions: not JSON"] * 2
    )


def test_a_missing_topic_is_logged_as_such(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A missing topic is no damage, and may be created later."""
    problems = GroupProblems("c")
    with caplog.at_level(logging.WARNING):
        report(problems, partitions=())
    assert caplog.messages == [
        "c: topic t does not exist or has no partitions; it is read as soon as it has some"
    ]


def test_a_malformed_topic_is_not_called_missing(caplog: pytest.LogCaptureFixture) -> None:
    """There is one line for it, with the reason."""
    problems = GroupProblems("c")
    with caplog.at_level(logging.WARNING):
        report(problems, topics={"t": "no partitions in it"}, partitions=())
    assert caplog.messages == [
        "c: topic t: its node can't be read, so none of its partitions is read: no partitions in it"
    ]


def test_a_registration_that_scala_can_not_read_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """We can read the registration, but the group's Scala members can't rebalance."""
    with caplog.at_level(logging.WARNING):
        report(GroupProblems("c"), unreadable_by_scala={"m": "a number that is no int"})
    assert caplog.messages == [
        "c: member m: Scala members of this group fail on its registration: a number that is no int"
    ]


def test_a_cluster_without_brokers_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The message explains why no partition is read."""
    with caplog.at_level(logging.WARNING):
        report(GroupProblems("c"), broker_count=0)
    assert caplog.messages == [
        "c: no broker is registered in ZooKeeper: waiting for one; is the chroot of "
        "zookeeper.connect that of the brokers?"
    ]


@pytest.mark.parametrize(("topics", "logged"), [({}, True), ({"t": 1}, False)])
def test_a_filter_that_matches_nothing_is_logged(
    caplog: pytest.LogCaptureFixture, topics: Mapping[str, int], logged: bool
) -> None:
    """Otherwise a misspelt topic of the console consumer would look like one without messages."""
    snapshot = GroupSnapshot(
        members={},
        malformed_members={},
        unreadable_by_scala={},
        brokers=(Broker(0, "h", 1),),
        malformed_brokers={},
        topics={},
        malformed_topics={},
        all_topics=("t", "u"),
    )
    view = GroupView(members={"c": topics}, partitions={})
    problems = GroupProblems("c")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            problems.report(snapshot, FilterSubscription(Whitelist("x"), ()), view)
    expected = (
        "c: the white_list filter 'x' allows none of the 2 topics; a new one that it allows "
        "will be read"
    )
    assert caplog.messages == [expected] * logged
