"""Sends a batch of requests without waiting for each response, but never too many at once.

A server responds to one client's requests in order, so when the last response is there, or one in
the middle while too many are in flight, the earlier ones are there too, or will be in a moment.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from zkconsumer.clock import Clock
from zkconsumer.errors import RegistryError
from zkconsumer.zk.session_tracker import SessionTracker

MAX_IN_FLIGHT = 200
"""Limit of requests in flight. kazoo wakes its thread with a byte per request through a socket pair
that holds 278 of them on Linux (see ``kazoo_io.WakeupPipe`` for what happens when it is full)."""


class PendingResponse(Protocol):
    """The pending response to one request."""

    def wait(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds; return whether the response, or a failure, is there."""
        ...

    def ready(self) -> bool:
        """Return whether the response, or a failure, is there."""
        ...

    def get_nowait(self) -> Any:
        """Return the response or raise the failure."""
        ...


Send = Callable[[], PendingResponse]


class Pipeline:
    """Sends one client's requests, a batch at a time, each bounded in time. Thread: any."""

    def __init__(self, tracker: SessionTracker, clock: Clock, *, timeout_ms: int) -> None:
        self._tracker = tracker
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._lock = threading.Lock()
        self._unanswered: list[PendingResponse] = []

    def run(self, sends: Sequence[Send], fence: int) -> list[PendingResponse]:
        """Send everything in session ``fence`` and wait for all responses (or failures).

        Raises:
            RegistryError: no connection, or not all responses, within the time-out. Requests that
                were sent may still be executed.
            SessionLost: that session has ended.
        """
        deadline_ms = self._clock.now_ms() + self._timeout_ms
        if not self._lock.acquire(timeout=self._timeout_ms / 1000):
            raise RegistryError(f"ZooKeeper was busy for {self._timeout_ms} ms with other calls")
        try:
            self._tracker.await_connected(fence, deadline_ms)
            responses: list[PendingResponse] = []
            for send in sends:
                self._make_space(deadline_ms)
                response = self._tracker.send(fence, send)
                responses.append(response)
                self._unanswered.append(response)
            # Await the last one first: then most others are there, and this thread wakes up once.
            for response in reversed(responses):
                self._await(response, deadline_ms)
            return responses
        finally:
            self._lock.release()

    def _make_space(self, deadline_ms: int) -> None:
        if len(self._unanswered) < MAX_IN_FLIGHT:
            return
        # Waiting for half of them at once avoids a thread switch for each request.
        self._await(self._unanswered[MAX_IN_FLIGHT // 2], deadline_ms)
        self._unanswered = [response for response in self._unanswered if not response.ready()]

    def _await(self, response: PendingResponse, deadline_ms: int) -> None:
        if response.ready():
            return
        left_ms = max(0, deadline_ms - self._clock.now_ms())
        if not response.wait(left_ms / 1000):
            raise RegistryError(f"ZooKeeper did not respond within {self._timeout_ms} ms")
