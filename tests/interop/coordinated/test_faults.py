"""Members that freeze, stall, crash or rejoin: what is reported to them, and no loss."""

from collections import Counter

import pytest

from tests.interop.coordinated.conftest import GroupOn
from tests.interop.coordinated.members import ClientMember, all_values
from tests.support.waiting import wait_until

pytestmark = pytest.mark.long
OLDEST_AND_NEWEST = ["0.9.0.1", "3.9.1"]
SESSION_MS = 1500
MAX_POLL_MS = 1500
MANUAL_COMMITS = {"enable_auto_commit": False, "session_timeout_ms": SESSION_MS}


def assert_refused(member: ClientMember) -> None:
    """Check that the member's commit fails with the reason."""
    outcome = member.commit()
    assert outcome.get("kind") == "CommitFailedError", outcome


@pytest.mark.sandbox
@pytest.mark.alone  # on a busy machine a session of kafka-python or ours can time out once more
@pytest.mark.parametrize("version", ["0.9.0.1", "3.9.1"])
def test_a_member_frozen_past_its_session_is_fenced(group_on: GroupOn, version: str) -> None:
    """Others continue where it was; thawed, its commit fails, its loss is reported, it rejoins."""
    group = group_on(version)
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    frozen = group.ours(topic, **MANUAL_COMMITS)
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
    frozen.queue_command("commit")
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
    # The frozen member's first records were not committed, so the other one got them, too.
    again = [value for value, count in Counter(all_values(group.members)).items() if count > 1]
    assert sorted(again) == sorted(value for value in before if value.startswith(f"{lost}:"))
    assert other.reported("lost") == []


@pytest.mark.sandbox
def test_records_that_a_frozen_member_had_fetched_are_not_delivered(group_on: GroupOn) -> None:
    """They are still buffered after the thaw, but another member owns the partition."""
    group = group_on("2.8.2")
    topic = group.topic(1)
    (tp,) = group.partitions(topic, 1)
    frozen = group.ours(topic, max_poll_records=1, **MANUAL_COMMITS)
    group.await_shared([tp], 1)
    frozen.send_command("slow 100")
    sent = group.write([tp], 200)
    wait_until(lambda: len(frozen.values) > 3, what="its first records")
    frozen.pause()
    had = len(frozen.values)
    group.kafka_python(topic)
    group.await_shared([tp], 1)
    group.await_all(sent)
    frozen.resume()
    wait_until(lambda: frozen.reported("lost"), what="the report of its loss")
    facts = frozen.facts
    until_lost = facts[: next(at for at, fact in enumerate(facts) if "lost" in fact)]
    delivered = sum(len(fact.get("records", ())) for fact in until_lost)
    # It may have been frozen between its check of the session and the delivery of one record.
    assert delivered <= had + 1


@pytest.mark.sandbox
@pytest.mark.parametrize("version", OLDEST_AND_NEWEST)
def test_a_member_that_stops_polling_leaves_and_comes_back(group_on: GroupOn, version: str) -> None:
    """That is logged, and commits are refused; its next poll reports the loss, and rejoins."""
    group = group_on(version)
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    idle = group.ours(topic, enable_auto_commit=False, max_poll_interval_ms=MAX_POLL_MS)
    group.ours(topic)
    group.await_shared(both, 2)
    group.await_all(group.write(both, 10))
    (lost,) = idle.owned
    idle.send_command("idle")
    group.await_shared(both, 1)
    group.await_all(group.write(both, 10))
    group.await_committed()
    assert "max.poll.interval.ms=1500" in idle.errors
    assert_refused(idle)
    assert idle.reported("lost") == []
    assert group.peek.offsets.offsets(both) == group.writer.ends
    idle.send_command("poll")
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
    """Heartbeats go on meanwhile: no rebalance, no duplicates, and its commits succeed."""
    group = group_on(version)
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    slow = group.ours(topic, session_timeout_ms=800, heartbeat_interval_ms=200, max_poll_records=4)
    group.kafka_python(topic)
    group.await_shared(both, 2)
    slow.send_command("slow 1200")
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
    """Closed or killed, it gets its partitions again, and the others notice nothing."""
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
def test_the_older_of_two_members_with_an_instance_id_is_fenced(group_on: GroupOn) -> None:
    """Its polls raise, and it delivers no records."""
    group = group_on("3.9.1")
    topic = group.topic(2)
    both = group.partitions(topic, 2)
    older = group.ours(topic, group_instance_id="one", **MANUAL_COMMITS)
    group.await_shared(both, 1)
    wait_until(lambda: len(older.owned) == 2, what="its share")
    newer = group.ours(topic, group_instance_id="one", **MANUAL_COMMITS)
    wait_until(lambda: len(newer.owned) == 2, what="the share of the newer one")
    wait_until(lambda: older.failures, what="the older one's error")
    assert {failure["kind"] for failure in older.failures} == {"FencedInstanceIdError"}
    assert "same group.instance.id" in older.failures[0]["text"]
    sent = group.write(both, 10)
    group.await_all(sent)
    assert older.values == []
    assert sorted(newer.values) == sorted(sent)
