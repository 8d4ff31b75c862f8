"""Connects to a host in bounded time, its name's resolution included.

The system's resolver has no time-out that a caller can set: it works on a thread of its own, which
is left to itself when it takes too long.
"""

import socket
import threading
from collections.abc import Sequence
from typing import Final

from zkconsumer.clock import Clock
from zkconsumer.scope import Mailbox, ThreadScope

_AT_ONCE: Final = 16
"""How many resolutions may be left to themselves."""
_resolving: Final = threading.BoundedSemaphore(_AT_ONCE)


def connected(host: str, port: int, timeout_ms: int, clock: Clock) -> socket.socket:
    """Return a socket that is connected to the first address of a host that lets us.

    Args:
        host: its name or address.
        port: of it.
        timeout_ms: for the name and all addresses together; the socket's time-out afterwards.
        clock: measures it.

    Raises:
        OSError: the name is not known, nobody listens, or not in time.

    Thread: any.
    """
    end_ms = clock.now_ms() + timeout_ms
    failure = TimeoutError(f"{host}:{port} does not answer within {timeout_ms} ms")
    error: OSError = failure
    for address in resolved(host, timeout_ms):
        left_ms = end_ms - clock.now_ms()
        if left_ms <= 0:
            raise failure
        try:
            found = socket.create_connection((address, port), timeout=left_ms / 1000)
        except OSError as refused:
            error = refused
        else:
            found.settimeout(timeout_ms / 1000)
            return found
    raise error


def resolved(host: str, timeout_ms: int) -> Sequence[str]:
    """Return the addresses of a host, in the order in which they are to be tried.

    Raises:
        OSError: the name is not known, or not in time.

    Thread: any.
    """
    outcome: Mailbox[list[str] | OSError | UnicodeError] = Mailbox()

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            outcome.put(list(dict.fromkeys(str(address[0]) for *_, address in found)))
        except (OSError, UnicodeError) as error:
            outcome.put(error)
        finally:
            _resolving.release()

    if not _resolving.acquire(blocking=False):
        raise TimeoutError(f"too many names are being resolved: {host} has to wait")
    ThreadScope("resolver").spawn(host[:32], resolve, stop=lambda: None)
    found = outcome.get(timeout_ms)
    if found is None:
        raise TimeoutError(f"the address of {host} was not found within {timeout_ms} ms")
    if isinstance(found, UnicodeError):  # a name that no name server could know
        raise OSError(f"{host!r} is no name of a host")
    if isinstance(found, OSError):
        raise found
    return found
