"""Calls of kazoo: its requests, and its responses and exceptions as our values and errors."""

from collections.abc import Callable
from typing import Any

import pytest
from kazoo import exceptions as ke
from kazoo.client import KazooClient
from kazoo.protocol.serialization import (
    CheckVersion,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    SetData,
)
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent, ZnodeStat
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from zkconsumer.config_zookeeper import OPEN, ZookeeperSecurity
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.kazoo_calls import (
    KazooWatch,
    in_chroot,
    multi_call,
    multi_result,
    read_call,
    read_result,
    write_call,
    write_error,
    znode,
    znode_stat,
)
from zkconsumer.zk.store import (
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiResult,
    Op,
    OpError,
    ReadDenied,
    SetOp,
    ZNode,
    ZNodeStat,
)

CREATE = CreateOp("/a", b"")
RESTRICTED = ZookeeperSecurity(scheme="digest", username="me", password="p", set_acl=True)
OF_CREATOR = [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]


class KazooDouble(KazooClient):
    """A kazoo client with a chroot that sends nothing.

    Attributes:
        requests: what it would send, and the response that is waited for.
    """

    def __init__(self) -> None:
        super().__init__(hosts="h:2181/root")  # type: ignore[no-untyped-call]
        self.requests: list[tuple[object, object]] = []

    def _call(self, request: object, async_object: object) -> None:
        self.requests.append((request, async_object))

    def sent(self, op: Op, security: ZookeeperSecurity) -> object:
        """Return the request of a single operation."""
        write_call(self, op, security)()
        return self.requests[-1][0]

    def sent_together(self, op: Op, security: ZookeeperSecurity) -> object:
        """Return the request of the same operation in a transaction."""
        commit: Any = multi_call(self, [op], security)
        [request] = commit.__self__.operations
        return request


class ArrivedResponse:
    """A response that has arrived."""

    def __init__(self, value: object) -> None:
        self._value = value

    def ready(self) -> bool:
        return True

    def wait(self, timeout: float) -> bool:
        return timeout >= 0

    def get_nowait(self) -> object:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ke.NodeExistsError(), OpError.NODE_EXISTS),
        (ke.NoNodeError(), OpError.NO_NODE),
        (ke.BadVersionError(), OpError.BAD_VERSION),
        (ke.NotEmptyError(), OpError.NOT_EMPTY),
        (ke.NoChildrenForEphemeralsError(), OpError.PARENT_EPHEMERAL),
        (ke.NoAuthError(), OpError.ACCESS_DENIED),
    ],
)
def test_expected_failures_of_a_write_are_values(error: Exception, expected: OpError) -> None:
    """Expected failures of a write are returned, not raised."""
    assert write_error(CREATE, ArrivedResponse(error)) is expected
    result = multi_result([CREATE, CREATE], ArrivedResponse([ke.RolledBackError(), error]))
    assert result.errors == (OpError.ROLLED_BACK, expected)
    assert not result.ok


UNEXPECTED = [
    (ke.ConnectionLoss(), "connection to ZooKeeper lost", RegistryError),
    (ke.ConnectionClosedError(), "connection to ZooKeeper lost", RegistryError),
    (ke.SessionExpiredError(), "session expired", SessionLost),
    (ke.UnimplementedError(), "UnimplementedError", RegistryError),
    (RuntimeError("xids do not match"), "RuntimeError xids do not match", RegistryError),
]


@pytest.mark.parametrize(("error", "text", "kind"), UNEXPECTED)
@pytest.mark.parametrize(
    "call",
    [
        lambda response: write_error(CREATE, response),
        lambda response: read_result("/a", response),
        lambda response: multi_result([CREATE], response),
    ],
)
def test_every_other_failure_is_ours_and_names_the_path(
    call: Callable[[ArrivedResponse], object],
    error: Exception,
    text: str,
    kind: type[RegistryError],
) -> None:
    """Every exception of kazoo, known or not, becomes our error, which names the path."""
    with pytest.raises(RegistryError, match=text) as caught:
        call(ArrivedResponse(error))
    assert type(caught.value) is kind
    assert "/a" in str(caught.value)
    assert caught.value.__cause__ is error


