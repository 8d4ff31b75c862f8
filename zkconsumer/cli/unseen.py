"""Whether all groups of a cluster could be seen: who checks all must not take some for them."""

import sys

from zkconsumer.printable import printable
from zkconsumer.status.model import ClusterSnapshot, GroupKind
from zkconsumer.status.reading.kept import GROUPS_PART


def print_unseen(snapshot: ClusterSnapshot, kind: GroupKind | None) -> bool:
    """Whether there may be groups, members or owners that were not seen; says of which groups.

    Args:
        snapshot: the cluster; ``print_failures`` says what fails as a whole.
        kind: of the groups that count; None: all.
    """
    unread = [
        group
        for key, group in snapshot.groups.items()
        if not group.whole and kind in {None, key.kind}
    ]
    for group in unread:
        reported = printable(f"{group.key}: {'; '.join(group.problems)}")
        print(f"zkconsumer: {reported}", file=sys.stderr)
    parts = [failure.part for failure in snapshot.failures]
    in_zookeeper = kind is not GroupKind.COORDINATOR and any(GROUPS_PART in part for part in parts)
    at_brokers = kind is not GroupKind.ZOOKEEPER and any("groups of" in part for part in parts)
    return bool(unread) or in_zookeeper or at_brokers
