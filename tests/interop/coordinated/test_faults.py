"""Members that freeze, stall, crash or come back; what they are told, and that nothing is lost."""

from collections import Counter

import pytest

from tests.interop.coordinated.conftest import GroupOn
from tests.interop.coordinated.members import ClientMember, all_values
from tests.support.waiting import wait_until

pytestmark = pytest.mark.long
OLDEST_AND_NEWEST = ["0.9.0.1", "3.9.1"]
SESSION_MS = 1500
MAX_POLL_MS = 1500
BY_HAND = {"enable_auto_commit": False, "session_timeout_ms": SESSION_MS}


def assert_refused(member: ClientMember) -> None:
    """Its commit fails, and it says why."""
    outcome = member.commit()
    assert outcome.get("kind") == "CommitFailedError", outcome


@pytest.mark.sandbox
@pytest.mark.parametrize(
    # Beside others, 0.9 and kafka-python lose each other for a session now and then: the frozen
    # member is then given both shares.
    "version",
    [pytest.param("0.9.0.1", marks=pytest.mark.alone), "3.9.1"],
)
def test_a_member_frozen_past_its_session_is_fenced(group_on: GroupOn, version: str) -> None:
    """Others go on where it was; back again, it may not commit, hears of its loss, and rejoins."""
    group = group_on(version)
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    frozen = group.ours(topic, **BY_HAND)
    other = group.kafka_python(topic)
    group.await_shared(both, 2)
    before = group.write(both, 10)
    group.await_all(before)
    frozen.pause()
    (lost,) = frozen.owned
    changes = len(frozen.changes)
    group.await_shared(both, 1)
    group.await_all(before + group.write(both, 10))
    group.await_committed()
    frozen.order_later("commit")
    frozen.resume()
    wait_until(
        lambda: [failure for failure in frozen.failures if failure["failed"] == "commit"],
        what="refusal",
    )
    group.await_shared(both, 2)
    wait_until(lambda: len(frozen.owned) == 1, what="its new share")
    assert [failure["kind"] for failure in frozen.failures] == ["CommitFailedError"], (
        frozen.failures
    )
    assert frozen.changes[changes] == {"lost": [lost]}
    assert frozen.reported("lost") == [[lost]]
    assert group.peek.offsets.offsets(both) == group.writer.ends
    after = group.write(both, 10)
    group.await_all(after)
    assert set(frozen.values) & set(after)
    # Nobody had committed the frozen one's first records: they came to the other, too.
    again = [value for value, count in Counter(all_values(group.members)).items() if count > 1]
    assert sorted(again) == sorted(value for value in before if value.startswith(f"{lost}:"))
    assert other.reported("lost") == []


@pytest.mark.sandbox
def test_what_a_frozen_member_had_fetched_is_not_handed_out(group_on: GroupOn) -> None:
    """It waits there when the member goes on; but others have been given the partition."""
    group = group_on("2.8.2")
    topic = group.topic(1)
    (tp,) = group.partitions(topic, 1)
    frozen = group.ours(topic, max_poll_records=1, **BY_HAND)
    group.await_shared([tp], 1)
    frozen.order("slow 100")
    sent = group.write([tp], 200)
    wait_until(lambda: len(frozen.values) > 3, what="its first records")
    frozen.pause()
    had = len(frozen.values)
    group.kafka_python(topic)
    group.await_shared([tp], 1)
    group.await_all(sent)
    frozen.resume()
    wait_until(lambda: frozen.reported("lost"), what="what it is told")
    facts = frozen.facts
    until_told = facts[: next(at for at, fact in enumerate(facts) if "lost" in fact)]
    handed_out = sum(len(fact.get("records", ())) for fact in until_told)
    # It may have been frozen behind the last look at the clock, with one record in its hands.
    assert handed_out <= had + 1


