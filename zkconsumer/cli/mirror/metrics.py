"""The metrics of a mirror. Pure."""

from collections.abc import Callable, Iterator
from typing import Final

from zkconsumer.metrics.families import Family, Kind, Measure, Sample
from zkconsumer.mirror.mirror import MirrorProgress
from zkconsumer.mirror.partition_totals import PartitionAccount

_LABELS: Final = ("source", "topic", "partition")


def _measure(
    name: str, text: str, value: Callable[[PartitionAccount], int | None], kind: Kind = "counter"
) -> Measure[MirrorProgress]:
    """Return a measure that has a sample for each partition with a known value."""

    def find(now: MirrorProgress) -> Iterator[Sample]:
        for source, partitions in now.sources.items():
            for tp, account in partitions.items():
                found = value(account)
                if found is not None:
                    yield Sample((source, tp.topic, str(tp.partition)), found)

    return Measure(
        name=f"zkconsumer_mirror_{name}_{'total' if kind == 'counter' else 'offset'}",
        text=text,
        labels=_LABELS,
        find=find,
        kind=kind,
        per_partition=True,
    )


MEASURES: Final = (
    _measure("read", "Messages read from the source.", lambda account: account.read),
    _measure(
        "acknowledged",
        "Messages that the target has acknowledged.",
        lambda account: account.acknowledged,
    ),
    _measure("again", "Messages that this process had read before.", lambda account: account.again),
    _measure(
        "dropped",
        "Messages that were given up, since the target will never take them.",
        lambda account: account.dropped,
    ),
    _measure(
        "gap",
        "Offsets of the source without a message: compacted, or deleted before they were read.",
        lambda account: account.gap,
    ),
    _measure(
        "position",
        "Everything in front of this offset of the source is in the target.",
        lambda account: account.position,
        "gauge",
    ),
    _measure(
        "committed",
        "The offset that this process committed last.",
        lambda account: account.committed,
        "gauge",
    ),
)


def mirror_families(now: MirrorProgress) -> Iterator[Family]:
    """Yield all families; the label ``source`` is the address of the source cluster."""
    for measure in MEASURES:
        yield measure.of(now)