def test_a_missing_node_is_read_as_none() -> None:
    """A missing node is read as None, and a read that is denied is an error."""
    assert read_result("/a", ArrivedResponse(ke.NoNodeError())) is None
    with pytest.raises(ReadDenied, match="read /a: access denied"):
        read_result("/a", ArrivedResponse(ke.NoAuthError()))


def test_an_exception_without_a_message_is_named_by_its_type() -> None:
    """An exception without a message is named by its type, without a trailing blank."""
    with pytest.raises(RegistryError) as caught:
        read_result("/a", ArrivedResponse(ke.UnimplementedError()))
    assert str(caught.value) == "could not read /a: UnimplementedError"


@pytest.mark.parametrize(
    ("op", "request_sent"),
    [
        (CreateOp("/a", b"x"), Create("/root/a", b"x", OPEN_ACL_UNSAFE, 0)),
        (CreateOp("/a", b"x", ephemeral=True), Create("/root/a", b"x", OPEN_ACL_UNSAFE, 1)),
        (DeleteOp("/b", 3), Delete("/root/b", 3)),
        (SetOp("/c", b"x", 4), SetData("/root/c", b"x", 4)),
    ],
)
def test_a_write_is_the_same_request_alone_and_in_a_transaction(
    op: Op, request_sent: object
) -> None:
    """A write has the chroot in its path, alone as well as in a transaction."""
    kazoo = KazooDouble()
    assert kazoo.sent(op, OPEN) == request_sent
    assert kazoo.sent_together(op, OPEN) == request_sent


def test_a_version_check_belongs_in_a_transaction() -> None:
    """A version check is allowed in a transaction only: alone it would guard nothing."""
    kazoo = KazooDouble()
    assert kazoo.sent_together(CheckOp("/d", 5), OPEN) == CheckVersion("/root/d", 5)
    with pytest.raises(RegistryError, match="only in a transaction"):
        write_call(kazoo, CheckOp("/d", 5), OPEN)


def test_a_parent_may_hold_null_but_not_in_a_transaction() -> None:
    """A parent is created with null data, but with empty data in a transaction, due to kazoo."""
    kazoo = KazooDouble()
    assert kazoo.sent(CreateOp("/a", None), OPEN) == Create("/root/a", None, OPEN_ACL_UNSAFE, 0)
    together = kazoo.sent_together(CreateOp("/a", None), OPEN)
    assert together == Create("/root/a", b"", OPEN_ACL_UNSAFE, 0)


@pytest.mark.parametrize(
    ("path", "security", "acl"),
    [
        ("/consumers/g", RESTRICTED, OF_CREATOR),
        ("/consumers", RESTRICTED, OPEN_ACL_UNSAFE),
        ("/consumers/g", OPEN, OPEN_ACL_UNSAFE),
    ],
)
def test_a_nodes_acl_is_set_when_it_is_created(
    path: str, security: ZookeeperSecurity, acl: object
) -> None:
    """With ``zookeeper.set.acl`` only the creator may change a node, except those of all groups."""
    kazoo = KazooDouble()
    op = CreateOp(path, b"x")
    expected = Create(f"/root{path}", b"x", acl, 0)
    assert kazoo.sent(op, security) == kazoo.sent_together(op, security) == expected


