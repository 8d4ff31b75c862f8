"""A member of ours and the original join and leave one group, while messages are written."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.interop.members import OurMember, ScalaMember
from tests.interop.mixed_group import MixedGroup
from tests.support.waiting import wait_until
from zkconsumer import Whitelist

pytestmark = pytest.mark.sandbox
PARTITIONS = 4
MOST_REPEATS = 6

LastingMember = OurMember | ScalaMember


@pytest.fixture(params=[("ours", "scala"), ("scala", "ours")], ids=["ours-first", "scala-first"])
def order(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Which kind joins first."""
    order: tuple[str, str] = request.param
    return order


def joiners(group: MixedGroup, topic: str) -> dict[str, Callable[[], LastingMember]]:
    """Return how each kind joins; with these ids ours comes after the original in assignments."""
    return {
        "ours": lambda: group.ours({topic: 1}, "z-ours"),
        "scala": lambda: group.scala(topic, "a-scala"),
    }


IDS = {"ours": "z-ours", "scala": "a-scala"}


def await_all_partitions(member: LastingMember, seen: int, partitions: set[str]) -> None:
    """Wait until ``member``, after its first ``seen`` messages, has some of each partition."""
    wait_until(
        lambda: {value.split(":")[1] for value in member.values[seen:]} >= partitions,
        what=f"{member} to read partitions {partitions}",
    )


@pytest.mark.parametrize("leaver", ["first", "second"])
def test_both_kinds_join_and_leave_in_any_order_and_nothing_is_lost(
    group: MixedGroup, order: tuple[str, str], leaver: str
) -> None:
    """Each partition has one owner, by the range assignor; together they deliver everything."""
    topic = group.topic(PARTITIONS)
    everything = {str(number) for number in range(PARTITIONS)}
    share = {"scala": {"0", "1"}, "ours": {"2", "3"}}
    join = joiners(group, topic)
    members: dict[str, LastingMember] = {}
    with group.traffic(topic):
        first, second = order
        members[first] = join[first]()
        group.await_settled([topic], [IDS[first]])
        await_all_partitions(members[first], 0, everything)

        members[second] = join[second]()
        group.await_settled([topic], IDS.values())
        for kind, member in members.items():
            await_all_partitions(member, len(member.values), share[kind])

        leaving, staying = order if leaver == "first" else reversed(order)
        members[leaving].leave()
        group.await_settled([topic], [IDS[staying]])
        await_all_partitions(members[staying], len(members[staying].values), everything)
    group.await_values(group.writer.values, *members.values())
    members[staying].leave()

    written = Counter(group.writer.values)
    delivered = Counter(value for member in members.values() for value in member.values)
    assert set(delivered) == set(written)
    assert group.peek.owners([topic]) == {}
    assert group.peek.offsets(topic) == {
        tp.partition: str(end) for tp, end in group.writer.ends.items()
    }
    assert isinstance(members["scala"], ScalaMember)
    members["scala"].check_no_rebalance_failed()
    ours = members["ours"].values
    assert len(ours) == len(set(ours))
    if leaving == "ours":
        # When the original leaves, it delivers the rest of its chunk after its last commit.
        assert (delivered - written).total() <= MOST_REPEATS


def test_generated_ids_of_both_kinds_have_the_same_form_and_sort_together(
    group: MixedGroup,
) -> None:
    """``group_host-milliseconds-hex``; the assignment follows their order as text."""
    topic = group.topic(3)
    group.ours(Whitelist(topic), streams=2)
    group.scala(topic)
    snapshot = group.await_settled([topic], 2)
    host_and_time = {name.rpartition("-")[0].rpartition("-")[0] for name in snapshot.members}
    assert len(host_and_time) == 1, snapshot.members
    assert host_and_time.pop().startswith(f"{group.name}_")
    for name in snapshot.members:
        _, millis, random_part = name.rsplit("-", 2)
        assert len(millis) == 13
        assert 1 <= len(random_part) <= 8
        assert int(random_part, 16) >= 0
