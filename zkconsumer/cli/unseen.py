"""Reports groups that could not be seen: a check of all must not pass for some."""

from zkconsumer.cli.output import note
from zkconsumer.status.model import ClusterSnapshot, GroupKind
from zkconsumer.status.reading.kept import GROUPS_PART


def print_unseen(snapshot: ClusterSnapshot, kind: GroupKind | None) -> bool:
    """Return whether groups, members or owners may be missing; print which.

    Args:
        snapshot: the cluster; ``print_failures`` reports failures of whole parts.
        kind: of the relevant groups; None: all.
    """
    unread = [
        group
        for key, group in snapshot.groups.items()
        if not group.whole and kind in {None, key.kind}
    ]
    for group in unread:
        note(f"{group.key}: {'; '.join(group.problems)}")
    parts = [failure.part for failure in snapshot.failures]
    in_zookeeper = kind is not GroupKind.COORDINATOR and any(GROUPS_PART in part for part in parts)
    at_brokers = kind is not GroupKind.ZOOKEEPER and any("groups of" in part for part in parts)
    return bool(unread) or in_zookeeper or at_brokers
