"""The metrics of a mirror. Pure."""

from collections.abc import Iterator
from typing import Final

from zkconsumer.metrics.families import Family, Kind, Measure, Sample
from zkconsumer.mirror.mirror import MirrorProgress

_LABELS: Final = ("source", "topic", "partition")


def _measure(count: str, text: str, kind: Kind = "counter") -> Measure[MirrorProgress]:
    """Return a measure that has a sample for each partition with a known value.

    Args:
        count: the name of a field of ``PartitionAccount``.
        text: what it counts.
        kind: a counter, or a gauge of an offset.
    """

    def find(now: MirrorProgress) -> Iterator[Sample]:
        for source, partitions in now.sources.items():
            for tp, account in partitions.items():
                found: int | None = getattr(account, count)
                if found is not None:
                    yield Sample((source, tp.topic, str(tp.partition)), found)

    return Measure(
        name=f"zkconsumer_mirror_{count}_{'total' if kind == 'counter' else 'offset'}",
        text=text,
        labels=_LABELS,
        find=find,
        kind=kind,
        per_partition=True,
    )


MEASURES: Final = (
    _measure("read", "Messages read from the source."),
    _measure("acknowledged", "Messages that the target has acknowledged."),
    _measure("again", "Messages that this process had read before."),
    _measure("dropped", "Messages that were given up, since the target will never take them."),
    _measure(
        "gap",
        "Offsets of the source without a message: compacted, or deleted before they were read.",
    ),
    _measure(
        "position", "Everything in front of this offset of the source is in the target.", "gauge"
    ),
    _measure("committed", "The offset that this process committed last.", "gauge"),
)


def mirror_families(now: MirrorProgress) -> Iterator[Family]:
    """Yield all families; the label ``source`` is the address of the source cluster."""
    for measure in MEASURES:
        yield measure.of(now)
