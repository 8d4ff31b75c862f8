"""Decides which groups' offsets in Kafka are due to be read. Pure."""

from zkconsumer.status.reading.kept import Kept
from zkconsumer.status.reading.values import OffsetsRead


class QuietGroups:
    """Remembers the groups without offsets in Kafka, and when that was last seen.

    Args:
        quiet_ms: how long such a group is assumed to have none.
    """

    def __init__(self, quiet_ms: int) -> None:
        self._quiet_ms = quiet_ms
        self._since_ms: dict[str, int] = {}

    def due(self, kept: Kept, now_ms: int) -> list[str]:
        """Return the groups whose offsets in Kafka are due to be read."""
        resting = {
            name
            for name, since_ms in self._since_ms.items()
            if name not in kept.coordinator_groups and now_ms - since_ms < self._quiet_ms
        }
        return sorted((kept.zookeeper_groups.keys() | kept.coordinator_groups.keys()) - resting)

    def note(self, read: OffsetsRead, kept: Kept, now_ms: int) -> None:
        """Record which groups have offsets in Kafka, and which have none."""
        for name, offsets in read.offsets.items():
            if offsets or _has_yet_to_commit(kept, name):
                self._since_ms.pop(name, None)
            else:
                self._since_ms[name] = now_ms


def _has_yet_to_commit(kept: Kept, name: str) -> bool:
    group = kept.zookeeper_groups.get(name)
    if group is None or not group.members:
        return False
    return not any(partition.committed for partition in group.partitions)
