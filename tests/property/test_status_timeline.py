"""A timeline says what happened, whatever happens and whenever the group is read."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.support.status import group_of, member
from zkconsumer.model import TopicPartition
from zkconsumer.status.causes import RebalanceReason
from zkconsumer.status.group_state import zookeeper_state
from zkconsumer.status.model import GroupPartition, GroupStatus
from zkconsumer.status.timeline import GroupTimeline

IDS = {"t": tuple(range(4))}
PARTITIONS = [TopicPartition("t", number) for number in IDS["t"]]
NAMES = ("g_a", "g_b", "g_c")


@st.composite
def snapshots(draw: st.DrawFn) -> list[GroupStatus]:
    """Draw any members and owners, at increasing times."""
    found, at_ms = [], 0
    for _ in range(draw(st.integers(1, 12))):
        at_ms += draw(st.integers(1, 40_000))
        names = draw(st.sets(st.sampled_from(NAMES)))
        owners = draw(
            st.lists(
                st.sampled_from([None, *(f"{name}-0" for name in names)]),
                min_size=4,
                max_size=4,
            )
        )
        group = group_of(
            *(GroupPartition(tp, owner) for tp, owner in zip(PARTITIONS, owners, strict=True)),
            members=tuple(member(name, {"t": 1}) for name in sorted(names)),
        )
        found.append(replace(group, seen_ms=at_ms, state=zookeeper_state(group, IDS)))
    return found


def _owners(group: GroupStatus) -> dict[TopicPartition, str | None]:
    return {partition.topic_partition: partition.owner for partition in group.partitions}


@given(snapshots())
def test_all_moves_lead_from_the_first_snapshot_to_the_last(seen: list[GroupStatus]) -> None:
    """All joins and departures lead from the first members to the last."""
    timeline = GroupTimeline(seen[0].key, linger_ms=0)
    for group in seen:
        timeline.receive(group, IDS)
    owners = _owners(seen[0])
    for rebalance in timeline.rebalances:
        for move in rebalance.moved:
            assert owners[move.topic_partition] == move.before
            owners[move.topic_partition] = move.after
    assert owners == _owners(seen[-1])


@given(snapshots(), st.integers(0, 50_000))
def test_rebalances_follow_each_other_and_only_the_last_is_open(
    seen: list[GroupStatus], linger_ms: int
) -> None:
    """It is open exactly while the group is not stable."""
    timeline = GroupTimeline(seen[0].key, linger_ms=linger_ms)
    for group in seen:
        events = timeline.receive(group, IDS)
        assert events is None or events == timeline.rebalances[-1]
    found = timeline.rebalances
    for before, after in pairwise(found):
        assert before.ended_ms is not None
        assert before.ended_ms <= after.began_ms
    restless = seen[-1].state.value == "rebalancing"
    assert (bool(found) and found[-1].ended_ms is None) is restless
    assert all(rebalance.lasted_ms(seen[-1].seen_ms) >= 0 for rebalance in found)


@given(snapshots())
def test_every_member_that_came_or_went_is_a_reason(seen: list[GroupStatus]) -> None:
    """It is one of a rebalance that was in progress, or began, at that snapshot."""
    timeline = GroupTimeline(seen[0].key)
    for group in seen:
        timeline.receive(group, IDS)
    reported = {(reason.cause, reason.what) for r in timeline.rebalances for reason in r.reasons}
    for before, after in pairwise(seen):
        was = {status.member_id for status in before.members}
        now = {status.member_id for status in after.members}
        assert {(RebalanceReason.JOINED, name) for name in now - was} <= reported
        assert {(RebalanceReason.LEFT, name) for name in was - now} <= reported
