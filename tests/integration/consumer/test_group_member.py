"""Members of coordinator groups on real brokers, from the first with groups to 3.9."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.group_members import poll_until, tps
from tests.support.real_members import REAL, RealMember
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import CommitFailed
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.model import OffsetAndMetadata
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

COOPERATIVE = replace(REAL, strategies=("cooperative-sticky",))
STICKY = replace(REAL, strategies=("sticky",))
Open = Callable[..., RealMember]


@pytest.fixture
def open_() -> Iterator[Open]:
    """Give a function that opens members; close those that the test leaves open."""
    with ExitStack() as members:

        def open_(
            sandbox: Sandbox,
            group: str,
            *topics: str,
            settings: GroupSettings = REAL,
            name: str = "member",
        ) -> RealMember:
            member = RealMember(sandbox, group, *topics, settings=settings, name=name)
            return members.enter_context(member)

        yield open_


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ("0.9.0.1", REAL),
        ("0.9.0.1", COOPERATIVE),
        ("0.11.0.3", STICKY),
        ("3.9.1", REAL),
        ("3.9.1", COOPERATIVE),
    ],
    ids=["0.9-range", "0.9-cooperative", "0.11-sticky", "3.9-range", "3.9-cooperative"],
)
def test_two_members_share_commit_and_take_over(
    broker_of: BrokerOf, open_: Open, version: str, settings: GroupSettings
) -> None:
    """A member that takes partitions over reads what the former owner committed."""
    sandbox, topic, group = broker_of(version), fresh_name("shared"), fresh_name("g")
    sandbox.create_topic(topic, partitions=4)
    whole = tps(topic, 0, 1, 2, 3)
    first = open_(sandbox, group, topic, settings=settings, name="first")
    first.poll_until("the first has all", lambda: first.has == whole)
    second = open_(sandbox, group, topic, settings=settings, name="second")
    poll_until(
        "both have half",
        lambda: len(first.has) == len(second.has) == 2 and first.has | second.has == whole,
        first,
        second,
    )
    epoch = 5 if version == "3.9.1" else -1
    position = OffsetAndMetadata(7, "note", epoch)
    ours = dict.fromkeys(first.has, position)
    first.member.commit(ours, timeout_ms=10_000)
    with pytest.raises(CommitFailed):
        first.member.commit(dict.fromkeys(second.has, position), timeout_ms=10_000)
    first.close()
    second.poll_until("the second has all", lambda: second.has == whole)
    found = second.member.committed(whole, timeout_ms=10_000)
    assert found == {tp: ours.get(tp) for tp in whole}


@pytest.mark.parametrize("version", ["0.9.0.1", "3.9.1"])
def test_a_member_frozen_past_its_session_commits_nothing(
    broker_of: BrokerOf, open_: Open, version: str
) -> None:
    """The group has rebalanced without it: its commit fails, and its loss is reported."""
    sandbox, topic, group = broker_of(version), fresh_name("frozen"), fresh_name("g")
    sandbox.create_topic(topic, partitions=2)
    whole = tps(topic, 0, 1)
    brief = replace(REAL, session_timeout_ms=1_000)
    frozen = open_(sandbox, group, topic, settings=brief, name="frozen")
    frozen.poll_until("all", lambda: frozen.has == whole)
    frozen.network.running.clear()
    other = open_(sandbox, group, topic, name="other")
    other.poll_until("the other has all", lambda: other.has == whole)
    assert frozen.has == frozenset()
    frozen.network.running.set()
    with pytest.raises(CommitFailed):
        frozen.member.commit(dict.fromkeys(whole, OffsetAndMetadata(9)), timeout_ms=10_000)
    poll_until("it hears of it", lambda: ("lost", whole) in frozen.handler.calls, frozen, other)
    poll_until("both have one", lambda: len(frozen.has) == len(other.has) == 1, frozen, other)
    assert other.member.committed(whole, timeout_ms=10_000) == dict.fromkeys(whole)


def test_a_broker_killed_under_a_rebalance(broker_of: BrokerOf, open_: Open) -> None:
    """JoinGroup gets no response; the group recovers when the broker is back."""
    sandbox, topic, group = broker_of("0.11.0.3"), fresh_name("killed"), fresh_name("g")
    sandbox.create_topic(topic, partitions=2)
    whole = tps(topic, 0, 1)
    first = open_(sandbox, group, topic, name="first")
    first.poll_until("all", lambda: first.has == whole)
    second = open_(sandbox, group, topic, name="second")
    # The first member does not poll, so the second one's JoinGroup waits.
    second.poll_until("it joins", lambda: second.member.state == "preparing")
    sandbox.kill_broker(0)
    sandbox.start_broker(0)
    poll_until(
        "both have one",
        lambda: len(first.has) == len(second.has) == 1 and first.has | second.has == whole,
        first,
        second,
        timeout_s=60,
    )
    first.member.commit(dict.fromkeys(first.has, OffsetAndMetadata(3)), timeout_ms=20_000)


def test_a_close_is_prompt_when_the_broker_hangs(broker_of: BrokerOf, open_: Open) -> None:
    """The broker is frozen while all connections stay open."""
    sandbox, topic, group = broker_of("3.9.1"), fresh_name("hung"), fresh_name("g")
    sandbox.create_topic(topic, partitions=1)
    member = open_(sandbox, group, topic)
    member.poll_until("all", lambda: member.has == tps(topic, 0))
    beats = member.member.counts.heartbeats
    wait_until(lambda: member.member.counts.heartbeats > beats, what="a heartbeat")
    sandbox.pause_broker(0)
    try:
        started = SystemClock().now_ms()
        member.close(timeout_ms=1_000)
        assert SystemClock().now_ms() - started < PROMPT_MS
    finally:
        sandbox.resume_broker(0)
