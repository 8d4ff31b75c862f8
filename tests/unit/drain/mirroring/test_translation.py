"""Translating source offsets to the target, by examples and for arbitrary copies."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.drain.mirroring.mirror import target_ends
from zkconsumer.drain.mirroring.translation import (
    TranslatedRun,
    Translation,
    first_copies,
    from_files,
    to_file,
)
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.errors import DrainError
from zkconsumer.model import OffsetRange, TopicPartition

TP = TopicPartition("clicks", 1)


def _translation(*runs: TranslatedRun) -> Translation:
    return Translation({TP: runs})


@pytest.mark.timeout(60)
def test_a_compacted_log_with_many_runs_is_merged_quickly() -> None:
    """There is a run per hole; comparing each with all others would take hours."""
    count = 50_000
    runs = [TranslatedRun(3 * at, 3 * at + 1, at) for at in range(count)]
    assert first_copies(reversed(runs)) == tuple(runs)
    reversed_targets = [TranslatedRun(3 * at, 3 * at + 1, count - at) for at in range(count)]
    assert first_copies(reversed_targets) == tuple(reversed_targets)


def test_an_empty_batch_has_no_target_ends() -> None:
    """A plan without ranges needs none; for one with ranges they are required."""
    tp = TopicPartition("clicks", 0)
    plan = BatchPlan(number=1, created_ms=0, positions={tp: 0}, starts={tp: 0}, ranges=())
    assert target_ends(plan) == {}
    wanted = OffsetRange(topic_partition=tp, from_offset=0, until_offset=1)
    with pytest.raises(DrainError, match="target_ends"):
        target_ends(replace(plan, ranges=(wanted,)))


def test_offsets_inside_a_run_keep_their_distance() -> None:
    """Within a run, source and target offsets differ by a constant."""
    translation = _translation(TranslatedRun(10, 20, 105))
    assert translation.target(TP, 10) == 105
    assert translation.target(TP, 19) == 114


def test_an_offset_in_a_hole_translates_to_the_next_message() -> None:
    """A group at a compacted offset would read the next message."""
    translation = _translation(TranslatedRun(10, 12, 0), TranslatedRun(15, 20, 2))
    assert [translation.target(TP, offset) for offset in (11, 12, 14, 15)] == [1, 2, 2, 2]


def test_offsets_before_the_first_run_translate_to_its_start() -> None:
    """Messages that expired before the drain are not in the target."""
    assert _translation(TranslatedRun(10, 12, 7)).target(TP, 3) == 7


def test_the_end_translates_and_what_is_not_mirrored_does_not() -> None:
    """A group at the end of the copies continues after them; later offsets are unknown."""
    translation = _translation(TranslatedRun(10, 12, 7))
    assert translation.target(TP, 12) == 9
    assert translation.target(TP, 13) is None
    assert translation.target(TopicPartition("clicks", 2), 0) is None


def test_the_first_copy_counts() -> None:
    """If an interrupted attempt is repeated, messages may be copied twice; the first counts."""
    copies = [TranslatedRun(0, 50, 300), TranslatedRun(0, 300, 0), TranslatedRun(300, 1000, 350)]
    assert first_copies(copies) == (TranslatedRun(0, 300, 0), TranslatedRun(300, 1000, 350))


def test_a_run_that_overlaps_an_earlier_one_counts_in_part() -> None:
    """Offsets that an earlier run covers keep their target; the rest comes from the later run."""
    copies = [TranslatedRun(5, 10, 0), TranslatedRun(0, 20, 5)]
    assert first_copies(copies) == (
        TranslatedRun(0, 5, 5),
        TranslatedRun(5, 10, 0),
        TranslatedRun(10, 20, 15),
    )


def test_files_of_batches_add_up() -> None:
    """Runs that continue each other across batches become one."""
    first = to_file(1, {TP: [TranslatedRun(0, 10, 5)]})
    second = to_file(2, {TP: [TranslatedRun(10, 12, 15), TranslatedRun(12, 14, 30)]})
    translation = from_files([("1.json", first), ("2.json", second)])
    assert translation.runs == {TP: (TranslatedRun(0, 12, 5), TranslatedRun(12, 14, 30))}


def test_a_damaged_file_is_named() -> None:
    """The start offsets of groups must not be guessed."""
    with pytest.raises(DrainError, match=r"7\.json is damaged"):
        from_files([("7.json", b'{"version": 1, "runs": [{}]}')])


_RUNS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=12)
"""Runs of source offsets in the order of the target, some of them repeated."""


@given(_RUNS, st.integers(0, 5))
def test_every_mirrored_offset_translates_to_its_first_copy(
    source_runs: list[tuple[int, int]], start: int
) -> None:
    """Whatever was copied again, each offset translates to the place of its first copy."""
    copies: list[int] = []
    runs: list[TranslatedRun] = []
    for first, length in source_runs:
        runs.append(TranslatedRun(first, first + length, start + len(copies)))
        copies.extend(range(first, first + length))
    translation = Translation({TP: first_copies(runs)})
    for offset in copies:
        assert translation.target(TP, offset) == start + copies.index(offset)
