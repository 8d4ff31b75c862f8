"""Connects to a host in bounded time, its name's resolution included.

The system's resolver has no time-out that a caller can set: it works on a thread of its own, which
is left to itself when it takes too long.
"""

import socket
import threading
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
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
        timeout_ms: for the name and all addresses together; the socket's is what is left of it.
        clock: measures it.

    Raises:
        OSError: the name is not known, nobody listens, or not in time.

    Thread: any.
    """
    end_ms = clock.now_ms() + timeout_ms
    error: OSError = TimeoutError(f"{host}:{port} does not answer within {timeout_ms} ms")
    for address, part_ms in addresses_in_turn(host, timeout_ms, clock):
        try:
            found = socket.create_connection((address, port), timeout=part_ms / 1000)
        except OSError as refused:
            error = refused
        else:
            found.settimeout(max(1, end_ms - clock.now_ms()) / 1000)
            return found
    raise error


def addresses_in_turn(host: str, timeout_ms: int, clock: Clock) -> Iterator[tuple[str, int]]:
    """Yield the addresses of a host, each with the ms that it may take of the time that is left.

    An address that does not answer, as those of IPv6 where no router knows it, leaves as much time
    to each of those that follow.

    Raises:
        OSError: the name is not known, or not in time.

    Thread: any.
    """
    end_ms = clock.now_ms() + timeout_ms
    addresses = _resolved(host, timeout_ms, clock)
    for index, address in enumerate(addresses):
        left_ms = end_ms - clock.now_ms()
        if left_ms <= 0:
            return
        yield address, max(1, left_ms // (len(addresses) - index))


def _resolved(host: str, timeout_ms: int, clock: Clock) -> Sequence[str]:
    """Return the addresses of a host, in the order in which they are to be tried."""
    if _is_address(host):  # which needs no resolver, that may hang
        return [host]
    end_ms = clock.now_ms() + timeout_ms
    outcome: Mailbox[list[str] | OSError | UnicodeError] = Mailbox()

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            outcome.put(list(dict.fromkeys(str(address[0]) for *_, address in found)))
        except (OSError, UnicodeError) as error:
            outcome.put(error)
        finally:
            _resolving.release()

    if not _resolving.acquire(timeout=timeout_ms / 1000):
        raise TimeoutError(f"too many names are being resolved: {host} has to wait")
    try:
        ThreadScope("resolver").spawn(host[:32], resolve, stop=lambda: None)
    except BaseException:  # no thread can be started
        _resolving.release()
        raise
    found = outcome.get(max(1, end_ms - clock.now_ms()))
    if found is None:
        raise TimeoutError(f"the address of {host} was not found within {timeout_ms} ms")
    if isinstance(found, UnicodeError):  # a name that no name server could know
        raise OSError(f"{host!r} is no name of a host")
    if isinstance(found, OSError):
        raise found
    return found


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
