"""A client of an ASGI application without a server, and a state source that tests control."""

import asyncio
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from starlette.types import ASGIApp, Message

from zkconsumer.status.model import ClusterSnapshot, GroupKey
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.state import ClusterState, LagSeries, PastRebalance

DEADLINE_S = 10.0


class Answered(NamedTuple):
    """A response; header names are in lower case, repeated headers in their order."""

    status: int
    raw_headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """The headers by name."""
        return dict(self.raw_headers)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body decoded as JSON."""
        return json.loads(self.body)


def scope_of(method: str, address: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the ASGI scope of a request."""
    path, _, query = address.partition("?")
    named = {"host": "localhost:8380", **{name.lower(): text for name, text in headers.items()}}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [
            (name.encode(), text.encode("latin-1")) for name, text in named.items() if text
        ],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8380),
    }


def request(
    app: ASGIApp,
    address: str,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "GET",
    body: bytes = b"",
    faulty: type[Exception] | None = None,
) -> Answered:
    """Send a request; headers with an empty value are left out, even ``Host``.

    If the application has a bug, it both responds and raises; ``faulty`` is the expected error.

    Raises:
        TimeoutError: the response took longer than ``DEADLINE_S``.
    """

    async def run() -> Answered:
        reported: list[Message] = []
        pending = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if pending:
                return pending.pop()
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Message) -> None:
            reported.append(message)

        scope = scope_of(method, address, headers or {})
        with pytest.raises(faulty) if faulty else nullcontext():
            await asyncio.wait_for(app(scope, receive, send), DEADLINE_S)
        start = reported[0]
        named = tuple((name.decode(), text.decode("latin-1")) for name, text in start["headers"])
        return Answered(
            start["status"], named, b"".join(entry.get("body", b"") for entry in reported[1:])
        )

    return asyncio.run(run())


class ManualStates:
    """A ``StateSource`` whose states are published by a test.

    Attributes:
        watched: the watched groups, once for each watcher.
    """

    def __init__(self, snapshot: ClusterSnapshot, *, ready: bool = True) -> None:
        self._memory = Memory()
        self._listeners: list[Callable[[ClusterState], None]] = []
        self.watched: list[GroupKey] = []
        self._memory.record(snapshot)
        self.current = ClusterState(
            number=1,
            snapshot=snapshot,
            started_ms=snapshot.taken_ms,
            read_duration_ms=10,
            interval_ms=5_000,
            problem=None if ready else "it is being read for the first time",
            ready=ready,
            judgements=Judgements(snapshot, None, self._memory),
        )

    def publish(self, snapshot: ClusterSnapshot | None = None, **changes: Any) -> ClusterState:
        """Publish the next state: another snapshot, or changed fields of the state."""
        if snapshot is not None:
            self._memory.record(snapshot)
            changes |= {
                "snapshot": snapshot,
                "ready": True,
                "judgements": Judgements(snapshot, None, self._memory),
            }
        self.current = replace(self.current, number=self.current.number + 1, **changes)
        for listener in list(self._listeners):
            listener(self.current)
        return self.current

    @contextmanager
    def watch(self, key: GroupKey) -> Iterator[None]:
        """See ``StateSource``."""
        self.watched.append(key)
        try:
            yield
        finally:
            self.watched.remove(key)

    def subscribe(self, listener: Callable[[ClusterState], None]) -> Callable[[], None]:
        """See ``StateSource``."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    @property
    def listeners(self) -> int:
        """The number of subscribed listeners."""
        return len(self._listeners)


class NoPast:
    """A ``Past`` without any data."""

    problem: str | None = None

    def __init__(self) -> None:
        self.requested: list[tuple[GroupKey, int, int, int]] = []

    def lag_series(self, key: GroupKey, since_ms: int, until_ms: int, points: int) -> LagSeries:
        """See ``Past``."""
        self.requested.append((key, since_ms, until_ms, points))
        return LagSeries()

    def trends(
        self, keys: Collection[GroupKey], since_ms: int, until_ms: int, points: int
    ) -> dict[GroupKey, tuple[int | None, ...]]:
        """See ``Past``."""
        del keys, since_ms, until_ms, points
        return {}

    def rebalances(self, key: GroupKey, since_ms: int) -> tuple[PastRebalance, ...]:
        """See ``Past``."""
        del key, since_ms
        return ()
