"""Reports missing parts of a snapshot, finds groups in it, and returns exit statuses."""

from collections.abc import Collection, Sequence

from zkconsumer.cli.exit_status import COULD_NOT
from zkconsumer.cli.output import note
from zkconsumer.errors import ConfigError
from zkconsumer.nearest import did_you_mean
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupStatus
from zkconsumer.status.reading.kept import GROUPS_PART
from zkconsumer.status.reading.values import ClusterRead

_NEAREST = 5


def settled(status: int, shown: ClusterSnapshot | ClusterRead) -> int:
    """Return the exit status of a command that showed a cluster: not 0 without brokers."""
    return status if status or shown.no_brokers is None else COULD_NOT


def print_failures(snapshot: ClusterSnapshot) -> None:
    """Print the failed parts to standard error, since the output lacks them."""
    if snapshot.no_brokers is not None:
        note(snapshot.no_brokers)
    for failure in snapshot.failures:
        note(" ".join(f"{failure.part}: {failure.reason}".split()))


def print_unseen(snapshot: ClusterSnapshot, kind: GroupKind | None) -> bool:
    """Print the groups of a kind (None: all) that were not read; return whether any may be missing.

    A check of some groups must not count as a check of all.
    """
    unread = [
        group
        for key, group in snapshot.groups.items()
        if not group.is_complete and kind in {None, key.kind}
    ]
    for group in unread:
        note(f"{group.key}: {'; '.join(group.problems)}")
    parts = [failure.part for failure in snapshot.failures]
    in_zookeeper = kind is not GroupKind.COORDINATOR and any(GROUPS_PART in part for part in parts)
    at_brokers = kind is not GroupKind.ZOOKEEPER and any("groups of" in part for part in parts)
    return bool(unread) or in_zookeeper or at_brokers


def print_unknown(snapshot: ClusterSnapshot, kind: GroupKind | None) -> None:
    """Print to standard error that ZooKeeper groups are missing, if the kind includes them.

    Args:
        snapshot: the cluster.
        kind: the kind of the groups shown; None: all.
    """
    alone = snapshot.brokers_alone
    if alone is not None and not alone.no_zookeeper and kind is not GroupKind.COORDINATOR:
        note(alone.unknown)


def find_group(snapshot: ClusterSnapshot, group_id: str, kind: GroupKind | None) -> GroupStatus:
    """Return the group with this id.

    Args:
        snapshot: the cluster.
        group_id: its id.
        kind: its kind; None if there is only one group with this id.

    Raises:
        ConfigError: there is no such group (names similar ids), or there are two.
    """
    kinds = list(GroupKind) if kind is None else [kind]
    found = [
        group
        for kind in kinds
        if (group := snapshot.groups.get(GroupKey(kind, group_id))) is not None
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(
            f"there are two groups {group_id}, one in ZooKeeper and one at a coordinator: give "
            "--kind zookeeper or --kind coordinator"
        )
    where = "" if kind is None else f" ({kind})"
    ids = {key.group_id for key in snapshot.groups if key.kind in kinds}
    hint = did_you_mean(group_id, ids, limit=_NEAREST) or f": {_other_hint(snapshot, ids)}"
    alone = snapshot.brokers_alone
    if alone is not None and not alone.no_zookeeper:
        where, hint = " at a coordinator", f"{hint}; {alone.unknown}"
    raise ConfigError(f"there is no group {group_id}{where}{hint}")


def chosen_groups(
    snapshot: ClusterSnapshot, group_ids: Sequence[str], kind: GroupKind | None
) -> Sequence[GroupStatus]:
    """Return the groups with these ids; without ids all of a kind, by id.

    Raises:
        ConfigError: as ``find_group``.
    """
    if group_ids:
        return [find_group(snapshot, group_id, kind) for group_id in group_ids]
    groups = (group for group in snapshot.groups.values() if kind in {None, group.kind})
    return sorted(groups, key=lambda group: (group.group_id, group.kind))


def _other_hint(snapshot: ClusterSnapshot, ids: Collection[str]) -> str:
    if snapshot.failures:
        failure = snapshot.failures[0]
        return f"but not all could be read: {failure.part}: {failure.reason}"
    if not snapshot.brokers:
        return (
            "but no broker is registered, and only brokers know the groups that are not in "
            "ZooKeeper"
        )
    return "'groups --list' shows the existing ones" if ids else "the cluster has no groups"
