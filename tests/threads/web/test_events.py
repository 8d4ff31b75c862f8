"""Server-sent events: who is told what, and who is let go."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from starlette.types import Message

from tests.support.asgi_client import StatesByHand
from tests.support.page_world import BILLING, CHECKOUT, STEPS, snapshot_at
from zkconsumer.status.model import GroupKey
from zkconsumer.web import events
from zkconsumer.web.events import EventHub, event_text

LONG_S = 10.0


class EventListener:
    """A browser that listens.

    Attributes:
        reported: the text that came.
        slow: takes nothing more while it is set.
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
        """Take a message."""
        await self.taking.wait()
        if message["type"] == "http.response.start":
            self.started = message
        elif message.get("more_body"):
            self.reported.append(message["body"].decode())
        else:
            self.ended = True
        self._came.set()

    async def receive(self) -> Message:
        """Nothing, until it leaves."""
        await self._left.wait()
        return {"type": "http.disconnect"}

    def leave(self) -> None:
        """Close the page."""
        self._left.set()

    async def until(self, there: Callable[[], object]) -> None:
        """Wait for something to have come."""
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
    """A client that listens, and goes with the block."""
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


def run(test: Callable[[StatesByHand], Awaitable[None]]) -> None:
    """Run it on a loop."""
    asyncio.run(asyncio.wait_for(test(StatesByHand(snapshot_at(STEPS))), 2 * LONG_S))


def test_each_state_is_an_event() -> None:
    """With its number, which a browser gives back when it comes again."""

    async def test(states: StatesByHand) -> None:
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
def test_who_has_seen_another_state_is_told_at_once(last_seen: int) -> None:
    """An older one, or one of an earlier server whose numbers went further."""

    async def test(states: StatesByHand) -> None:
        async with listening(EventHub(states), None, last_seen) as (client, _):
            await client.until(lambda: len(client.reported) == 2)
            assert "id: 1\n" in client.reported[1]

    run(test)


def test_who_is_slow_is_told_of_the_latest_alone() -> None:
    """Nothing piles up."""

    async def test(states: StatesByHand) -> None:
        async with listening(EventHub(states)) as (client, _):
            client.taking.clear()
            for _ in range(50):
                states.publish()
                await asyncio.sleep(0)
            client.taking.set()
            await client.until(lambda: "id: 51\n" in client.reported[-1])
            assert len(client.reported) <= 3

    run(test)


def test_a_look_is_news_for_those_who_see_the_group() -> None:
    """Lists wait for the next reading: many viewers must not make all pages anew each second."""

    async def test(states: StatesByHand) -> None:
        hub = EventHub(states)
        async with listening(hub, BILLING) as (looker, _), listening(hub) as (lister, _):
            states.publish(covered=frozenset([BILLING]))
            await looker.until(lambda: len(looker.reported) == 2)
            states.publish(covered=frozenset([CHECKOUT]))
            states.publish(covered=None)
            await lister.until(lambda: len(lister.reported) == 2)
            await looker.until(lambda: len(looker.reported) == 3)
            assert "id: 4\n" in lister.reported[1]
            assert "id: 4\n" in looker.reported[2]

    run(test)


def test_a_silent_server_says_that_it_is_there() -> None:
    """So that proxies and browsers don't give up."""

    async def test(states: StatesByHand) -> None:
        async with listening(EventHub(states, heartbeat_s=0.01)) as (client, _):
            await client.until(lambda: len(client.reported) > 3)
            assert set(client.reported[1:]) == {": still here\n\n"}

    run(test)


def test_there_is_room_for_so_many() -> None:
    """Who comes in addition is told to come later; when one leaves there is room again."""

    async def test(states: StatesByHand) -> None:
        hub = EventHub(states, clients_max=1)
        async with listening(hub):
            other = EventListener()
            assert not await hub.serve(None, None, other.receive, other.send)
            assert other.started is None
        async with listening(hub):
            assert hub.listeners == 1

    run(test)


def test_one_address_takes_no_places_from_others() -> None:
    """It may have what is free, and loses its oldest for those who have fewer."""

    async def test(states: StatesByHand) -> None:
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
                # Two and one: to take one more would only turn it around.
                late = EventListener()
                assert not await hub.serve(None, None, late.receive, late.send, address="b")

    run(test)


def test_who_takes_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cable that was pulled out holds no place for ever."""
    monkeypatch.setattr(events, "_SEND_TIMEOUT_S", 0.05)

    async def test(states: StatesByHand) -> None:
        hub = EventHub(states)
        async with listening(hub, BILLING) as (client, task):
            client.taking.clear()
            states.publish()
            assert await asyncio.wait_for(task, LONG_S)
            assert (hub.listeners, states.watched) == (0, [])

    run(test)


def test_at_the_end_all_are_let_go() -> None:
    """Their answers are finished, and nobody is taken any more."""

    async def test(states: StatesByHand) -> None:
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
