"""Connecting by a name: the time is for all of its addresses, and for the system's resolver."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from zkconsumer.clock import SystemClock
from zkconsumer.net.bounded_connect import connected

Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int]]


def resolved(host: str, port: int | None, addresses: list[str]) -> list[Address]:
    """Answer as the system does, to whom addresses are their own."""
    found = addresses if host.endswith(".invalid") else [host]
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port or 0)) for one in found]


def test_an_address_that_takes_no_connection_leaves_time_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one of IPv6 where no router knows it."""
    really = socket.create_connection
    asked: list[float] = []

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        asked.append(timeout)
        if address[0] != "127.0.0.1":
            threading.Event().wait(timeout)
            raise TimeoutError("timed out")
        return really(address, timeout)

    def resolve(host: str, port: int | None, *_: object, **__: object) -> list[Address]:
        return resolved(host, port, ["::1", "127.0.0.1"])

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = connected("two.invalid", server.getsockname()[1], 400, SystemClock())
        with found:
            assert found.getpeername() == server.getsockname()
            left_s = found.gettimeout()
    assert left_s is not None
    assert left_s <= 0.2
    assert 0.1 < asked[0] <= 0.2


def test_many_at_once_wait_for_the_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker dies, and all targets of twenty clusters are told at the same moment."""

    def resolve(host: str, port: int | None, *_: object, **__: object) -> list[Address]:
        threading.Event().wait(0.02)
        return resolved(host, port, ["127.0.0.1"])

    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        with ThreadPoolExecutor(40) as pool:
            calls = [
                pool.submit(connected, "h.invalid", port, 5_000, SystemClock()) for _ in "x" * 40
            ]
            for call in calls:
                call.result().close()


def test_an_address_needs_no_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which hangs, for as many as may ask it."""
    end = threading.Event()

    def hang(host: str, port: int | None, *_: object, **__: object) -> list[Address]:
        if host.endswith(".invalid"):
            end.wait(10)
        return resolved(host, port, ["127.0.0.1"])

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        try:
            for _ in range(20):
                with pytest.raises(TimeoutError):
                    connected("h.invalid", port, 10, SystemClock())
            connected("127.0.0.1", port, 1_000, SystemClock()).close()
        finally:
            end.set()
