"""Extends uvicorn's connection so that it reports its progress to the gate."""

import asyncio
from typing import Final

import h11
from starlette.types import Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from zkconsumer.inbound.gate import ConnectionSlot, Watched
from zkconsumer.inbound.table import WaitingFor
from zkconsumer.web.guarding import AUTHENTICATE, HAS_CAPACITY

HEAD_MAX: Final = 16_384
"""The limit of a request's line and headers together."""
_PIECE: Final = 4_096
_BODY_MAX: Final = 65_536
_CLOSE: Final = (b"connection", b"close")


class PageConnection(H11Protocol, Watched):
    """A uvicorn connection that limits request bodies, and reports its progress to the gate.

    Args:
        config: uvicorn's configuration.
        state: uvicorn's state of the whole server.
        session: its slot at the gate.
        requests_max: the maximum number of requests in progress on all connections; those whose
            clients have disconnected count until they are done.
    """

    def __init__(
        self, config: Config, state: ServerState, *, session: ConnectionSlot, requests_max: int
    ) -> None:
        super().__init__(config, state, {})
        self._page = self.app
        self.app = self._respond
        self._session = session
        self._requests_max = requests_max
        self._head_begun = True
        self._answering = False
        self._has_capacity = True
        self._body_came = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See ``H11Protocol``."""
        # A client that does not read is noticed at once, and nothing more is sent to it.
        transport.set_write_buffer_limits(0)
        super().connection_made(transport)
        self.wire = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``H11Protocol``."""
        super().connection_lost(exc)
        self._session.leave()

    def data_received(self, data: bytes) -> None:
        """See ``H11Protocol``.

        Data is passed on in pieces, since the limit of a head's size applies to incomplete heads
        only: a head that arrived in one piece could exceed it.
        """
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            self._head_begun = True
            super().data_received(data[start : start + _PIECE])
        if self.body_open:
            self._body_came += len(data)
            if self._body_came > _BODY_MAX:
                # Stop reading instead of closing, so that the client can read the reason first.
                self.transport.pause_reading()
        self._notify()

    def handle_events(self) -> None:
        """See ``H11Protocol``."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._answering, self._body_came = True, 0
            self._has_capacity = self._session.begin() and len(self.tasks) <= self._requests_max
        self._notify()

    def _should_upgrade(self) -> bool:
        """See ``H11Protocol``, which would advise installing a package that is not used here."""
        return False

    def pause_writing(self) -> None:
        """See ``H11Protocol``."""
        super().pause_writing()
        self._notify()

    def resume_writing(self) -> None:
        """See ``H11Protocol``."""
        super().resume_writing()
        self._notify()

    def on_response_complete(self) -> None:
        """See ``H11Protocol``."""
        self._answering = False
        self._head_begun = bool(self.conn.trailing_data[0])
        super().on_response_complete()
        self._notify()

    @property
    def body_open(self) -> bool:
        """See ``Watched``."""
        return self.conn.their_state is h11.SEND_BODY

    def _notify(self) -> None:
        self._session.waits(self._waits())

    def _waits(self) -> WaitingFor | None:
        if self.flow.write_paused:
            return WaitingFor.READING
        if self.body_open:
            return WaitingFor.BODY
        if self._answering:
            return None
        return WaitingFor.HEAD if self._head_begun else WaitingFor.NEXT

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_capacity = self._has_capacity
        scope[HAS_CAPACITY], scope[AUTHENTICATE] = has_capacity, self._session.authenticate

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start" and not has_capacity:
                message["headers"] = [*message.get("headers", ()), _CLOSE]
            self.given += len(message.get("body", b""))
            await send(message)

        await self._page(scope, receive, send_on)
