"""Server-sent events: one for each new state, to every client whose page shows it.

A partial read of some groups concerns only the pages of those groups; others wait for the next full
read. Only the latest state counts: a slow client gets one event for several states, and nothing
piles up. The number of listeners is limited, and a client that reads nothing for a while is
dropped; when the limit is reached, the address with the most listeners loses one to another.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Coroutine
from contextlib import nullcontext
from typing import Final

from starlette.types import Receive, Send

from zkconsumer.status.model import GroupKey
from zkconsumer.web.state import ClusterState, StateSource

log = logging.getLogger(__name__)

CLIENTS_MAX: Final = 200
HEARTBEAT_S: Final = 15.0
_SEND_TIMEOUT_S: Final = 20.0
"""How long a client may go without reading, in seconds."""
_RETRY_MS: Final = 2_000
"""How long browsers wait before they reconnect, in milliseconds."""


class EventHub:
    """Sends events of new states to the clients that listen. Thread: the event loop's.

    Args:
        source: the source of the states.
        clients_max: the maximum number of listeners.
        heartbeat_s: after this time without events, in seconds, a keep-alive line is sent.
    """

    def __init__(
        self,
        source: StateSource,
        *,
        clients_max: int = CLIENTS_MAX,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._source = source
        self._clients_max = clients_max
        self._heartbeat_s = heartbeat_s
        self._listeners: dict[_Listener, None] = {}
        self._closed = False

    @property
    def listeners(self) -> int:
        """The number of listeners."""
        return len(self._listeners)

    def close(self) -> None:
        """Drop all listeners, and accept no more. Safe in a signal handler of the loop's thread."""
        self._closed = True
        for listener in list(self._listeners):
            listener.signal_from_thread()

    async def serve(
        self,
        key: GroupKey | None,
        last_seen: int | None,
        receive: Receive,
        send: Send,
        *,
        address: str = "",
    ) -> bool:
        """Send a client the events of new states, until it disconnects or is dropped.

        Args:
            key: the group that its page shows, which is read more often meanwhile.
            last_seen: the number of the state that the client shows; None: the current one.
            receive: ASGI's receive function.
            send: ASGI's send function.
            address: the client's address.

        Returns:
            False if the limit is reached or the hub is closed; then nothing was sent.
        """
        if self._closed or not self._make_capacity(address):
            return False
        listener = _Listener(asyncio.get_running_loop(), address)
        self._listeners[listener] = None
        unsubscribe = self._source.subscribe(
            lambda state: listener.signal_from_thread() if _concerns(state, key) else None
        )
        watching = nullcontext() if key is None else self._source.watch(key)
        try:
            with watching:
                await _either(self._notify(listener, last_seen, send), _gone(receive))
        except TimeoutError:
            log.debug(
                "closed the event stream of a client that read nothing for %d s", _SEND_TIMEOUT_S
            )
        finally:
            unsubscribe()
            self._listeners.pop(listener, None)
        return True

    def _make_capacity(self, address: str) -> bool:
        """Drop a listener of a more crowded address if needed; return whether one may be added."""
        if len(self._listeners) < self._clients_max:
            return True
        counts = Counter(listener.address for listener in self._listeners)
        crowd, most = counts.most_common(1)[0]
        if most <= counts[address] + 1:
            return False
        oldest = next(listener for listener in self._listeners if listener.address == crowd)
        del self._listeners[oldest]
        oldest.let_go()
        return True

    async def _notify(self, listener: "_Listener", last_seen: int | None, send: Send) -> None:
        reported = self._source.current.number if last_seen is None else last_seen
        await _start(send)
        # Numbers start again with the server: a larger ``last_seen`` is from before a restart.
        is_notified = last_seen is not None
        while not (self._closed or listener.let_gone):
            state = self._source.current
            if is_notified and state.number != reported:
                reported = state.number
                await _send(send, event_text(state))
            is_notified = await listener.received(self._heartbeat_s)
            if not is_notified:
                await _send(send, ": still here\n\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def event_text(state: ClusterState) -> str:
    """Return the event of a state: its number, the time of its snapshot, and its problem."""
    data = json.dumps(
        {
            "number": state.number,
            "taken_ms": state.taken_ms,
            "problem": state.problem,
        }
    )
    return f"event: state\nid: {state.number}\ndata: {data}\n\n"


def _concerns(state: ClusterState, key: GroupKey | None) -> bool:
    return state.covered is None or key in state.covered


class _Listener:
    """A client that listens, to be woken or dropped."""

    def __init__(self, loop: asyncio.AbstractEventLoop, address: str) -> None:
        self.address = address
        self.let_gone = False
        self._loop = loop
        self._notified = asyncio.Event()

    def signal_from_thread(self) -> None:
        """Wake the listener. Thread: any."""
        try:
            self._loop.call_soon_threadsafe(self._notified.set)
        except RuntimeError:
            # The loop has ended, and all listeners with it.
            return

    def let_go(self) -> None:
        """Drop the listener. Thread: the event loop's."""
        self.let_gone = True
        self._notified.set()

    async def received(self, timeout_s: float) -> bool:
        """Wait to be woken; return False if that takes longer than ``timeout_s``."""
        try:
            await asyncio.wait_for(self._notified.wait(), timeout_s)
        except TimeoutError:
            return False
        self._notified.clear()
        return True


async def _start(send: Send) -> None:
    headers = [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await _send(send, f"retry: {_RETRY_MS}\n\n")


async def _send(send: Send, text: str) -> None:
    message = {"type": "http.response.body", "body": text.encode(), "more_body": True}
    await asyncio.wait_for(send(message), _SEND_TIMEOUT_S)


async def _either(*doing: Coroutine[None, None, None]) -> None:
    """Run coroutines until the first is done, cancel the others, and raise its error, if any."""
    tasks = [asyncio.ensure_future(task) for task in doing]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
