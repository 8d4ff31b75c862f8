"""Converts our requests to kazoo's, and kazoo's responses to our values and errors.

Part of ``kazoo_store``: only the ``kazoo_*`` files import kazoo.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kazoo import exceptions as ke
from kazoo.protocol.serialization import (
    CheckVersion,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    SetData,
)
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from zkconsumer.config_zookeeper import ZookeeperSecurity
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.paths import CONSUMERS
from zkconsumer.zk.pipeline import PendingResponse, Send
from zkconsumer.zk.store import (
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiResult,
    Op,
    OpError,
    ReadDenied,
    SetOp,
    Watch,
    ZNode,
    ZNodeStat,
)

_Read: TypeAlias = type[Exists] | type[GetChildren] | type[GetData]

_EPHEMERAL = 1  # flag of a create
_OP_ERRORS: dict[type[BaseException], OpError] = {
    ke.NodeExistsError: OpError.NODE_EXISTS,
    ke.NoNodeError: OpError.NO_NODE,
    ke.BadVersionError: OpError.BAD_VERSION,
    ke.NotEmptyError: OpError.NOT_EMPTY,
    ke.NoChildrenForEphemeralsError: OpError.PARENT_EPHEMERAL,
    ke.NoAuthError: OpError.ACCESS_DENIED,
    ke.RolledBackError: OpError.ROLLED_BACK,
    ke.RuntimeInconsistency: OpError.ROLLED_BACK,
}


@dataclass(frozen=True, slots=True)
class KazooWatch:
    """Passes kazoo's events to a watch; equal for equal watches, so kazoo's sets hold only one."""

    watch: Watch

    def __call__(self, event: WatchedEvent) -> None:
        """Call the watch; an event of type NONE only reports that it was dropped."""
        if event.type != EventType.NONE:
            self.watch(event.path, event.type)


def read_call(kazoo: Any, read: _Read, server_path: str, watch: Watch | None = None) -> Send:
    """Return the call that reads a path of the server.

    kazoo's own methods would prefix the chroot, and split and join every path twice: a quarter of
    the time that thousands of reads take.
    """
    request = read(server_path, None if watch is None else KazooWatch(watch))

    def send() -> PendingResponse:
        response: PendingResponse = kazoo.handler.async_result()
        kazoo._call(request, response)  # noqa: SLF001 - nothing public does it
        return response

    return send


def in_chroot(chroot: str, path: str) -> str:
    """Return the server's path of a path in a chroot, "" for none."""
    return chroot + path if path != "/" else chroot or "/"


def write_call(kazoo: Any, op: Op, security: ZookeeperSecurity) -> Send:
    """Return the call for a single operation."""
    match op:
        case CreateOp():
            acl = _acl(op.path, security)
            return lambda: kazoo.create_async(op.path, op.data, acl=acl, ephemeral=op.ephemeral)
        case DeleteOp():
            return lambda: kazoo.delete_async(op.path, op.version)
        case SetOp():
            return lambda: kazoo.set_async(op.path, op.data, op.version)
        case CheckOp():
            raise RegistryError("a version check makes sense only in a transaction")


def multi_call(kazoo: Any, ops: Sequence[Op], security: ZookeeperSecurity) -> Send:
    """Return the call for one transaction.

    Its operations are built here and not by kazoo, for the reason given at ``read_call``.
    """
    transaction = kazoo.transaction()
    chroot = kazoo.chroot
    transaction.operations.extend(_part(op, chroot, security) for op in ops)
    commit: Send = transaction.commit_async
    return commit


def _acl(path: str, security: ZookeeperSecurity) -> Any:
    """Return the ACL of a node, as in Kafka 3.9 ``ZkData.defaultAcls``.

    All rights are the creator's, and everybody may read; but members of every group create nodes
    below ``/consumers``.
    """
    if not security.set_acl or path == CONSUMERS:
        return OPEN_ACL_UNSAFE
    return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]


def _part(op: Op, chroot: str, security: ZookeeperSecurity) -> Any:
    path = in_chroot(chroot, op.path)
    match op:
        case CreateOp():
            flags = _EPHEMERAL if op.ephemeral else 0
            return Create(path, op.data or b"", _acl(op.path, security), flags)
        case DeleteOp():
            return Delete(path, op.version)
        case SetOp():
            return SetData(path, op.data, op.version)
        case CheckOp():
            return CheckVersion(path, op.version)


def read_result(path: str, response: PendingResponse) -> Any:
    """Return the result of a read; None if there is no node."""
    try:
        return response.get_nowait()
    except ke.NoNodeError:
        return None
    except Exception as error:
        raise mapped(error, f"read {path}") from error


def write_error(op: Op, response: PendingResponse) -> OpError | None:
    """Return why a write did not happen, or None."""
    try:
        response.get_nowait()
    except Exception as error:
        known = _OP_ERRORS.get(type(error))
        if known is None:
            raise mapped(error, f"write {op.path}") from error
        return known
    return None


def multi_result(ops: Sequence[Op], response: PendingResponse) -> MultiResult:
    """Return the outcome of a transaction."""
    what = f"write {len(ops)} nodes from {ops[0].path} on" if ops else "write 0 nodes"
    try:
        results: list[object] = response.get_nowait()
    except Exception as error:
        raise mapped(error, what) from error
    if len(results) != len(ops):
        raise RegistryError(f"could not {what}: got {len(results)} results")
    errors: list[OpError | None] = []
    for result in results:
        if not isinstance(result, Exception):
            errors.append(None)
        elif type(result) in _OP_ERRORS:
            errors.append(_OP_ERRORS[type(result)])
        else:
            raise mapped(result, what) from result
    return MultiResult(tuple(errors))


def mapped(error: Exception, what: str) -> RegistryError:
    """Convert one of kazoo's errors; ``what`` is the action that failed."""
    if isinstance(error, ke.ConnectionLoss | ke.ConnectionClosedError):
        return RegistryError(f"could not {what}: connection to ZooKeeper lost")
    if isinstance(error, ke.SessionExpiredError):
        return SessionLost(f"could not {what}: the ZooKeeper session expired")
    if isinstance(error, ke.NoAuthError):
        return ReadDenied(f"could not {what}: {OpError.ACCESS_DENIED}")
    return RegistryError(f"could not {what}: {type(error).__name__} {error}".rstrip())


def znode(read: tuple[bytes | None, ZnodeStat]) -> ZNode:
    """Convert a node that kazoo has read."""
    return ZNode(data=read[0] or b"", **_stat_fields(read[1]))


def znode_stat(stat: ZnodeStat) -> ZNodeStat:
    """Convert a stat that kazoo has read."""
    return ZNodeStat(**_stat_fields(stat))


def _stat_fields(stat: ZnodeStat) -> dict[str, int]:
    return {
        "version": stat.version,
        "ephemeral_owner": stat.ephemeralOwner,
        "czxid": stat.czxid,
        "mzxid": stat.mzxid,
        "pzxid": stat.pzxid,
        "child_changes": stat.cversion,
        "ctime_ms": stat.ctime,
        "mtime_ms": stat.mtime,
    }
