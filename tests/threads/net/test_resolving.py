"""Connecting by name: the time-out covers all of its addresses, and the system's resolver."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConnectFailed
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.scope import ThreadScope

Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]
Lookup = Callable[[str], list[str]]
LONG_MS = 10_000


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Lookup], None]:
    """Replace the resolver of names; an address is its own result, without a lookup."""

    def replace(lookup: Lookup) -> None:
        def getaddrinfo(host: str, port: int | None, **given: int) -> list[Address]:
            is_name = host.endswith(".invalid")
            if is_name and given["flags"] & socket.AI_NUMERICHOST:
                raise socket.gaierror("it is a name")
            found = lookup(host) if is_name else [host]
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (name, port or 0)) for name in found
            ]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    return replace


@pytest.fixture
def hanging(resolve: Callable[[Lookup], None]) -> Iterator[list[str]]:
    """Let the resolver hang; yield the names that it was asked for."""
    asked: list[str] = []
    end = threading.Event()

    def hang(host: str) -> list[str]:
        asked.append(host)
        end.wait(100)
        return ["127.0.0.1"]

    resolve(hang)
    yield asked
    end.set()
    wait_until(lambda: not resolvers(), what="the end of the lookups")


def resolvers() -> list[str]:
    """Return the threads that look names up."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("resolver/")]


def try_in_vain(host: str) -> None:
    """Try to connect to a name whose lookup hangs."""
    with pytest.raises(ConnectFailed, match="was not found within 10 ms"):
        TcpConnector().connect(host, 9092, timeout_ms=10)


def hang_at(host: str, hanging: list[str]) -> None:
    """Try until a thread looks the name up: on a busy machine one attempt may be too short."""
    while host not in hanging:
        try_in_vain(host)


def test_an_address_that_does_not_respond_leaves_time_to_the_next(
    resolve: Callable[[Lookup], None],
) -> None:
    """An IPv6 address without a route is one; both together respect the time-out."""
    resolve(lambda _: ["127.0.0.1", "127.0.0.2"])
    with contextlib.ExitStack() as sockets:
        dead = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = dead.getsockname()[1]
        for _ in range(3):  # fill its queue, so that the system drops further connects
            client = sockets.enter_context(socket.socket())
            client.settimeout(0)
            client.connect_ex(dead.getsockname())
        began_ms = SystemClock().now_ms()
        with pytest.raises(ConnectFailed, match=r"two\.invalid:\d+: can't connect: .*refused"):
            TcpConnector().connect("two.invalid", port, timeout_ms=400)
        assert SystemClock().now_ms() - began_ms >= 190
        alive = sockets.enter_context(socket.create_server(("127.0.0.2", port)))
        with TcpConnector().open("two.invalid", port, timeout_ms=1_000) as found:
            assert found.getpeername() == alive.getsockname()


def test_many_lookups_share_a_few_threads(resolve: Callable[[Lookup], None]) -> None:
    """Many names may be needed at once, as when notifications go to all targets."""
    threads: set[int] = set()

    def lookup(_: str) -> list[str]:
        threading.Event().wait(0.02)
        threads.add(len(resolvers()))
        return ["127.0.0.1"]

    resolve(lookup)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        port = server.getsockname()[1]
        with ThreadPoolExecutor(40) as pool:
            calls = [
                pool.submit(TcpConnector().open, f"h{number}.invalid", port, timeout_ms=LONG_MS)
                for number in range(40)
            ]
            for call in calls:
                call.result().close()
    assert max(threads) <= 16


def test_a_name_that_hangs_occupies_one_thread(hanging: list[str]) -> None:
    """It does however often it is looked up; an address needs no resolver."""
    hang_at("h.invalid", hanging)
    for _ in range(20):
        try_in_vain("h.invalid")
    assert (len(resolvers()), hanging) == (1, ["h.invalid"])
    with socket.create_server(("127.0.0.1", 0)) as server:
        TcpConnector().connect(*server.getsockname(), timeout_ms=1_000).close()


def test_lookups_that_nobody_waits_for_are_dropped(hanging: list[str]) -> None:
    """While all threads hang, a later name is not looked up once its caller has given up."""
    for number in range(16):
        hang_at(f"h{number}.invalid", hanging)
    for number in range(16, 20):
        try_in_vain(f"h{number}.invalid")
    assert len(resolvers()) == len(hanging) == 16


def test_a_name_that_hangs_is_an_error_of_one_line(hanging: list[str]) -> None:
    """No name in a registration can forge a line of the log."""
    with pytest.raises(ConnectFailed) as caught:
        TcpConnector().connect("a\n\x1b[2Jh.invalid", 9092, timeout_ms=10)
    assert str(caught.value).isprintable()
    assert len(hanging) <= 1


def test_a_failed_lookup_is_an_error(resolve: Callable[[Lookup], None]) -> None:
    """Any exception of it is; the next connect looks the name up again."""
    attempts: list[str] = []

    def lookup(host: str) -> list[str]:
        attempts.append(host)
        if len(attempts) == 1:
            raise MemoryError
        return ["127.0.0.1"]

    resolve(lookup)
    with pytest.raises(ConnectFailed, match="can't be looked up: MemoryError"):
        TcpConnector().connect("h.invalid", 9092, timeout_ms=1_000)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        TcpConnector().connect("h.invalid", port, timeout_ms=LONG_MS).close()


def test_stopping_ends_a_lookup_that_hangs(hanging: list[str]) -> None:
    """A shutdown does not wait for the system's resolver."""
    connector, scope = TcpConnector(), ThreadScope("connecting")
    failures: list[ConnectFailed] = []

    def connect() -> None:
        with pytest.raises(ConnectFailed) as caught:
            connector.connect("h.invalid", 9092, timeout_ms=LONG_MS)
        failures.append(caught.value)

    scope.spawn("connect", connect, stop=connector.stop)
    wait_until(lambda: hanging, what="the lookup")
    assert scope.close(LONG_MS // 2) == []
    assert "closed by us" in str(failures[0])
    with pytest.raises(ConnectFailed, match="closed by us"):
        connector.connect("h.invalid", 9092, timeout_ms=LONG_MS)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_looks_names_up_again(
    hanging: list[str], resolve: Callable[[Lookup], None]
) -> None:
    """The thread of the parent's lookup does not exist in the child."""
    hang_at("h.invalid", hanging)
    with socket.create_server(("127.0.0.1", 0)) as server:
        resolve(lambda _: ["127.0.0.1"])
        child = os.fork()
        if not child:
            try:
                TcpConnector().connect("h.invalid", server.getsockname()[1], timeout_ms=LONG_MS)
            except BaseException:  # noqa: BLE001 - whatever it is, it is reported to the parent
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("host", "port"),
    [("", 1), ("a\0b", 1), ("ü" * 80, 1), ("127.0.0.1", 1 << 16), ("x.invalid", -1)],
)
def test_an_invalid_address_is_an_error(host: str, port: int) -> None:
    """A registration may hold any host and port."""
    with pytest.raises(ConnectFailed, match="can't connect"):
        TcpConnector().connect(host, port, timeout_ms=2_000)