@pytest.mark.parametrize("read", [Exists, GetChildren, GetData])
def test_a_read_requests_the_path_of_the_server(
    read: type[Exists] | type[GetChildren] | type[GetData],
) -> None:
    """A read's path is the server's, to which kazoo adds no chroot; a watch is optional."""
    kazoo = KazooDouble()
    responses = [read_call(kazoo, read, "/root/a")()]
    seen: list[tuple[str, str]] = []
    responses.append(
        read_call(kazoo, read, "/root/a", lambda path, event: seen.append((path, event)))()
    )
    (plain, first), (watching, second) = kazoo.requests
    assert responses == [first, second]
    assert not any(response.ready() for response in responses)
    assert plain == read("/root/a", None)
    assert isinstance(watching, read)
    assert watching.path == "/root/a"
    watching.watcher(WatchedEvent(EventType.CHANGED, KeeperState.CONNECTED, "/a"))
    assert seen == [("/a", "CHANGED")]


@pytest.mark.parametrize(
    ("chroot", "path", "expected"),
    [("", "/", "/"), ("", "/a", "/a"), ("/root", "/", "/root"), ("/root", "/a", "/root/a")],
)
def test_the_root_of_a_chroot_is_the_chroot(chroot: str, path: str, expected: str) -> None:
    """No path in a chroot ends with a slash, except for the server's root."""
    assert in_chroot(chroot, path) == expected


def test_the_stat_of_a_node_is_copied_field_by_field() -> None:
    """Each field of a node's stat is copied, and null data becomes empty bytes."""
    stat = ZnodeStat(
        czxid=1,
        mzxid=2,
        ctime=3,
        mtime=4,
        version=5,
        cversion=6,
        aversion=7,
        ephemeralOwner=8,
        dataLength=9,
        numChildren=10,
        pzxid=11,
    )
    expected = ZNodeStat(
        version=5,
        ephemeral_owner=8,
        czxid=1,
        mzxid=2,
        pzxid=11,
        child_changes=6,
        ctime_ms=3,
        mtime_ms=4,
    )
    assert znode_stat(stat) == expected
    fields = {name: getattr(expected, name) for name in ZNodeStat.__dataclass_fields__}
    assert znode((b"x", stat)) == ZNode(data=b"x", **fields)
    assert znode((None, stat)) == ZNode(data=b"", **fields)


def test_an_unknown_failure_in_a_transaction_is_raised() -> None:
    """An unknown failure in a transaction is raised, and so are too few results."""
    ops: list[Op] = [CREATE, DeleteOp("/b")]
    with pytest.raises(RegistryError, match="MarshallingError"):
        multi_result(ops, ArrivedResponse([ke.RolledBackError(), ke.MarshallingError()]))
    with pytest.raises(RegistryError, match="1 results"):
        multi_result(ops, ArrivedResponse(["/a"]))
    assert multi_result(ops, ArrivedResponse(["/a", True])).errors == (None, None)


def test_a_transaction_of_nothing_happens() -> None:
    """A transaction without operations has no path to name, and its result is that of success."""
    assert multi_result([], ArrivedResponse([])) == MultiResult(())
    with pytest.raises(RegistryError, match="write 0 nodes: connection to ZooKeeper lost"):
        multi_result([], ArrivedResponse(ke.ConnectionLoss()))


def test_a_watch_is_called_for_events_but_not_for_lost_connections() -> None:
    """Kazoo calls each watch when the connection breaks, which is no event of the node."""
    seen: list[tuple[str, str]] = []

    def watch(path: str, event: str) -> None:
        seen.append((path, event))

    wrapper = KazooWatch(watch)
    wrapper(WatchedEvent(EventType.NONE, KeeperState.CONNECTING, None))
    wrapper(WatchedEvent(EventType.CHILD, KeeperState.CONNECTED, "/a"))
    assert seen == [("/a", "CHILD")]


def test_wrappers_of_the_same_watch_are_equal() -> None:
    """Wrappers of the same watch are equal, so that kazoo's sets call it only once."""
    seen: list[str] = []
    assert len({KazooWatch(lambda *_: None), KazooWatch(lambda *_: None)}) == 2
    assert KazooWatch(seen.__contains__) == KazooWatch(seen.__contains__)  # type: ignore[arg-type]
