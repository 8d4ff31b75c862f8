"""Reports for each goal in ``bounds.json`` whether it was reached."""

from collections.abc import Iterator, Mapping, Sequence

from tests.benchmarks.bounds import Limits, bounds, limits
from tests.benchmarks.figures import Row, Run
from tests.benchmarks.latency import LatencyRun, medians_of
from tests.benchmarks.plan import CORE_BYTES


def of_topic(runs: Sequence[Run], topic: str, found: Mapping[str, Row]) -> Iterator[str]:
    """Yield a line for each goal about a topic; none for topics without goals."""
    size, codec, partitions = topic.split("-")
    if int(size) != CORE_BYTES:
        return
    for goal in bounds("goals" if codec == "none" else "compressed_goals"):
        measured = goal.found(runs, topic)
        if measured is not None:
            yield (
                f"- {goal.contestant} to {goal.baseline}: {measured.median:.2f} "
                f"({measured.lowest:.2f} - {measured.highest:.2f}), at least {goal.at_least:g}: "
                + _outcome(reached=measured.median >= goal.at_least)
            )
    if codec == "none":
        yield from _limits(found, limits(), int(partitions.removeprefix("p")))


def _limits(found: Mapping[str, Row], bound: Limits, partitions: int) -> Iterator[str]:
    row, baseline = found.get(bound.contestant), found.get(bound.cpu_baseline)
    if row is None:
        return
    if baseline is not None:
        share = row.cpu_seconds / baseline.cpu_seconds
        yield (
            f"- CPU per record of {row.contestant} to {baseline.contestant}: {share:.2f}, at most "
            f"{bound.cpu_at_most:g}: " + _outcome(reached=share <= bound.cpu_at_most)
        )
    # One fetcher, whose response has up to a megabyte of each partition.
    room_mb, peak_mb = bound.peak_mb_without_answers + partitions, row.peak_kb / 1024
    yield (
        f"- peak memory of {row.contestant}: {peak_mb:.0f} MB, at most {room_mb:g}: "
        + _outcome(reached=peak_mb <= room_mb)
    )
    if row.first_record_ms is not None:
        yield (
            f"- first record of {row.contestant} after {row.first_record_ms:.0f} ms, at most "
            f"{bound.first_record_ms:g}: "
            + _outcome(reached=row.first_record_ms <= bound.first_record_ms)
        )


def of_latency(runs: Sequence[LatencyRun]) -> Iterator[str]:
    """Yield a line about the latency for each number of partitions."""
    bound, found = limits(), medians_of(runs)
    for partitions in dict.fromkeys(partitions for partitions, _ in found):
        ours = found.get((partitions, bound.contestant))
        theirs = found.get((partitions, bound.latency_baseline))
        if ours is not None and theirs is not None:
            share = ours.p99_us / theirs.p99_us
            yield (
                f"- p99 of {bound.contestant} to {bound.latency_baseline}, {partitions} "
                f"partitions: {share:.2f}, at most {bound.latency_p99_at_most:g}: "
                + _outcome(reached=share <= bound.latency_p99_at_most)
            )


def _outcome(*, reached: bool) -> str:
    return "reached" if reached else "MISSED"
