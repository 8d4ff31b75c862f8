"""Server-sent events: one for each new state, to everybody who has a page open that shows it.

A look at some groups is news for the pages of those groups alone; others wait for the next reading.
Only the latest state counts: who is slow is told of one where others are told of three, and
nothing piles up. The number of listeners is limited, and who takes nothing for a while is let go;
where all places are taken, the address that has most of them gives one up for another address.
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
_PATIENCE_S: Final = 20.0
"""How long a client may take none of what is sent."""
_RETRY_MS: Final = 2_000
"""How long browsers wait before they connect again."""


class EventHub:
    """The listeners. Thread: the event loop's.

    Args:
        source: of states.
        clients_max: how many may listen at the same time.
        heartbeat_s: after so much silence a line says that we are still there.
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
        self._bells: dict[_Listener, None] = {}
        self._closed = False

    @property
    def listeners(self) -> int:
        """How many there are."""
        return len(self._bells)

    def close(self) -> None:
        """Let all go, and take nobody any more. Safe in a signal handler of the loop's thread."""
        self._closed = True
        for wakeup in list(self._bells):
            wakeup.signal_from_thread()

    async def serve(
        self,
        key: GroupKey | None,
        last_seen: int | None,
        receive: Receive,
        send: Send,
        *,
        address: str = "",
    ) -> bool:
        """Tell one client of new states, until it goes or we do.

        Args:
            key: the group that is looked at, read more often meanwhile.
            last_seen: the number of the state that the client has; None: the current one.
            receive: of ASGI.
            send: of ASGI.
            address: of the client.

        Returns:
            False where there is no room for one more, and nothing was sent.
        """
        if self._closed or not self._has_capacity(address):
            return False
        wakeup = _Listener(asyncio.get_running_loop(), address)
        self._bells[wakeup] = None
        unsubscribe = self._source.subscribe(
            lambda state: wakeup.signal_from_thread() if _concerns(state, key) else None
        )
        watching = nullcontext() if key is None else self._source.watch(key)
        try:
            with watching:
                await _either(self._notify(wakeup, last_seen, send), _gone(receive))
        except TimeoutError:
            log.debug("let a client go that took nothing for %d s", _PATIENCE_S)
        finally:
            unsubscribe()
            self._bells.pop(wakeup, None)
        return True

    def _has_capacity(self, address: str) -> bool:
        """Whether this address may have one more; the one that has most may lose one for it."""
        if len(self._bells) < self._clients_max:
            return True
        counts = Counter(wakeup.address for wakeup in self._bells)
        crowd, most = counts.most_common(1)[0]
        if most <= counts[address] + 1:
            return False
        oldest = next(wakeup for wakeup in self._bells if wakeup.address == crowd)
        del self._bells[oldest]
        oldest.let_go()
        return True

    async def _notify(self, wakeup: "_Listener", last_seen: int | None, send: Send) -> None:
        reported = self._source.current.number if last_seen is None else last_seen
        await _start(send)
        # Numbers begin again with the server: a greater one is of an earlier life.
        rung = last_seen is not None
        while not (self._closed or wakeup.let_gone):
            state = self._source.current
            if rung and state.number != reported:
                reported = state.number
                await _send(send, event_text(state))
            rung = await wakeup.received(self._heartbeat_s)
            if not rung:
                await _send(send, ": still here\n\n")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def event_text(state: ClusterState) -> str:
    """Return an event as it is sent: the number of the state, and when its snapshot was taken."""
    data = json.dumps(
        {
            "number": state.number,
            "taken_ms": state.snapshot.taken_ms if state.ready else None,
            "problem": state.problem,
        }
    )
    return f"event: state\nid: {state.number}\ndata: {data}\n\n"


def _concerns(state: ClusterState, key: GroupKey | None) -> bool:
    return state.covered is None or key in state.covered


class _Listener:
    """Wakes one listener."""

    def __init__(self, loop: asyncio.AbstractEventLoop, address: str) -> None:
        self.address = address
        self.let_gone = False
        self._loop = loop
        self._rung = asyncio.Event()

    def signal_from_thread(self) -> None:
        """Ring from another thread."""
        try:
            self._loop.call_soon_threadsafe(self._rung.set)
        except RuntimeError:
            # The loop has ended, and all listeners with it.
            return

    def let_go(self) -> None:
        """End it. Thread: the event loop's."""
        self.let_gone = True
        self._rung.set()

    async def received(self, timeout_s: float) -> bool:
        """Wait for the bell; false where it stays silent."""
        try:
            await asyncio.wait_for(self._rung.wait(), timeout_s)
        except TimeoutError:
            return False
        self._rung.clear()
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
    await asyncio.wait_for(send(message), _PATIENCE_S)


async def _either(*doing: Coroutine[None, None, None]) -> None:
    """Do all of it until the first is done; an error of that one is raised."""
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
