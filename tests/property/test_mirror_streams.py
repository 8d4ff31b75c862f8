"""A mirror stream in any world: rebalances, losses, failed commits, and a target that refuses."""

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from tests.support.manual_clock import ManualClock
from tests.support.mirror_world import ConsumerDouble, PlacesDouble, Step, World
from tests.support.mirroring import Verdict
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.offset_ledger import OffsetLedger
from zkconsumer.mirror.routing import Partitioning
from zkconsumer.mirror.settings import MirrorSettings, target_settings
from zkconsumer.mirror.stream import MirrorStream
from zkconsumer.model import TopicPartition

TPS = [TopicPartition("t", number) for number in range(3)]

steps = st.lists(
    st.builds(
        Step,
        assigned=st.frozensets(st.integers(0, 2)),
        lost=st.booleans(),
        read=st.integers(0, 5),
        others=st.sampled_from([0, 0, 1, 4]),
        commits_fail=st.sampled_from([False, False, False, True]),
    ),
    max_size=15,
)
logs = st.fixed_dictionaries({tp: st.sets(st.integers(0, 40), max_size=20) for tp in TPS})
verdicts = st.lists(st.sampled_from([None] * 12 + ["later: not now", "never"]), max_size=60)


def run(
    world: World, *, partitioning: Partitioning, commit_interval_ms: int, drops: bool
) -> tuple[OffsetLedger, bool]:
    """Mirror until the script is over; return whether it got that far."""
    settings = MirrorSettings(
        topics=Whitelist("t"),
        consumers=({},),
        target=target_settings({"retry.backoff.ms": "1"}, "h:1"),
        partitioning=partitioning,
        commit_interval_ms=commit_interval_ms,
        abort_on_send_failure=not drops,
        batch_records=7,
    )
    ledger = OffsetLedger()
    made: Any = MirrorStream
    stream: MirrorStream = made(
        settings,
        {},
        ledger=ledger,
        on_complete=lambda: None,
        clock=ManualClock(),
        consume=lambda _settings: cast("Any", ConsumerDouble(world)),
        aim=lambda _settings, _wait: cast("Any", PlacesDouble(world)),
    )
    world.on_end = stream.stop
    try:
        stream.run()
    except MirrorError:
        return ledger, False
    return ledger, True


@given(logs, steps, verdicts, st.booleans(), st.sampled_from([0, 60_000]))
def test_only_offsets_in_the_target_are_committed(
    of_logs: dict[TopicPartition, set[int]],
    script: list[Step],
    responses: list[Verdict],
    drops: bool,
    commit_interval_ms: int,
) -> None:
    """The group never goes back, and partitions that are kept are committed at the end."""
    left = list(responses)
    refused: set[bytes] = set()

    def judge(value: bytes) -> Verdict:
        outcome = left.pop(0) if left else None
        if outcome == "never" and drops:
            # A message that is dropped counts as done, and is reported.
            refused.add(value)
        return outcome

    world = World({tp: sorted(of_tp) for tp, of_tp in of_logs.items()}, list(script), judge)
    if drops:
        for tp in TPS:
            world.by_others.setdefault(tp, set()).update(range(50))
    ledger, finished = run(
        world, partitioning=Partitioning.SAME, commit_interval_ms=commit_interval_ms, drops=drops
    )
    assert world.was_closed
    world.check()
    totals = ledger.totals()
    for tp, log in world.target.logs.items():
        account = totals[tp]
        assert account.acknowledged == len(log)
        if finished:
            assert account.read == account.acknowledged + account.dropped
            assert account.again >= account.read - len(of_logs[tp])
    if not drops:
        assert not refused
        assert sum(total.dropped for total in totals.values()) == 0
    is_calm = not any(step.lost or step.commits_fail for step in script)
    if is_calm and not any(step.others for step in script) and not drops and script:
        for tp, account in totals.items():
            # All that was acknowledged is committed, handed over or not, and nothing came twice.
            assert world.committed.get(tp) == account.position
            assert account.again == 0


@given(logs, steps)
def test_only_mirrored_offsets_are_committed_with_keys_spread_over_partitions(
    of_logs: dict[TopicPartition, set[int]], script: list[Step]
) -> None:
    """Every message that was read is in some partition of the target."""
    world = World(
        {tp: sorted(of_tp) for tp, of_tp in of_logs.items()}, list(script), lambda _value: None
    )
    for tp in TPS:
        # The partitions of copies don't matter here, only their number.
        world.by_others[tp] = set(range(50))
    ledger, finished = run(
        world, partitioning=Partitioning.KEY, commit_interval_ms=60_000, drops=False
    )
    assert finished
    written = sum(map(len, world.target.logs.values()))
    totals = ledger.totals().values()
    assert (
        written
        == sum(total.acknowledged for total in totals)
        == sum(total.read for total in totals)
    )
