"""Serves the application in the main thread, until a signal ends it."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NamedTuple

import uvicorn
from starlette.types import ASGIApp

from zkconsumer.errors import ConfigError, ZkConsumerError

log = logging.getLogger(__name__)

_BACKLOG: Final = 256
_REQUESTS_AT_ONCE: Final = 500
_GRACE_S: Final = 2
"""How long answers may take that are under way when it ends."""


class Address(NamedTuple):
    """Where to listen; port 0 lets the system choose one."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: str) -> Address:
    """``host:port``, ``[::1]:port`` or ``:port``, which is every address of the machine.

    Raises:
        ConfigError: it is none of these.
    """
    host, colon, port = text.strip().rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    bracketed = host.startswith("[") and host.endswith("]")
    is_number = port.isascii() and port.isdigit() and int(port) < 65_536
    if not colon or not is_number or (":" in bare and not bracketed) or " " in host:
        raise ConfigError(f"{text!r} is no address to listen at: write host:port, or [::1]:port")
    return Address(bare or "0.0.0.0", int(port))  # noqa: S104 - as it was asked for


@contextmanager
def listening(address: Address) -> Iterator[tuple[socket.socket, Address]]:
    """A socket that listens, and where it does.

    Raises:
        ZkConsumerError: the port is in use, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        bound = socket.create_server(address, family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ZkConsumerError(
            f"can't listen at {address}: {_reason(error)}: give another --listen"
        ) from error
    with bound:
        yield bound, Address(address.host, bound.getsockname()[1])


class PageServer(uvicorn.Server):
    """A server that ends at the first signal, and says by which; a second one waits for nothing.

    Args:
        app: what answers.
        before_end: called when the end begins: lets go whoever would listen for ever.
    """

    def __init__(self, app: ASGIApp, before_end: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=_REQUESTS_AT_ONCE,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._before_end = before_end
        self.ended_by: int | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals, and give them back; none is raised again afterwards.

        In another thread than the main one there are none to take.
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
        """The handler of the signals."""
        del frame
        self.force_exit = self.should_exit
        self.ended_by = self.ended_by or sig
        self.end()

    def end(self) -> None:
        """Begin to end. Thread: any."""
        self.should_exit = True
        self._before_end()


def _reason(error: OSError) -> str:
    """The system's own words, without those of the library around them."""
    return str(error) if not error.errno or error.errno < 0 else os.strerror(error.errno)
