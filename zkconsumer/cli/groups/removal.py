"""Deletes groups without members: from ZooKeeper, or at their coordinator.

In ZooKeeper (3.4 and later) each step is a transaction that fails if a member has registered, so a
member that joins meanwhile loses neither offsets nor owners. Source: Kafka 0.9.0.1 ``AdminUtils``;
KIP-229.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Final

from zkconsumer.cli.formats.group_command import Deletion
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import BrokerError, RegistryError, UnsupportedVersion
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.scope import wait_ms
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.group_admin import DeleteGroupsRequest
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import CreateOp, DeleteOp, Op, OpError, ZkStore

_AT_ONCE: Final = 2_000
"""The maximum number of nodes per transaction, which must fit into one packet of 1 MB."""
_TRIES: Final = 5
_BACKOFF_MS: Final = 250
_OUTCOMES: Final = {
    int(ErrorCode.NONE): Deletion.DONE,
    int(ErrorCode.NON_EMPTY_GROUP): Deletion.ACTIVE,
    int(ErrorCode.GROUP_ID_NOT_FOUND): Deletion.NO_GROUP,
}


class GroupRemoval:
    """Deletes the nodes of one group in ZooKeeper."""

    def __init__(self, store: ZkStore, group_id: str) -> None:
        self._store = store
        self._group_id = group_id
        self._paths = GroupPaths(group_id)
        self._partly = False

    def exists(self) -> bool:
        """Return whether the group has any nodes."""
        return self._store.exists_many([self._paths.root]) != [None]

    def has_offsets(self) -> bool:
        """Return whether the group has committed offsets."""
        return self._store.exists_many([f"{self._paths.root}/offsets"]) != [None]

    def members(self) -> list[str] | None:
        """Return the names of its members; None if the group has no node for them."""
        return self._store.children_many([self._paths.ids])[0]

    def everything(self) -> Deletion:
        """Delete all nodes of the group.

        Raises:
            RegistryError: ZooKeeper failed, a member joined after a part was deleted, or the nodes
                keep changing.
        """
        return self._remove([self._paths.root])

    def everything_unless_live(self) -> None:
        """Delete all nodes of the group, if there are any.

        Raises:
            RegistryError: the group has live members; or as for ``everything``.
        """
        if self.everything() is Deletion.ACTIVE:
            members = ", ".join(self.members() or ())
            raise RegistryError(
                f"the nodes of group {self._group_id} can't be deleted, it has live members: "
                f"stop {members or 'them'} first"
            )

    def topic(self, topic: str) -> Deletion:
        """Delete the group's owners and offsets of one topic; all nodes if it has no other topics.

        Raises:
            RegistryError: as ``everything``.
        """
        if self.topics() == {topic}:
            return self.everything()
        return self._of_topic(topic)

    def topic_as_original(self, topic: str) -> Deletion:
        """Delete as the original does: all nodes if this is the only topic with owners.

        Raises:
            RegistryError: as ``everything``.
        """
        if self._store.children_many([f"{self._paths.root}/owners"])[0] == [topic]:
            return self.everything()
        return self._of_topic(topic)

    def _of_topic(self, topic: str) -> Deletion:
        return self._remove([self._paths.owners(topic), self._paths.offsets(topic)])

    def topics(self) -> frozenset[str]:
        """Return the topics with owners or offsets."""
        folders = [f"{self._paths.root}/owners", f"{self._paths.root}/offsets"]
        return frozenset(
            name for names in self._store.children_many(folders) for name in names or ()
        )

    def _remove(self, tops: Sequence[str]) -> Deletion:
        error: OpError | None = None
        self._partly = False
        for _ in range(_TRIES):
            members = self.members()
            if members and self._partly:
                raise RegistryError(
                    f"{', '.join(members)} joined group {self._group_id} when a part of it had "
                    "already been deleted: 'groups describe' shows what is left"
                )
            if members:
                return Deletion.ACTIVE
            if not self.exists():
                return Deletion.DONE if self._partly else Deletion.NO_GROUP
            paths = self._below(tops)
            if not self._store.supports_multi:
                self._store.delete_many(paths)
                return Deletion.DONE
            error = self._in_transactions(paths, has_ids=members is not None)
            if error is None:
                return Deletion.DONE
        raise RegistryError(
            f"group {self._group_id} could not be deleted, since its nodes keep changing "
            f"({error}): stop the clients that write them"
        )

    def _in_transactions(self, paths: Sequence[str], *, has_ids: bool) -> OpError | None:
        """Delete nodes in order; return None if all are gone, else the error that stopped it."""
        for first in range(0, len(paths), _AT_ONCE):
            deletes = [DeleteOp(path) for path in paths[first : first + _AT_ONCE]]
            result = self._store.multi([*self._nobody_is_in(has_ids=has_ids), *deletes])
            if not result.ok:
                errors = {error for error in result.errors if error is not None}
                return next(iter(errors - {OpError.ROLLED_BACK}), OpError.ROLLED_BACK)
            self._partly = True
        return None

    def _nobody_is_in(self, *, has_ids: bool) -> Iterator[Op]:
        """Yield the first operations of a transaction, which fail if the group has a member."""
        ids = self._paths.ids
        if has_ids:
            yield DeleteOp(ids)
            yield CreateOp(ids, b"")
        else:
            yield CreateOp(ids, b"")
            yield DeleteOp(ids)

    def _below(self, tops: Sequence[str]) -> list[str]:
        """Return the existing ones of these nodes, and all nodes below them, the deepest first."""
        levels: list[list[str]] = []
        level = list(tops)
        while level:
            names = self._store.children_many(level)
            there = zip(level, names, strict=True)
            levels.append([path for path, found in there if found is not None])
            level = [
                f"{path}/{name}"
                for path, children in zip(level, names, strict=True)
                for name in children or ()
            ]
        return [path for level in reversed(levels) for path in level]


def delete_coordinated(
    client: ClusterClient,
    dialer: BrokerDialer,
    group_id: str,
    *,
    timeout_ms: int,
    clock: Clock | None = None,
) -> Deletion:
    """Delete a group and its offsets at its coordinator.

    Args:
        client: finds the coordinator.
        dialer: connects to it.
        group_id: the group.
        timeout_ms: the time limit of the whole.
        clock: for the time limit.

    Raises:
        UnsupportedVersion: the coordinator is older than 1.1.
        BrokerError: the coordinator refuses, or was not ready in time.
        TransportError: the coordinator does not respond in time.
    """
    deadline = Deadline(clock or SystemClock(), timeout_ms)
    while True:
        found = client.coordinator(group_id, timeout_ms=max(1, deadline.left_ms))
        code = found if isinstance(found, int) else _request(dialer, found, group_id, deadline)
        if code in _OUTCOMES:
            return _OUTCOMES[code]
        if not ErrorCode.of(code).retriable or deadline.left_ms < _BACKOFF_MS:
            raise BrokerError(
                code, "DeleteGroups", f"group {group_id} was not deleted: {error_name(code)}"
            )
        wait_ms(_BACKOFF_MS)


def _request(dialer: BrokerDialer, coordinator: Broker, group_id: str, deadline: Deadline) -> int:
    with closing(dialer.dial(coordinator, timeout_ms=max(1, deadline.left_ms))) as connection:
        if not connection.versions.has(ApiKey.DELETE_GROUPS):
            raise UnsupportedVersion(
                f"{coordinator} coordinates group {group_id}, but can't delete groups (Kafka 1.1 "
                "can): once its members are gone, the group goes with its offsets, which expire "
                "after offsets.retention.minutes"
            )
        response = connection.call(
            DeleteGroupsRequest(groups_names=(group_id,)), timeout_ms=max(1, deadline.left_ms)
        )
    codes = [group.error_code for group in response.results if group.group_id == group_id]
    return codes[0] if codes else int(ErrorCode.GROUP_ID_NOT_FOUND)