@pytest.mark.sandbox
@pytest.mark.parametrize("version", OLDEST_AND_NEWEST)
def test_a_member_that_stops_polling_leaves_and_comes_back(group_on: GroupOn, version: str) -> None:
    """It says so; meanwhile it may not commit; its next poll tells the listener, and rejoins."""
    group = group_on(version)
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    idle = group.ours(topic, enable_auto_commit=False, max_poll_interval_ms=MAX_POLL_MS)
    group.ours(topic)
    group.await_shared(both, 2)
    group.await_all(group.write(both, 10))
    (lost,) = idle.owned
    idle.order("idle")
    group.await_shared(both, 1)
    group.await_all(group.write(both, 10))
    group.await_committed()
    assert "max.poll.interval.ms=1500" in idle.errors
    assert_refused(idle)
    assert idle.reported("lost") == []
    assert group.peek.offsets.offsets(both) == group.writer.ends
    idle.order("poll")
    group.await_shared(both, 2)
    wait_until(lambda: len(idle.owned) == 1, what="its new share")
    assert idle.reported("lost") == [[lost]]
    after = group.write(both, 10)
    group.await_all(after)
    assert set(idle.values) & set(after)
    assert "succeeded" in idle.commit()


@pytest.mark.sandbox
@pytest.mark.parametrize("version", OLDEST_AND_NEWEST)
def test_a_handler_slower_than_the_session_keeps_its_share(group_on: GroupOn, version: str) -> None:
    """Heartbeats go on beside it: no rebalance, nothing twice, and its commits come."""
    group = group_on(version)
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    slow = group.ours(topic, session_timeout_ms=800, heartbeat_interval_ms=200, max_poll_records=4)
    group.kafka_python(topic)
    group.await_shared(both, 2)
    slow.order("slow 1200")
    sent = group.write(both, 12)
    group.await_all(sent)
    group.await_committed()
    assert all_values(group.members) == sorted(sent)
    assert len([fact for fact in slow.facts if "records" in fact]) == 3
    assert slow.reported("lost") == []
    assert len(slow.owned) == 1


@pytest.mark.sandbox
@pytest.mark.parametrize("version", ["2.8.2", "3.9.1"])
def test_a_static_member_restarts_without_a_rebalance(group_on: GroupOn, version: str) -> None:
    """Closed or killed, it has its share again, and the others hear nothing."""
    group = group_on(version)
    topic = group.topic(4)
    four = group.partitions(topic, 4)
    settings = {"group_instance_id": "one", "session_timeout_ms": 10_000}
    first = group.ours(topic, **settings)
    other = group.kafka_python(topic, group_instance_id="two", session_timeout_ms=10_000)
    group.await_shared(four, 2)
    sent = group.write(four, 10)
    group.await_all(sent)
    group.await_committed()
    share, reported = first.owned, list(other.facts)
    first.leave()
    second = group.ours(topic, **settings)
    wait_until(lambda: second.owned == share, what="the share of before")
    second.kill()
    third = group.ours(topic, **settings)
    wait_until(lambda: third.owned == share, what="the share of before")
    sent += group.write(four, 10)
    group.await_all(sent)
    assert all_values(group.members) == sorted(sent)
    assert [fact for fact in other.facts if "records" not in fact] == [
        fact for fact in reported if "records" not in fact
    ]


@pytest.mark.sandbox
def test_a_static_member_that_is_there_twice_is_told(group_on: GroupOn) -> None:
    """The older one is fenced: it hears so from its polls, and what it commits is refused."""
    group = group_on("3.9.1")
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    older = group.ours(topic, group_instance_id="one", **BY_HAND)
    group.await_shared(both, 1)
    wait_until(lambda: len(older.owned) == 2, what="its share")
    newer = group.ours(topic, group_instance_id="one", **BY_HAND)
    wait_until(lambda: len(newer.owned) == 2, what="the share of the newer one")
    wait_until(lambda: older.failures, what="the older one's error")
    assert {failure["kind"] for failure in older.failures} == {"FencedInstanceIdError"}
    assert "same group.instance.id" in older.failures[0]["text"]
    sent = group.write(both, 10)
    group.await_all(sent)
    assert older.values == []
    assert sorted(newer.values) == sorted(sent)
