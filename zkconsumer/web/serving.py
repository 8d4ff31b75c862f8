"""Serves the application in the main thread, until a signal ends it."""

import logging
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp

from zkconsumer.digits import is_decimal
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.inbound.gate import ConnectionSlot, Gate
from zkconsumer.inbound.pacing import PacedLog
from zkconsumer.inbound.table import ConnectionLimits
from zkconsumer.web.connection import HEAD_MAX, PageConnection

_BACKLOG: Final = 1024
_ADDRESSES: Final = 5
"""How many addresses it takes to use up all connections with idle ones."""
_LEAST_DESCRIPTORS: Final = 2 * (ConnectionLimits().spare + 1)
_ENDLESS: Final = 1 << 30
_NEVER_S: Final = 86_400
"""Keep-alive limit of uvicorn, too long to matter: the gate closes idle connections."""
_RATE_LIMITED_LOGGERS: Final = ("asyncio", "uvicorn.error", "zkconsumer.web.guarding")
"""Loggers whose messages any client can provoke."""
_GRACE_S: Final = 2
"""How long pending responses may take during a shutdown, in seconds."""
_READING_S: Final = 1.0
"""How long clients may take to read their responses during a shutdown, in seconds."""


class Address(NamedTuple):
    """The address to listen on; port 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str) -> Address:
    """Parse ``host:port``, ``[::1]:port`` or ``:port``, which means all IPv4 addresses.

    Raises:
        ConfigError: it is malformed.
    """
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if bracketed else host
    is_host = bracketed == (":" in bare) and not set(" []") & set(bare)
    is_number = is_decimal(port, 5) and int(port) < 65_536
    if not colon or not is_number or not is_host:
        raise ConfigError(
            f"{text!r} is not an address to listen on: write host:port, or [::1]:port"
        )
    return Address(bare or "0.0.0.0", int(port))  # noqa: S104 - as configured


@contextmanager
def listening(address: Address) -> Iterator[tuple[socket.socket, Address]]:
    """Yield a listening socket and its address.

    Raises:
        ZkConsumerError: the port is in use, or the address is not local.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        bound = socket.create_server(address, family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ZkConsumerError(
            f"can't listen on {address}: {_reason(error)}; give another --listen"
        ) from error
    with bound:
        yield bound, Address(address.host, bound.getsockname()[1])


def connection_limits(connections: int | None, client_ms: int) -> ConnectionLimits:
    """Return the resource limits of clients.

    Args:
        connections: the maximum number of connections; None: the default, or fewer if the limit of
            descriptors requires it: half of them are for the cluster and the history.
        client_ms: how long to wait for a client, in milliseconds.

    Raises:
        ConfigError: there are not enough descriptors.
    """
    usual = ConnectionLimits()
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        descriptors = _ENDLESS
    if connections is None:
        connections = max(1, min(usual.connections, descriptors // 2 - usual.spare))
    needed = 2 * (connections + usual.spare)
    if needed > max(descriptors, _LEAST_DESCRIPTORS):
        raise ConfigError(
            f"{connections} connections need {needed} open files, "
            f"but the limit is {descriptors}: raise it (ulimit -n, LimitNOFILE=) or give a smaller "
            "--max-connections"
        )
    return replace(
        usual,
        connections=connections,
        per_address=max(1, connections // _ADDRESSES),
        head_ms=client_ms,
        body_ms=client_ms,
        next_ms=min(usual.next_ms, client_ms),
        reading_ms=client_ms,
    )


class PageServer(uvicorn.Server):
    """A server that shuts down at the first signal (``ended_by``), and at once at a second one.

    Args:
        app: the application.
        before_end: called when a shutdown begins, to drop endless responses.
        limits: the limits of connections.
        trusted_proxies: addresses and networks of proxies whose forwarded addresses are trusted.
    """

    def __init__(
        self,
        app: ASGIApp,
        before_end: Callable[[], None],
        *,
        limits: ConnectionLimits | None = None,
        trusted_proxies: Sequence[str] = (),
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                proxy_headers=bool(trusted_proxies),
                forwarded_allow_ips=list(trusted_proxies),
                server_header=False,
                h11_max_incomplete_event_size=HEAD_MAX,
                timeout_keep_alive=_NEVER_S,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._before_end = before_end
        self._limits = limits or ConnectionLimits()
        self._paced = PacedLog()
        self._gate = Gate(self._limits, self._connection, paced=self._paced)
        self.ended_by: int | None = None

    def _connection(self, session: ConnectionSlot) -> PageConnection:
        return PageConnection(
            self.config,
            self.server_state,
            session=session,
            requests_max=self._limits.connections,
        )

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """See ``uvicorn.Server``."""
        loggers = [logging.getLogger(name) for name in _RATE_LIMITED_LOGGERS]
        for logger in loggers:
            logger.addFilter(self._paced)
        try:
            await super().serve(sockets)
        finally:
            await self._gate.close()
            for logger in loggers:
                logger.removeFilter(self._paced)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See ``uvicorn.Server``; here the gate accepts connections, not asyncio."""
        self.servers = []
        for sock in sockets or ():
            self._gate.open(sock)
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See ``uvicorn.Server``; here slow clients have ``_READING_S`` to read their responses."""
        self._gate.stop_accepting(_READING_S)
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals, then restore their handlers; unlike uvicorn, do not raise them again.

        Outside of the main thread, do nothing.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.getsignal(number) for number in numbers}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        del frame
        self.force_exit = self.should_exit
        self.ended_by = self.ended_by or sig
        self.end()

    def end(self) -> None:
        """Begin to shut down. Thread: any."""
        self.should_exit = True
        self._before_end()


def _reason(error: OSError) -> str:
    """Return the system's error message, without what the library adds."""
    return str(error) if not error.errno or error.errno < 0 else os.strerror(error.errno)
