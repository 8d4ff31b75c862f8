"""Looks at a group's owner nodes, and tells when each partition had its owner."""

import json
import threading
from collections.abc import Callable, Sequence

from zkconsumer.assignment.group_view import GroupView, MemberSubscription
from zkconsumer.assignment.strategy import GroupAssignment, assign
from zkconsumer.clock import SystemClock
from zkconsumer.zk.kazoo_store import KazooStore, connect
from zkconsumer.zk.paths import GroupPaths, topic_path

TIMEOUT_S = 900
PAUSE_S = 0.005


class Observer:
    """A client of its own, without any delay, asking often for little.

    Complete is a group whose owner nodes are as many as the partitions, and whose members' first
    and last partitions, by the assignor, are theirs; afterwards all the others are looked at.
    """

    def __init__(self, zookeeper_connect: str, topic: str, partitions: int) -> None:
        self.topic = topic
        self.count = partitions
        self._store: KazooStore = connect(
            zookeeper_connect, session_timeout_ms=30_000, connection_timeout_ms=20_000
        )

    def close(self) -> None:
        """Close the client."""
        self._store.close()

    def create_topic(self, broker_id: int) -> None:
        """Create the topic as the admin tool does; returns when all partitions have leaders.

        The work of the original's controller grows with the square of their number: minutes.
        """
        path = topic_path(self.topic)
        assigned = {str(number): [broker_id] for number in range(self.count)}
        data = json.dumps({"version": 1, "partitions": assigned}).encode()
        self._store.set_or_create_many({path: data})
        states = [f"{path}/partitions/{number}/state" for number in range(self.count)]
        _poll(lambda: None not in self._store.exists_many(states), f"the leaders of {path}", 1.0)

    def await_owned(self, group: str, consumer_ids: Sequence[str]) -> int:
        """When all partitions were owned by these members; the wall clock in milliseconds."""
        paths = GroupPaths(group)
        expected = self._expected(group, consumer_ids)
        samples = _samples(expected)

        def complete() -> bool:
            if self._texts(list(samples)) != list(samples.values()):
                return False
            names = self._store.children_many([paths.owners(self.topic)])[0] or []
            return len(names) == self.count

        moment = _poll(complete, f"the owners of all partitions in group {group}")
        found = self._texts(list(expected))
        wrong = [path for path, text in zip(expected, found, strict=True) if expected[path] != text]
        if wrong:
            raise RuntimeError(f"{len(wrong)} partitions are not where they belong: {wrong[:3]}")
        return moment

    def await_gone(self, group: str, consumer_id: str) -> int:
        """When a member's registration vanished."""
        path = GroupPaths(group).member(f"{group}_{consumer_id}")

        return _poll(lambda: self._store.exists_many([path])[0] is None, f"the end of {path}")

    def _texts(self, paths: list[str]) -> list[bytes | None]:
        nodes = self._store.get_many(paths)
        return [None if node is None else node.data for node in nodes]

    def _expected(self, group: str, consumer_ids: Sequence[str]) -> dict[str, bytes]:
        members = [f"{group}_{member_id}" for member_id in consumer_ids]
        view = GroupView(
            members={member: MemberSubscription({self.topic: 1}) for member in members},
            partitions={self.topic: tuple(range(self.count))},
        )
        result = assign("range", view, members[0])
        assert isinstance(result, GroupAssignment)
        paths = GroupPaths(group)
        return {paths.owner(tp): str(thread).encode() for tp, thread in result.owners.items()}


def _poll(is_so: Callable[[], bool], what: str, pause_s: float = PAUSE_S) -> int:
    """Ask until it is so; the wall clock in milliseconds when it was first seen."""
    pause = threading.Event()
    clock = SystemClock()
    deadline_ms = clock.now_ms() + TIMEOUT_S * 1000
    while not is_so():
        if clock.now_ms() > deadline_ms:
            raise RuntimeError(f"waited {TIMEOUT_S} s in vain for {what}")
        pause.wait(pause_s)
    return clock.wall_ms()


def _samples(expected: dict[str, bytes]) -> dict[str, bytes]:
    first: dict[bytes, str] = {}
    last: dict[bytes, str] = {}
    for path, text in sorted(expected.items(), key=lambda node: int(node[0].rpartition("/")[2])):
        first.setdefault(text, path)
        last[text] = path
    return {path: expected[path] for path in [*first.values(), *last.values()]}
