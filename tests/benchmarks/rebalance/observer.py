"""Polls a group's owner nodes, and reports when every partition has the right owner."""

import json
import threading
from collections.abc import Callable, Sequence

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.strategy import CannotAssign, assign
from zkconsumer.clock import SystemClock
from zkconsumer.zk.kazoo_store import connect
from zkconsumer.zk.paths import GroupPaths, topic_path
from zkconsumer.zk.store import ZkStore

TIMEOUT_S = 900
PAUSE_S = 0.005


class Observer:
    """Polls a group with its own ZooKeeper client, without delay: often, but few nodes at a time.

    A group is complete when it has as many owner nodes as partitions, and every member owns the
    first and the last of the partitions assigned to it; then all the other owners are checked.
    """

    def __init__(self, zookeeper_connect: str, topic: str, partitions: int) -> None:
        self.topic = topic
        self.count = partitions
        self._store: ZkStore = connect(
            zookeeper_connect, session_timeout_ms=30_000, connection_timeout_ms=20_000
        )

    def close(self) -> None:
        """Close the client."""
        self._store.close()

    def create_topic(self, broker_id: int) -> None:
        """Create the topic as the admin tool does, and wait until all partitions have leaders.

        That may take minutes: the controller's work grows with the square of their number.
        """
        path = topic_path(self.topic)
        assigned = {str(number): [broker_id] for number in range(self.count)}
        data = json.dumps({"version": 1, "partitions": assigned}).encode()
        self._store.set_or_create_many({path: data})
        states = [f"{path}/partitions/{number}/state" for number in range(self.count)]
        _poll(lambda: None not in self._store.exists_many(states), f"the leaders of {path}", 1.0)

    def await_owned(self, group: str, consumer_ids: Sequence[str]) -> int:
        """Wait until these members own all partitions; return the wall clock in milliseconds.

        Raises:
            RuntimeError: not in time, or some partitions have other owners than assigned.
        """
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
        """Wait until a member's registration is gone; return the wall clock in milliseconds."""
        path = GroupPaths(group).member(f"{group}_{consumer_id}")

        return _poll(lambda: self._store.exists_many([path])[0] is None, f"the end of {path}")

    def _texts(self, paths: list[str]) -> list[bytes | None]:
        nodes = self._store.get_many(paths)
        return [None if node is None else node.data for node in nodes]

    def _expected(self, group: str, consumer_ids: Sequence[str]) -> dict[str, bytes]:
        members = [f"{group}_{member_id}" for member_id in consumer_ids]
        view = GroupView(
            members={member: {self.topic: 1} for member in members},
            partitions={self.topic: tuple(range(self.count))},
        )
        result = assign("range", view, members[0])
        assert not isinstance(result, CannotAssign)
        paths = GroupPaths(group)
        return {paths.owner(tp): str(thread).encode() for tp, thread in result.items()}


def _poll(is_so: Callable[[], bool], what: str, pause_s: float = PAUSE_S) -> int:
    """Poll until a condition is true; return the wall clock in milliseconds at that time."""
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
