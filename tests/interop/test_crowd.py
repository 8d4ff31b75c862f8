"""More members and streams than partitions: idle ones deliver nothing, and take over later."""

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.interop.members import Member, ScalaMember
from tests.interop.mixed_group import MixedGroup
from tests.support.waiting import wait_until

pytestmark = pytest.mark.sandbox
PERFORMANCE = "kafka.tools.ConsumerPerformance"


def check_silent(*members: Member) -> None:
    """Check that nothing was delivered to these members."""
    assert [member.values for member in members] == [[]] * len(members)


def check_all_once(group: MixedGroup, *members: Member) -> None:
    """Check that everything that was written was delivered exactly once.

    The exception is one message of each original that rebalanced: it delivers a message that its
    iterator has prepared, although its commit is before that message.
    """
    delivered = Counter(value for member in members for value in member.values)
    assert sorted(delivered) == sorted(group.writer.values)
    repeats = delivered - Counter(group.writer.values)
    by_originals = {
        v for member in members if isinstance(member, ScalaMember) for v in member.values
    }
    assert set(repeats) <= by_originals, repeats
    assert repeats.total() <= sum(isinstance(member, ScalaMember) for member in members), repeats


def test_idle_members_of_both_kinds_are_silent_and_take_over_in_turn(group: MixedGroup) -> None:
    """Five threads for two partitions: the first two by id own them; the next one takes over."""
    topic = group.topic(2)
    a = group.ours({topic: 1}, "a-ours")
    group.await_values(group.write(5, topic), a)
    b = group.scala(topic, "b-scala")
    group.await_settled([topic], ["a-ours", "b-scala"])
    c = group.ours({topic: 2}, "c-ours")
    d = group.scala(topic, "d-scala")
    snapshot = group.await_settled([topic], ["a-ours", "b-scala", "c-ours", "d-scala"])
    assert snapshot.owners == {
        f"{topic}-0": f"{a.consumer_id}-0",
        f"{topic}-1": f"{b.consumer_id}-0",
    }
    group.await_values(group.write(5, topic), a, b)
    check_silent(c, d)

    a.leave()
    snapshot = group.await_settled([topic], ["b-scala", "c-ours", "d-scala"])
    assert snapshot.owners[f"{topic}-1"] == f"{c.consumer_id}-0"
    group.await_values(group.write(5, topic), a, b, c)
    check_silent(d)

    b.leave()
    snapshot = group.await_settled([topic], ["c-ours", "d-scala"])
    assert snapshot.owners[f"{topic}-1"] == f"{c.consumer_id}-1"
    group.await_values(group.write(5, topic), a, b, c)
    check_silent(d)

    c.leave()
    group.await_settled([topic], ["d-scala"])
    group.await_values(group.write(5, topic), a, b, c, d)
    check_all_once(group, a, b, c, d)


def test_eleven_streams_of_ours_are_assigned_in_the_order_of_their_ids_as_text(
    group: MixedGroup,
) -> None:
    """Four partitions go to threads 0, 1, 10 and 2; the original after them gets none."""
    topic = group.topic(4)
    c = group.ours({topic: 11}, "c")
    group.await_values(group.write(2, topic), c)
    d = group.scala(topic, "d")
    snapshot = group.await_settled([topic], ["c", "d"])
    assert threads_by_partition(snapshot.owners, topic) == ["0", "1", "10", "2"]
    group.await_values(group.write(5, topic), c)
    assert {(delivery.partition, delivery.stream) for delivery in c.delivered} == {
        (0, f"{topic}/0"),
        (1, f"{topic}/1"),
        (2, f"{topic}/10"),
        (3, f"{topic}/2"),
    }
    check_silent(d)

    c.leave()
    group.await_settled([topic], ["d"])
    group.await_values(group.write(5, topic), c, d)
    check_all_once(group, c, d)


def test_eleven_streams_of_the_original_leave_ours_the_computed_share(group: MixedGroup) -> None:
    """There are 13 partitions, eleven threads of the JVM (static subscription) and two of ours."""
    topic = group.topic(13)
    arguments = ("--zookeeper", group.cluster.zookeeper_connect, "--topic", topic)
    with group.cluster.scala_tool(
        PERFORMANCE, *arguments, "--group", group.name, "--threads", "11", "--messages", "1000000"
    ):
        # The tool deletes the group's nodes before it joins.
        [scala] = wait_until(lambda: list(group.peek.registrations()), what="the original")
        group.ours({topic: 2}, "zz-ours")
        snapshot = group.await_settled([topic], 2)
    assert snapshot.members == sorted([scala, group.id_of("zz-ours")])
    in_text_order = ["0", "1", "10", *map(str, range(2, 10))]
    if snapshot.members[0] == scala:
        assert threads_by_partition(snapshot.owners, topic) == [*in_text_order, "0", "1"]
    else:
        assert threads_by_partition(snapshot.owners, topic) == ["0", "1", *in_text_order]


def threads_by_partition(owners: dict[str, str], topic: str) -> Sequence[str]:
    """Return the number of the thread that owns each partition."""
    return [owners[f"{topic}-{number}"].rpartition("-")[2] for number in range(len(owners))]
