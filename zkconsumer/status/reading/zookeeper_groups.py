"""Reads all groups in ZooKeeper: members, owners, committed offsets.

Groups are read in waves of some thousand nodes, those read longest ago first. Groups that are
incomplete at the deadline are not returned, and come first the next time.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
        names = batches.children([CONSUMERS])[0]
        if isinstance(names, Unreadable):
            raise RegistryError(names.reason)
        listed = frozenset(name for name in names or () if is_segment(name))
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
    ) -> GroupsRead:
        """Read only these groups, as far as they exist; the arguments are those of ``read``.

        Raises:
            RegistryError: ZooKeeper does not respond, or the deadline has passed.
        """
        batches = NodeBatches(self._store, deadline)
        wanted = sorted(name for name in names if is_segment(name))
        roots = batches.stat([GroupPaths(name).root for name in wanted])
        there = [name for name, root in zip(wanted, roots, strict=True) if root is not None]
        self._memory.forget_all_but([GroupPaths(name).root for name in there])
        groups = dict(self._read_wave(batches, there, topics))
        return GroupsRead(listed=frozenset(there), groups=groups)

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
        self._not_listed: set[str] = set()

    def read(self, names: Sequence[str]) -> dict[str, GroupNodes]:
        """Return the nodes of each group."""
        self._problems = {name: [] for name in names}
        ids = self._below(names, lambda paths: paths.ids)
        members = self._members(names, ids)
        owned = self._below(names, lambda paths: f"{paths.root}/owners")
        owners = self._in_folders({name: _owner_folders(name, owned[name]) for name in names})
        # A group is complete even if its offsets can't be listed.
        self._not_listed = {name for name, problems in self._problems.items() if problems}
        committed = self._below(names, lambda paths: f"{paths.root}/offsets")
        offsets = self._offsets({name: _offset_folders(name, committed[name]) for name in names})
        return {
            name: GroupNodes(
                members=members[name],
                owners=owners[name],
                offsets=offsets[name],
                problems=tuple(self._problems[name]),
                listed=name not in self._not_listed,
            )
            for name in names
        }

    def _below(
        self, names: Sequence[str], path_of: Callable[[GroupPaths], str]
    ) -> dict[str, list[str]]:
        found = self._batches.children([path_of(GroupPaths(name)) for name in names])
        listed: dict[str, list[str]] = {}
        for name, below in zip(names, found, strict=True):
            if isinstance(below, Unreadable):
                self._problems[name].append(below.reason)
            listed[name] = below if isinstance(below, list) else []
        return listed

    def _members(
        self, names: Sequence[str], ids: Mapping[str, list[str]]
    ) -> dict[str, dict[str, Read[ZNode]]]:
        nodes = iter(
            self._batches.get(
                [f"{GroupPaths(name).ids}/{number}" for name in names for number in ids[name]]
            )
        )
        return {name: {number: next(nodes) for number in ids[name]} for name in names}

    def _in_folders(
        self, cached: Mapping[str, Mapping[str, str]]
    ) -> dict[str, dict[str, dict[str, Read[ZNode]]]]:
        """Return owner nodes by group and topic, from the cache if possible: they don't change."""
        self._names(cached)
        paths = [path for of_group in cached.values() for path in of_group.values()]
        nodes = self._memory.nodes(self._batches, paths, self._now_ms)
        return {
            name: {topic: nodes[path] for topic, path in of_group.items() if path in nodes}
            for name, of_group in cached.items()
        }

    def _offsets(
        self, cached: Mapping[str, Mapping[str, str]]
    ) -> dict[str, dict[str, dict[str, Read[ZNode]]]]:
        """Return offset nodes by group and topic, which are always read, since they change."""
        names = self._names(cached)
        nodes = iter(
            self._batches.get(
                [f"{path}/{child}" for path, below in names.items() for child in below]
            )
        )
        read = {path: {child: next(nodes) for child in below} for path, below in names.items()}
        return {
            name: {topic: read[path] for topic, path in of_group.items() if path in read}
            for name, of_group in cached.items()
        }

    def _names(self, cached: Mapping[str, Mapping[str, str]]) -> dict[str, Sequence[str]]:
        group_of = {path: name for name, of_group in cached.items() for path in of_group.values()}
        listed: dict[str, Sequence[str]] = {}
        for path, below in self._memory.names(self._batches, list(group_of)).items():
            if isinstance(below, Unreadable):
                self._problems[group_of[path]].append(below.reason)
            else:
                listed[path] = below
        return listed


def _owner_folders(name: str, topics: Sequence[str]) -> dict[str, str]:
    paths = GroupPaths(name)
    return {topic: paths.owners(topic) for topic in topics}


def _offset_folders(name: str, topics: Sequence[str]) -> dict[str, str]:
    paths = GroupPaths(name)
    return {topic: paths.offsets(topic) for topic in topics}
