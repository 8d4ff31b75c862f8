"""Server-sent events: which client gets which state, and which clients are disconnected."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from starlette.types import Message

from tests.support.asgi_client import ManualStates
from tests.support.page_world import BILLING, CHECKOUT, STEPS, snapshot_at
from zkconsumer.status.model import GroupKey
from zkconsumer.web import events
from zkconsumer.web.events import EventHub, event_text

LONG_S = 10.0


class EventListener:
    """A browser that listens for events.

    Attributes:
        reported: the text that was received.
        taking: while it is not set, the browser reads nothing.
    """

    def __init__(self) -> None:
        self.reported: list[str] = []
        self.started: Message | None = None
        self.ended = False
        self.taking = asyncio.Event()
        self.taking.set()
        self._left = asyncio.Event()
        self._came = asyncio.Event()

    async def send(self, message: Message) -> None:
        """Receive a message of the response, once the browser reads."""
        await self.taking.wait()
        if message["type"] == "http.response.start":
            self.started = message
        elif message.get("more_body"):
            self.reported.append(message["body"].decode())
        else:
            self.ended = True
        self._came.set()

    async def receive(self) -> Message:
        """Wait until the browser leaves, then report the disconnect."""
        await self._left.wait()
        return {"type": "http.disconnect"}

    def leave(self) -> None:
        """Close the page."""
        self._left.set()

    async def until(self, there: Callable[[], object]) -> None:
        """Wait until this condition holds; it is checked after each message."""
        while not there():
            self._came.clear()
            await asyncio.wait_for(self._came.wait(), LONG_S)


@asynccontextmanager
async def listening(
    hub: EventHub,
    key: GroupKey | None = None,
    last_seen: int | None = None,
    address: str = "",
) -> AsyncIterator[tuple[EventListener, "asyncio.Task[bool]"]]:
    """Connect a client that listens, and disconnect it at the end of the block."""
    client = EventListener()
    task = asyncio.ensure_future(
        hub.serve(key, last_seen, client.receive, client.send, address=address)
    )
    await client.until(lambda: client.reported)
    try:
        yield client, task
    finally:
        client.leave()
        await asyncio.wait_for(task, LONG_S)


def run(test: Callable[[ManualStates], Awaitable[None]]) -> None:
    """Run a test on an event loop of its own."""
    asyncio.run(asyncio.wait_for(test(ManualStates(snapshot_at(STEPS))), 2 * LONG_S))


def test_each_state_is_an_event() -> None:
    """Its id is the state's number, which a browser sends when it reconnects."""

    async def test(states: ManualStates) -> None:
        hub = EventHub(states)
        async with listening(hub, BILLING) as (client, _):
            assert client.started is not None
            assert (b"content-type", b"text/event-stream; charset=utf-8") in client.started[
                "headers"
            ]
            assert client.reported == ["retry: 2000\n\n"]
            assert states.watched == [BILLING]
            state = states.publish(problem="two\nlines")
            await client.until(lambda: len(client.reported) == 2)
            assert client.reported[1] == event_text(state)
            assert client.reported[1].startswith("event: state\nid: 2\ndata: {")
            data = json.loads(client.reported[1].split("data: ")[1])
            assert data["number"] == 2
            assert data["problem"] == "two\nlines"
            assert hub.listeners == 1
        assert (hub.listeners, states.listeners, states.watched) == (0, 0, [])

    run(test)


@pytest.mark.parametrize("last_seen", [0, 7])
def test_a_client_that_has_seen_another_state_gets_the_current_one_at_once(last_seen: int) -> None:
    """It has seen an older state, or one of an earlier server whose numbers were higher."""

    async def test(states: ManualStates) -> None:
        async with listening(EventHub(states), None, last_seen) as (client, _):
            await client.until(lambda: len(client.reported) == 2)
            assert "id: 1\n" in client.reported[1]

    run(test)


def test_a_slow_client_gets_the_latest_state_only() -> None:
    """No states pile up for a client that does not read."""

    async def test(states: ManualStates) -> None:
        async with listening(EventHub(states)) as (client, _):
            client.taking.clear()
            for _ in range(50):
                states.publish()
                await asyncio.sleep(0)
            client.taking.set()
            await client.until(lambda: "id: 51\n" in client.reported[-1])
            assert len(client.reported) <= 3

    run(test)


def test_a_state_of_one_group_is_sent_to_its_viewers_only() -> None:
    """Lists get the next full read: otherwise every list would be rebuilt each second."""

    async def test(states: ManualStates) -> None:
        hub = EventHub(states)
        async with listening(hub, BILLING) as (group_client, _), listening(hub) as (list_client, _):
            states.publish(covered=frozenset([BILLING]))
            await group_client.until(lambda: len(group_client.reported) == 2)
            states.publish(covered=frozenset([CHECKOUT]))
            states.publish(covered=None)
            await list_client.until(lambda: len(list_client.reported) == 2)
            await group_client.until(lambda: len(group_client.reported) == 3)
            assert "id: 4\n" in list_client.reported[1]
            assert "id: 4\n" in group_client.reported[2]

    run(test)


def test_a_server_without_news_sends_heartbeats() -> None:
    """They keep proxies and browsers from giving up."""

    async def test(states: ManualStates) -> None:
        async with listening(EventHub(states, heartbeat_s=0.01)) as (client, _):
            await client.until(lambda: len(client.reported) > 3)
            assert set(client.reported[1:]) == {": still here\n\n"}

    run(test)


def test_the_number_of_clients_is_limited() -> None:
    """Another client is refused until one of them leaves."""

    async def test(states: ManualStates) -> None:
        hub = EventHub(states, clients_max=1)
        async with listening(hub):
            other = EventListener()
            assert not await hub.serve(None, None, other.receive, other.send)
            assert other.started is None
        async with listening(hub):
            assert hub.listeners == 1

    run(test)


def test_one_address_can_not_use_up_the_limit() -> None:
    """It may use what is free, but loses its oldest client to an address with fewer clients."""

    async def test(states: ManualStates) -> None:
        hub = EventHub(states, clients_max=3)
        async with (
            listening(hub, address="a") as (_, oldest),
            listening(hub, address="a"),
            listening(hub, address="a"),
        ):
            another = EventListener()
            assert not await hub.serve(None, None, another.receive, another.send, address="a")
            async with listening(hub, address="b"):
                assert await asyncio.wait_for(oldest, LONG_S)
                assert hub.listeners == 3
                # "a" has two and "b" one: another one for "b" would only swap their shares.
                late = EventListener()
                assert not await hub.serve(None, None, late.receive, late.send, address="b")

    run(test)


def test_a_client_that_reads_nothing_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client whose cable was pulled must not count against the limit for ever."""
    monkeypatch.setattr(events, "_SEND_TIMEOUT_S", 0.05)

    async def test(states: ManualStates) -> None:
        hub = EventHub(states)
        async with listening(hub, BILLING) as (client, task):
            client.taking.clear()
            states.publish()
            assert await asyncio.wait_for(task, LONG_S)
            assert (hub.listeners, states.watched) == (0, [])

    run(test)


def test_closing_disconnects_all_clients() -> None:
    """Their responses are finished, and no new client is accepted."""

    async def test(states: ManualStates) -> None:
        hub = EventHub(states)
        async with listening(hub) as (one, first), listening(hub) as (other, second):
            hub.close()
            for task in (first, second):
                assert await asyncio.wait_for(task, LONG_S)
            assert one.ended
            assert other.ended
        late = EventListener()
        assert not await hub.serve(None, None, late.receive, late.send)

    run(test)
