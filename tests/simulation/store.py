"""The members' access to the in-memory ZooKeeper: each request stops before and after the server.

A batch is pipelined, so others may come between its requests, and the connection may break there:
the first half has taken effect, and the caller does not know.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from tests.fakes.memory_tree import MemoryTree, TreeEvent
from tests.fakes.memory_zk import MemoryZkServer
from tests.simulation.kernel import Task
from zkconsumer.errors import RegistryError, SessionLost
from zkconsumer.zk.session import ResponseListener, SessionEvent, SessionListener
from zkconsumer.zk.store import (
    CLOSE_TIMEOUT_MS,
    MultiResult,
    Op,
    OpError,
    Watch,
    ZkStore,
    ZNode,
    ZNodeStat,
)

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class SimStore(ZkStore):
    """A member's store over an in-memory one, run by a task.

    Attributes:
        breaks: how often the connection broke so far.
        loss_rate: the share of requests whose responses are lost.
        dead: whether its process is dead, so that nothing reaches the server.
        on_error: called for each request that failed for its caller.
        hears: called with each session event before the product is.
        on_listening: called with each listener for the server's responses.
        good_bye: ends the session.
    """

    def __init__(self, server: MemoryZkServer, rng: Random) -> None:
        raw = self.raw = server.connect()
        self.negotiated_timeout_ms = raw.negotiated_timeout_ms
        self.supports_multi = raw.supports_multi
        self._rng = rng
        self.task: Task | None = None
        self.breaks = 0
        self.loss_rate = 0.0
        self.dead = False
        self.on_error: Callable[[str], None] = lambda _: None
        self.hears: Callable[[SessionEvent], None] = lambda _: None
        self.on_listening: Callable[[ResponseListener], None] = lambda _: None
        self.good_bye: Callable[[], None] = lambda: raw.close(0)

    @property
    def session_id(self) -> int:
        """See ``ZkStore``."""
        return self.raw.session_id

    @property
    def connected(self) -> bool:
        """See ``ZkStore``."""
        return self.raw.connected

    def on_session(self, listener: SessionListener) -> None:
        """See ``ZkStore``."""

        def receive(event: SessionEvent) -> None:
            if not self.dead:
                self.hears(event)
                listener(event)

        self.raw.on_session(receive)

    def on_response_sent(self, listener: ResponseListener) -> None:
        """See ``ZkStore``."""
        self.on_listening(listener)

    def _get(self, paths: Sequence[str], watch: Watch | None, fence: int) -> list[ZNode | None]:
        """See ``ZkStore``."""
        return self._exchange(paths, lambda some: self.raw._get(some, watch, fence), fence)

    def _children(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[list[str] | None]:
        """See ``ZkStore``."""
        return self._exchange(paths, lambda some: self.raw._children(some, watch, fence), fence)

    def _server_children(self, paths: Sequence[str], fence: int) -> list[list[str] | None]:
        """See ``ZkStore``."""
        return self._exchange(paths, lambda some: self.raw._server_children(some, fence), fence)

    def _exists(
        self, paths: Sequence[str], watch: Watch | None, fence: int
    ) -> list[ZNodeStat | None]:
        """See ``ZkStore``."""
        return self._exchange(paths, lambda some: self.raw._exists(some, watch, fence), fence)

    def _write(self, ops: Sequence[Op], fence: int) -> list[OpError | None]:
        """See ``ZkStore``."""
        return self._exchange(ops, lambda some: self.raw._write(some, fence), fence)

    def _multi(self, batches: Sequence[Sequence[Op]], fence: int) -> list[MultiResult]:
        """See ``ZkStore``."""
        return self._exchange(batches, lambda some: self.raw._multi(some, fence), fence)

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """See ``ZkStore``."""
        del timeout_ms
        if not self.dead:
            self.good_bye()

    def _exchange(
        self,
        requests: Sequence[Request],
        send: Callable[[Sequence[Request]], list[Answer]],
        fence: int,
    ) -> list[Answer]:
        if not requests:
            return []
        assert self.task is not None
        self.task.stop_here()
        if not self.raw.connected and not self.raw.closed and self._rng.random() < 0.5:
            # The real client waits for the connection, up to its time-out.
            self.task.stop_here(lambda: self.raw.connected or self.raw.closed, 4_000)
        breaks = self.breaks
        responses: list[Answer] = []
        try:
            for some in self._parts(requests):
                if responses:
                    self.task.stop_here()
                responses += send(some)
            self.task.stop_here()
            self._receive(breaks, fence)
        except RegistryError as error:
            self.on_error(f"{type(error).__name__}: {error}")
            raise
        return responses

    def _parts(self, requests: Sequence[Request]) -> list[Sequence[Request]]:
        if len(requests) < 2 or self._rng.random() < 0.6:
            return [requests]
        cut = self._rng.randrange(1, len(requests))
        return [requests[:cut], requests[cut:]]

    def _receive(self, breaks: int, fence: int) -> None:
        """Raise if the response is lost, or the connection broke meanwhile."""
        if self.loss_rate and self._rng.random() < self.loss_rate:
            raise RegistryError("no response in time")
        if breaks != self.breaks and self._rng.random() < 0.7:
            if fence != self.raw.session_id:
                raise SessionLost(f"session {fence:#x} ended before the answer came")
            raise RegistryError("connection to ZooKeeper lost before the answer came")


class WatchedTree(MemoryTree):
    """Reports every write below some paths, with the node that was there before."""

    def __init__(
        self,
        wall_ms: Callable[[], int],
        below: tuple[str, ...],
        reported: Callable[[Op, ZNode | None, int], None],
    ) -> None:
        super().__init__(wall_ms)
        self._below = below
        self._reported = reported

    def apply(
        self, ops: Sequence[Op], session_id: int
    ) -> tuple[MultiResult, tuple[TreeEvent, ...]]:
        """See ``MemoryTree``."""
        before = [(op, self.get(op.path)) for op in ops if op.path.startswith(self._below)]
        outcome = super().apply(ops, session_id)
        if before and outcome[0].ok:
            for op, node in before:
                self._reported(op, node, session_id)
        return outcome
