"""Reads all groups in ZooKeeper: members, owners, committed offsets.

Groups are read in waves of some thousand nodes, those read longest ago first. Groups that are
incomplete at the deadline are not returned, and come first the next time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from zkconsumer.assignment.filtering import FilterBudget
from zkconsumer.clock import Clock
from zkconsumer.errors import RegistryError
from zkconsumer.parts import parts_of
from zkconsumer.status.model import GroupStatus
from zkconsumer.status.reading.children_cache import NODES_MAX_AGE_MS, ChildrenCache
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.status.reading.group_nodes import GroupNodes, group_status
from zkconsumer.status.reading.node_batches import NodeBatches
from zkconsumer.status.reading.values import GroupsRead, Read, Unreadable
from zkconsumer.zk.paths import CONSUMERS, GroupPaths, is_segment
from zkconsumer.zk.store import ZkStore, ZNode

_WAVE_PARTITIONS: Final = 2500
"""The partitions of a wave, with two nodes each: about as many nodes as a batch has."""
_UNKNOWN_GROUP_PARTITIONS: Final = 250
"""The assumed number of partitions of a group that was never read."""


class ZookeeperGroups:
    """Reads the groups in ZooKeeper. Thread: one at a time.

    Args:
        store: the connection to ZooKeeper; no watch is set.
        clock: for the times of reading.
        owners_max_age_ms: how long the data of owner nodes is cached while none is created or
            deleted beside them.
    """

    def __init__(
        self, store: ZkStore, clock: Clock, *, owners_max_age_ms: int = NODES_MAX_AGE_MS
    ) -> None:
        self._store = store
        self._clock = clock
        self._memory = ChildrenCache(owners_max_age_ms)
        self._seen_ms: dict[str, int] = {}
        self._sizes: dict[str, int] = {}

    def read(
        self,
        topics: Mapping[str, Sequence[int]],
        deadline: Deadline,
        first: Collection[str] = (),
    ) -> GroupsRead:
        """Read as many groups as there is time for.

        Args:
            topics: the partitions of every topic, to expand subscriptions.
            deadline: the time limit.
            first: the groups to begin with.

        Raises:
            RegistryError: the groups could not even be listed.
        """
        batches = NodeBatches(self._store, deadline)
        listed = frozenset(name for name in batches.listed(CONSUMERS) if is_segment(name))
        self._forget_all_but(listed)
        groups: dict[str, GroupStatus] = {}
        failure: str | None = None
        for wave in self._waves(sorted(listed), first):
            try:
                groups.update(self._read_wave(batches, wave, topics))
            except RegistryError as error:
                failure = str(error)
                break
        late = len(listed) - len(groups)
        if failure is not None:
            failure = f"{late} of {len(listed)} groups were not read: {failure}"
        return GroupsRead(listed=listed, groups=groups, failure=failure)

    def read_some(
        self, names: Collection[str], topics: Mapping[str, Sequence[int]], deadline: Deadline
    ) -> dict[str, GroupStatus | None]:
        """Read only these groups; the arguments are those of ``read``.

        Returns:
            The status of each group; None if it does not exist.

        Raises:
            RegistryError: ZooKeeper does not respond, or the deadline has passed.
        """
        batches = NodeBatches(self._store, deadline)
        wanted = sorted(name for name in names if is_segment(name))
        roots = batches.stat([GroupPaths(name).root for name in wanted])
        there = [name for name, root in zip(wanted, roots, strict=True) if root is not None]
        self._memory.forget_all_but([GroupPaths(name).root for name in there])
        return dict.fromkeys(names) | dict(self._read_wave(batches, there, topics))

    def _forget_all_but(self, listed: frozenset[str]) -> None:
        gone = self._seen_ms.keys() - listed
        if gone:
            self._memory.forget_all_but([GroupPaths(name).root for name in listed])
            for name in gone:
                del self._seen_ms[name], self._sizes[name]

    def _waves(self, names: Sequence[str], first: Collection[str]) -> Iterator[list[str]]:
        """Return all groups in waves of similar size: the wanted ones first, then the oldest."""

        def age(name: str) -> tuple[bool, int]:
            return name not in first, self._seen_ms.get(name, -1)

        def size(name: str) -> int:
            return 1 + self._sizes.get(name, _UNKNOWN_GROUP_PARTITIONS)

        return parts_of(sorted(names, key=age), _WAVE_PARTITIONS, size)

    def _read_wave(
        self,
        batches: NodeBatches,
        names: Sequence[str],
        topics: Mapping[str, Sequence[int]],
    ) -> Iterator[tuple[str, GroupStatus]]:
        """Yield the groups of a wave, until the deadline; each has its own budget for filters."""
        seen_ms, now_ms = self._clock.wall_ms(), self._clock.now_ms()
        found = _Wave(batches, self._memory, now_ms).read(names)
        offsets_ms = self._clock.wall_ms()
        for name in names:
            batches.check_time(GroupPaths(name).root)
            group = group_status(name, found[name], topics, seen_ms, FilterBudget(), offsets_ms)
            self._seen_ms[name] = now_ms
            self._sizes[name] = len(group.partitions)
            yield name, group


class _Wave:
    """Reads a wave of groups: one kind of node of all groups at a time."""

    def __init__(self, batches: NodeBatches, memory: ChildrenCache, now_ms: int) -> None:
        self._batches = batches
        self._memory = memory
        self._now_ms = now_ms
        self._problems: dict[str, list[str]] = {}

    def read(self, names: Sequence[str]) -> dict[str, GroupNodes]:
        """Return the nodes of each group."""
        self._problems = {name: [] for name in names}
        ids = self._below(names, "ids")
        members = self._nodes(ids, [path for some in ids.values() for path in some.values()])
        owners = self._owners(self._below(names, "owners"))
        # A group is complete even if its offsets can't be listed.
        not_listed = {name for name, problems in self._problems.items() if problems}
        offsets = self._offsets(self._below(names, "offsets"))
        return {
            name: GroupNodes(
                members=members[name],
                owners=owners[name],
                offsets=offsets[name],
                problems=tuple(self._problems[name]),
                listed=name not in not_listed,
            )
            for name in names
        }

    def _below(self, names: Sequence[str], kind: str) -> dict[str, dict[str, str]]:
        """Return the paths of the nodes of one kind, by group and by their names."""
        parents = [f"{GroupPaths(name).root}/{kind}" for name in names]
        listed: dict[str, dict[str, str]] = {}
        for name, parent, below in zip(
            names, parents, self._batches.children(parents), strict=True
        ):
            if isinstance(below, Unreadable):
                self._problems[name].append(below.reason)
            found = below if isinstance(below, list) else []
            listed[name] = {child: f"{parent}/{child}" for child in found}
        return listed

    def _nodes(
        self, names: Mapping[str, Iterable[str]], paths: Sequence[str]
    ) -> dict[str, dict[str, Read[ZNode]]]:
        """Return the nodes at these paths by their names, which are in the same order."""
        nodes = iter(self._batches.get(paths))
        return {at: dict(zip(some, nodes, strict=False)) for at, some in names.items()}

    def _owners(
        self, folders: Mapping[str, Mapping[str, str]]
    ) -> dict[str, dict[str, dict[str, Read[ZNode]]]]:
        """Return owner nodes by group and topic, from the cache if possible: they don't change."""
        self._names(folders)
        paths = [path for of_group in folders.values() for path in of_group.values()]
        return _by_topic(folders, self._memory.nodes(self._batches, paths, self._now_ms))

    def _offsets(
        self, folders: Mapping[str, Mapping[str, str]]
    ) -> dict[str, dict[str, dict[str, Read[ZNode]]]]:
        """Return offset nodes by group and topic, which are always read, since they change."""
        names = self._names(folders)
        paths = [f"{path}/{child}" for path, below in names.items() for child in below]
        return _by_topic(folders, self._nodes(names, paths))

    def _names(self, folders: Mapping[str, Mapping[str, str]]) -> dict[str, Sequence[str]]:
        group_of = {path: name for name, of_group in folders.items() for path in of_group.values()}
        listed: dict[str, Sequence[str]] = {}
        for path, below in self._memory.names(self._batches, list(group_of)).items():
            if isinstance(below, Unreadable):
                self._problems[group_of[path]].append(below.reason)
            else:
                listed[path] = below
        return listed


def _by_topic(
    folders: Mapping[str, Mapping[str, str]], nodes: Mapping[str, dict[str, Read[ZNode]]]
) -> dict[str, dict[str, dict[str, Read[ZNode]]]]:
    return {
        name: {topic: nodes[path] for topic, path in of_group.items() if path in nodes}
        for name, of_group in folders.items()
    }
