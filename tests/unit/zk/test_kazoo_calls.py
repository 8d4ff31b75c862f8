"""kazoo's answers as our values and errors, whatever they are."""

from collections.abc import Callable
from typing import Any

import pytest
from kazoo import exceptions as ke
from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent

from zkconsumer.config_zookeeper import OPEN
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.kazoo_calls import (
    KazooWatch,
    multi_call,
    multi_result,
    read_result,
    write_error,
)
from zkconsumer.zk.store import CheckOp, CreateOp, DeleteOp, Op, OpError, SetOp

CREATE = CreateOp("/a", b"")


class Given:
    """An answer that is there."""

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
    """Nothing to catch for what is part of normal life."""
    assert write_error(CREATE, Given(error)) is expected
    result = multi_result([CREATE, CREATE], Given([ke.RolledBackError(), error]))
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
    call: Callable[[Given], object], error: Exception, text: str, kind: type[RegistryError]
) -> None:
    """Kazoo's exceptions do not cross the door, not even unknown ones."""
    with pytest.raises(RegistryError, match=text) as caught:
        call(Given(error))
    assert type(caught.value) is kind
    assert "/a" in str(caught.value)
    assert caught.value.__cause__ is error


def test_a_missing_node_reads_as_nothing() -> None:
    """And a read that is denied says so."""
    assert read_result("/a", Given(ke.NoNodeError())) is None
    with pytest.raises(RegistryError, match="read /a: access denied"):
        read_result("/a", Given(ke.NoAuthError()))


def test_a_transaction_lies_below_the_chroot() -> None:
    """Kazoo puts single operations there by itself, but not those that are built for it."""
    kazoo = KazooClient(hosts="h:2181/root")  # type: ignore[no-untyped-call]
    ops: list[Op] = [CREATE, DeleteOp("/b", 3), SetOp("/c", b"x", 4), CheckOp("/d", 5)]
    commit: Any = multi_call(kazoo, ops, OPEN)
    paths = [operation.path for operation in commit.__self__.operations]
    assert paths == ["/root/a", "/root/b", "/root/c", "/root/d"]


def test_an_unknown_failure_inside_of_a_transaction_is_no_success() -> None:
    """Nor is an answer with too few parts."""
    ops: list[Op] = [CREATE, DeleteOp("/b")]
    with pytest.raises(RegistryError, match="MarshallingError"):
        multi_result(ops, Given([ke.RolledBackError(), ke.MarshallingError()]))
    with pytest.raises(RegistryError, match="1 results"):
        multi_result(ops, Given(["/a"]))
    assert multi_result(ops, Given(["/a", True])).ok


def test_a_watch_is_told_of_events_but_not_of_being_dropped() -> None:
    """Kazoo calls every watch when the connection breaks; that says nothing about the node."""
    seen: list[tuple[str, str]] = []

    def watch(path: str, event: str) -> None:
        seen.append((path, event))

    door = KazooWatch(watch)
    door(WatchedEvent(EventType.NONE, KeeperState.CONNECTING, None))
    door(WatchedEvent(EventType.CHILD, KeeperState.CONNECTED, "/a"))
    assert seen == [("/a", "CHILD")]


def test_doors_of_the_same_watch_are_one() -> None:
    """So that kazoo, which keeps watches in sets, calls it once however often it was left."""
    seen: list[str] = []
    assert len({KazooWatch(lambda *_: None), KazooWatch(lambda *_: None)}) == 2
    assert KazooWatch(seen.__contains__) == KazooWatch(seen.__contains__)  # type: ignore[arg-type]
