"""Renders a group as text: owners, lags, and the deliveries of each member. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.model import TopicPartition


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A row of the picture: one partition; unknown values are None."""

    topic_partition: TopicPartition
    owner: str | None
    committed_offset: int | None
    log_end_offset: int | None

    @property
    def lag(self) -> int | None:
        """The number of messages after the committed offset; None if unknown."""
        if self.committed_offset is None or self.log_end_offset is None:
            return None
        return max(0, self.log_end_offset - self.committed_offset)


def picture(
    title: str,
    lines: Sequence[PartitionView],
    names: Mapping[str, str],
    delivered: Mapping[str, int],
) -> str:
    """Return the picture as text.

    Args:
        title: the title of the current act.
        lines: the partitions.
        names: the members' names, by consumer id.
        delivered: the number of messages that each member has delivered, by name.
    """
    rows = [f"{'partition':<14}{'owner':<14}{'committed':>10}{'log end':>10}{'lag':>7}"]
    rows += [_row(line, names) for line in lines]
    total = "  ".join(f"{name} {count}" for name, count in sorted(delivered.items()))
    return "\n".join([f"== {title}", *rows, f"delivered: {total}"])


def _row(line: PartitionView, names: Mapping[str, str]) -> str:
    return (
        f"{line.topic_partition:<14}{_owner_name(line.owner, names):<14}"
        f"{_number(line.committed_offset):>10}{_number(line.log_end_offset):>10}"
        f"{_number(line.lag):>7}"
    )


def _owner_name(owner: str | None, names: Mapping[str, str]) -> str:
    if owner is None:
        return "-"
    consumer_id = owner.rpartition("-")[0]
    return names.get(consumer_id, consumer_id[-12:])


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
